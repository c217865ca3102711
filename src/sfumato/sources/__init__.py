"""Where rows come from: describe and read."""
