"""Helpers that several rerankers share: base classes, word vectors, transport, features."""
