"""Parts of local web servers: the check of requests, tokens, and the server's start and end."""
