"""Index mappings for Elasticsearch, as JSON."""
