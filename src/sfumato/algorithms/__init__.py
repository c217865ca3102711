"""Searches for a recoding that keeps the promises at low loss; they return the decision, not the data."""
