"""The search page and its JSON API."""
