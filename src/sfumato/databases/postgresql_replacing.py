"""What hangs on a table of PostgreSQL that is replaced: given to the new one, or the table is not replaced."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.postgresql_rights import Facts, granting, grants_of, kept_private
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.table import TableName
from sfumato.errors import UsageError

# what hangs on a table and would be lost with it
DEPENDENT = """
SELECT DISTINCT 'the view ' || v.oid::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    WHERE d.refobjid = %(table)s AND d.classid = 'pg_rewrite'::regclass AND v.oid <> %(table)s
UNION ALL SELECT 'a foreign key of ' || conrelid::regclass::text FROM pg_constraint WHERE confrelid = %(table)s AND conrelid <> %(table)s
UNION ALL SELECT 'the rule ' || rulename FROM pg_rewrite WHERE ev_class = %(table)s AND rulename <> '_RETURN'
UNION ALL SELECT 'the trigger ' || tgname FROM pg_trigger WHERE tgrelid = %(table)s AND NOT tgisinternal
UNION ALL SELECT 'its row security' FROM pg_class WHERE oid = %(table)s AND relrowsecurity
UNION ALL SELECT 'the row policy ' || polname FROM pg_policy WHERE polrelid = %(table)s
UNION ALL SELECT 'the publication ' || p.pubname FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = %(table)s
"""
_COMMENTS = """
SELECT a.attname, quote_literal(d.description) FROM pg_description d
LEFT JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE d.objoid = %s AND d.classoid = 'pg_class'::regclass
"""
# columns that indexes are made of, those of expressions and conditions too; an index of a constraint hangs on its columns by that alone
_INDEXED = """
SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = i.indrelid
WHERE i.indrelid = %s AND a.attnum > 0 AND (a.attnum = ANY(i.indkey::int2[]) OR EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum
)) ORDER BY 1, 2
"""


def replacing(
    facts: Facts, staged: TableName, table: TableName, target: TableName, old: tuple[int, str, str] | None, names: Sequence[str]
) -> list[str]:
    """Return the statements that put a staged table of some columns into the place of another, where there is one.

    ``table`` is that as a policy names it.
    """
    renamed = f"ALTER TABLE {quoted(staged)} RENAME TO {quoted_name(target.name)}"
    if old is None:
        return [renamed]
    number, kind, _ = old
    if kind != "r":
        raise UsageError(f"{table} is no plain table", code="sink-not-table", hint="name another table, or remove it yourself")
    hanging = [name for (name,) in facts(DEPENDENT, {"table": number})]
    hanging += [f"the index {index}, whose column {column} is not released," for index, column in facts(_INDEXED, [number]) if column not in names]
    if hanging:
        words = f"{table} cannot be replaced: {', '.join(sorted(hanging))} would be lost with it"
        raise UsageError(words, code="sink-table-used", hint="name another table, or remove what hangs on it yourself")
    return [f"DROP TABLE {quoted(target)}", renamed, *_restoring(facts, number, target, names)]


def _restoring(facts: Facts, number: int, table: TableName, names: Sequence[str]) -> list[str]:
    """Return the statements that give a new table what the old one had beside its rows: indexes, grants and comments, of columns that it has."""
    # rights that are given by default to new tables are not those that the old one had
    statements = [kept_private(table)]
    statements += [definition for (definition,) in facts("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s", [number])]
    statements += [granting(table, grant) for grant in grants_of(facts, number) if grant[-1] is None or grant[-1] in names]
    for column, words in facts(_COMMENTS, [number]):
        if column is not None and column not in names:
            continue
        what = f"TABLE {quoted(table)}" if column is None else f"COLUMN {quoted(table)}.{quoted_name(column)}"
        statements.append(f"COMMENT ON {what} IS {words}")
    return statements
