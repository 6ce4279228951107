"""File formats of span annotations."""
