"""Methods that score candidates again, one a file."""
