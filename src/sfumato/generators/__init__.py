"""Demonstration and test data, seeded."""
