"""Streams: records go in, and what may be seen of them comes out as soon as it may."""
