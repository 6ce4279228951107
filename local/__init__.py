"""The index in this process: built, opened, searched."""
