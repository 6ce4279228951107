"""Candidates, reranking and hits; the index in this process."""
