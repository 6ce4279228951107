"""The index on Elasticsearch: the same answers as in this process."""
