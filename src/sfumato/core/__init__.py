"""The shared words: encoded columns, frequencies, classes, hierarchies, recodings, the run record, and the interfaces."""
