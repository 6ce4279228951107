"""Evaluation with gold links: measures, significance, runs, TREC files, manifests."""
