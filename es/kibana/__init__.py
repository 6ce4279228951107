"""Candidates of runs on a server, and the Kibana objects that show them."""
