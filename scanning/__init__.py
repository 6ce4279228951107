"""Finding where a text alludes: which of its words, and to which passages."""
