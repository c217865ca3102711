"""Databases: how they are reached, what their tables hold, and how rows come and go in bulk. One file a kind of server."""
