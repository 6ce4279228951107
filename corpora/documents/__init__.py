"""Documents of word processors and browsers, read as plain text."""
