"""Candidates, reranking and hits, whatever the kind of index."""
