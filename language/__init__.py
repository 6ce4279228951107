"""Latin: spelling, words, lemmas, word vectors."""
