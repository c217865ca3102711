"""Changes a column; one operation a file, each with its card."""
