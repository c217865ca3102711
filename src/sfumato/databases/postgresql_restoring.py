"""What a table of PostgreSQL had beside its rows, as statements that give it to the one that takes its place."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.postgresql_rights import Facts, kept_private
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.postgresql_withheld import ALONE, withheld
from sfumato.databases.table import TableName

# who gives a table to a role must be able to become it, to do with the table what it may, and it must be allowed to have tables there
_OWNER = """
SELECT o.rolname, o.rolname = current_user, s.rolsuper OR (
    pg_has_role(o.oid, 'USAGE') AND has_schema_privilege(o.oid, c.relnamespace, 'CREATE')
    AND pg_has_role(o.oid, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END))
FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner JOIN pg_roles s ON s.rolname = current_user WHERE c.oid = %s
"""
_COMMENTS = """
SELECT a.attname, quote_literal(d.description) FROM pg_description d
LEFT JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE d.objoid = %s AND d.classoid = 'pg_class'::regclass
"""
# indexes that stand for a constraint come with it
_INDEXES = """
SELECT coalesce('ALTER TABLE {table} ADD CONSTRAINT ' || quote_ident(c.conname) || ' ' || pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid))
FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid AND c.contype IN ('p', 'u', 'x')
WHERE i.indrelid = %s
"""
# those to a table with partitions stand there once more for each of these
_FOREIGN_KEYS = """
SELECT 'ALTER TABLE {table} ADD CONSTRAINT ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = %s AND contype = 'f' AND conparentid = 0 ORDER BY conname
"""
_OTHER_COMMENTS = """
SELECT 'COMMENT ON INDEX ' || i.indexrelid::regclass || ' IS ' || quote_literal(d.description)
FROM pg_index i JOIN pg_description d ON d.objoid = i.indexrelid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0 WHERE i.indrelid = %(table)s
UNION ALL SELECT 'COMMENT ON CONSTRAINT ' || quote_ident(c.conname) || ' ON {table} IS ' || quote_literal(d.description)
FROM pg_constraint c JOIN pg_description d ON d.objoid = c.oid AND d.classoid = 'pg_constraint'::regclass
WHERE c.conrelid = %(table)s AND c.contype IN ('p', 'u', 'x', 'f')
"""
_NEVER_MISSING = "SELECT attname FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND attnotnull AND NOT attisdropped"
_UNLOGGED = "SELECT 'ALTER TABLE {table} SET UNLOGGED' FROM pg_class WHERE oid = %s AND relpersistence = 'u'"
_IDENTITY = """
SELECT 'ALTER TABLE {table} REPLICA IDENTITY ' || CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING'
    ELSE 'USING INDEX ' || quote_ident(x.relname) END
FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisreplident LEFT JOIN pg_class x ON x.oid = i.indexrelid
WHERE c.oid = %s AND (c.relreplident IN ('f', 'n') OR x.oid IS NOT NULL)
"""


def owner_of(facts: Facts, number: int) -> tuple[str, bool, bool]:
    """Return the owner of a table, whether that is the user of the run, and whether a table can be given to it."""
    ((owner, is_ours, can_be_given),) = facts(_OWNER, [number])
    return owner, is_ours, can_be_given


def restoring(facts: Facts, number: int, table: TableName, names: Sequence[str]) -> list[str]:
    """Return what gives a new table what the old one had beside its rows, of columns that it has: keys, indexes, comments, owner."""
    shown = quoted(table).replace("'", "''").replace("%", "%%")

    def written(query: str) -> list[str]:
        values = {"table": number} if "%(table)s" in query else [number]
        return [statement for (statement,) in facts(query.format(table=shown), values)]

    # rights that are given by default to new tables are not those that the old one had
    statements = [kept_private(table), *written(_UNLOGGED)]
    never_missing = [name for (name,) in facts(_NEVER_MISSING, [number]) if name in names]
    statements += [f"ALTER TABLE {quoted(table)} ALTER COLUMN {quoted_name(name)} SET NOT NULL" for name in never_missing]
    # a foreign key of the table to itself needs its index
    statements += [ALONE, *(withheld(made) for query in (_INDEXES, _FOREIGN_KEYS) for made in written(query))]
    statements += [*written(_IDENTITY), *written(_OTHER_COMMENTS)]
    for column, words in facts(_COMMENTS, [number]):
        if column is not None and column not in names:
            continue
        what = f"TABLE {quoted(table)}" if column is None else f"COLUMN {quoted(table)}.{quoted_name(column)}"
        statements.append(f"COMMENT ON {what} IS {words}")
    owner, is_ours, _ = owner_of(facts, number)
    if not is_ours:
        statements.append(f"ALTER TABLE {quoted(table)} OWNER TO {quoted_name(owner)}")
    return statements
