"""Runs whose candidates are looked at in Kibana, and the Kibana objects that show them.

`candidate` is one document, `pushed_runs` writes and lists those of a run, `objects` makes the
dashboard, and `client` installs it.
"""
