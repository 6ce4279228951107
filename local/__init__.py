"""The index in this process: built, opened, searched; the sibling of `es`."""
