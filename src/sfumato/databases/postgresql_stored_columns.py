"""Which columns of a table or a view of PostgreSQL show a value that stands in a table, and do not compute it for whoever reads it.

What is computed at the time of reading may hang on a setting of the reader's session. The server itself knows which columns of a view are nothing but
a column of the one table, or of the one such view, that it reads: by these alone a row could be changed. A rule would let it say so of others too.
"""

from __future__ import annotations

from collections.abc import Collection

from sfumato.databases.postgresql_reached import Asked
from sfumato.databases.table import TableName

# computed when they are read: columns of a foreign table by another server or a file, and virtual ones, of which older servers have none
_STORED = """
WITH RECURSIVE beneath AS (
    SELECT %(table)s::oid AS number
    UNION SELECT further.number FROM beneath, LATERAL (
        SELECT d.refobjid AS number FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
            JOIN pg_class c ON c.oid = w.ev_class AND c.relkind = 'v' WHERE w.ev_class = beneath.number AND d.refclassid = 'pg_class'::regclass
        UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = beneath.number
    ) further
)
SELECT a.attname::text FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE t.oid = %(table)s AND NOT EXISTS (SELECT FROM beneath JOIN pg_class c ON c.oid = beneath.number WHERE c.relkind = 'f')
AND CASE WHEN t.relkind = 'v' THEN
    pg_column_is_updatable(t.oid, a.attnum, false)
    AND NOT EXISTS (SELECT FROM beneath JOIN pg_rewrite w ON w.ev_class = beneath.number WHERE w.ev_type <> '1')
    AND NOT EXISTS (SELECT FROM beneath JOIN pg_attribute o ON o.attrelid = beneath.number WHERE to_jsonb(o)->>'attgenerated' = 'v')
ELSE coalesce(to_jsonb(a)->>'attgenerated', '') <> 'v' END
"""


def stored_columns(connection: Asked, table: TableName) -> Collection[str]:
    """Return the columns that are known to show what stands in a table."""
    return {name for (name,) in connection.facts(_STORED, {"table": connection.number_of(table)})}
