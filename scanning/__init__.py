"""Scanning whole texts: finding which of their words allude, and to which passages.

Start with `scanner.Scanner`.
"""
