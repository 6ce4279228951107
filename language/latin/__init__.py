"""Latin words: folded, spelt, tokenised, lemmatised."""
