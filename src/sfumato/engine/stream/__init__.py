"""Streams: the engine over records that keep coming."""
