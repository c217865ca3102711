"""Servers for the tests: databases of their own, on this machine, for as long as they are wanted.

``python -m services start`` starts them, ``stop`` ends them, ``status`` tells which run. Nothing is installed: what the machine has is used,
what it lacks is unpacked into a cache folder. Only Python's own library is needed.
"""
