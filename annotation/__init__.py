"""Annotated spans: their store, the page where they are made, and how far annotators agree."""
