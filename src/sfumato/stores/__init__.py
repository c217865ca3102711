"""Where the work is done: codes, frequencies, staging, classes, publishing."""
