"""The index on Elasticsearch; it answers as the index in this process does.

Read `connection` (requests and their errors), then `build` (how an index gets onto a server) and
`index` (how it is searched).
"""
