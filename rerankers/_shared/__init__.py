"""Code that several rerankers share."""
