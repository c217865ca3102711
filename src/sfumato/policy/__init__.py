"""The YAML as frozen typed settings; the loader that points at line and key; the checks."""
