"""Where rows go; nothing is visible before it is published."""
