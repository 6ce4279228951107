"""Learning from known citations: vectors, expansions, translations, and what they bring."""
