"""Risk and utility of an output."""
