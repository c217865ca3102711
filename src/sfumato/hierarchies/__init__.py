"""Builds the ladder of one column."""
