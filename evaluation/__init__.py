"""Gold links, measures, significance, TREC files, the paper's experiments and their tables."""
