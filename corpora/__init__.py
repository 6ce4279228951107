"""Readers of passages and of source texts, findings, and the data that is fetched."""
