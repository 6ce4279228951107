"""Gold links: read, checked, converted."""
