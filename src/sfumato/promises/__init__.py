"""Privacy models: arithmetic on class counts, no search, no data access."""
