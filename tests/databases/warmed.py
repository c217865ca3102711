"""What a process that is going to be killed needs, imported and compiled once: it is forked from one that has all of it, and works at once."""

import adbc_driver_postgresql.dbapi  # noqa: F401
import duckdb  # noqa: F401
import psycopg  # noqa: F401
import pymysql  # noqa: F401

from sfumato.engine import retain, run  # noqa: F401
from sfumato.engine.warm import compile_search
from sfumato.registry import find

for kind, name in (("sources", "sql"), ("sources", "arrow"), ("sinks", "sql"), ("stores", "duckdb"), ("masking", "random_number")):
    find(kind, name)
compile_search("partition_by_size")
