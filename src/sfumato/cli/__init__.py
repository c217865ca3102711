"""One file a command: parse, call the engine, print."""
