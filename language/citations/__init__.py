"""Files learned from known citations: vectors, citing words, translations."""
