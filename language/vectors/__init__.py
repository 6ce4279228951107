"""Word vectors: their protocol, their file formats, their training."""
