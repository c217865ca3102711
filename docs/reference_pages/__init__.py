"""What the reference pages are made of: the code, read and run."""
