"""What hangs on a table of PostgreSQL that is replaced: given to the new one, or the table is not replaced."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.failures import NO_SCHEMA
from sfumato.databases.postgresql_restoring import owner_of, restoring
from sfumato.databases.postgresql_rights import Facts, granting, grants_of
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.table import TableName
from sfumato.errors import UnreachableError

# what hangs on a table and would be lost with it
DEPENDENT = """
SELECT DISTINCT 'the view ' || v.oid::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    WHERE d.refobjid = %(table)s AND d.classid = 'pg_rewrite'::regclass AND v.oid <> %(table)s
UNION ALL SELECT 'a foreign key of ' || conrelid::regclass::text FROM pg_constraint WHERE confrelid = %(table)s AND conrelid <> %(table)s
UNION ALL SELECT 'the rule ' || rulename FROM pg_rewrite WHERE ev_class = %(table)s AND rulename <> '_RETURN'
UNION ALL SELECT 'the trigger ' || tgname FROM pg_trigger WHERE tgrelid = %(table)s AND NOT tgisinternal
UNION ALL SELECT 'its row security' FROM pg_class WHERE oid = %(table)s AND relrowsecurity
UNION ALL SELECT 'the row policy ' || polname FROM pg_policy WHERE polrelid = %(table)s
UNION ALL SELECT 'its place in ' || inhparent::regclass::text FROM pg_inherits WHERE inhrelid = %(table)s
UNION ALL SELECT DISTINCT 'the ' || pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend d JOIN pg_class c ON c.oid = %(table)s
    LEFT JOIN pg_type t ON t.oid = c.reltype
    WHERE d.deptype = 'n' AND ((d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid)
        OR (d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)))
    AND d.classid NOT IN ('pg_rewrite'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass, 'pg_publication_rel'::regclass)
    AND NOT EXISTS (SELECT FROM pg_attrdef WHERE d.classid = 'pg_attrdef'::regclass AND oid = d.objid AND adrelid = %(table)s)
    AND NOT EXISTS (SELECT FROM pg_policy WHERE d.classid = 'pg_policy'::regclass AND oid = d.objid AND polrelid = %(table)s)
UNION ALL SELECT 'the publication ' || p.pubname FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = %(table)s
"""
# columns that indexes are made of, those of expressions and conditions too; an index of a constraint hangs on its columns by that alone
_INDEXED = """
SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = i.indrelid
WHERE i.indrelid = %s AND a.attnum > 0 AND (a.attnum = ANY(i.indkey::int2[]) OR EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum
)) ORDER BY 1, 2
"""
_KEYED = """
SELECT c.conname, a.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey)
WHERE c.conrelid = %s AND c.contype = 'f' AND c.conparentid = 0 ORDER BY 1, 2
"""
# whatever hangs on it, without asking for anything that would wait for who has locked the table
_STATE = """
SELECT concat_ws('|',
    (SELECT string_agg(indexrelid::text, ',' ORDER BY indexrelid) FROM pg_index WHERE indrelid = %(table)s),
    (SELECT string_agg(concat_ws(' ', classid, objid, objsubid, deptype), ',' ORDER BY classid, objid, objsubid, deptype) FROM pg_depend
        WHERE refclassid = 'pg_class'::regclass AND refobjid = %(table)s),
    (SELECT string_agg(concat_ws(' ', objsubid, description), ',' ORDER BY objsubid) FROM pg_description
        WHERE objoid = %(table)s AND classoid = 'pg_class'::regclass),
    (SELECT string_agg(attname::text, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = %(table)s AND attnotnull),
    (SELECT concat_ws(' ', relowner, relrowsecurity, relreplident, relpersistence) FROM pg_class WHERE oid = %(table)s))
"""
_TAKEN = """
SELECT FROM pg_class WHERE relname = %(name)s AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
UNION ALL SELECT FROM pg_type WHERE typname = %(name)s AND typnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
"""


def state_of(facts: Facts, number: int) -> str:
    """Return what hangs on a table, to be held against what does later."""
    ((state,),) = facts(_STATE, {"table": number})
    return str(state)


def refuse_taken(facts: Facts, table: TableName, target: TableName, server: str) -> None:
    """Refuse a schema that is not there, and the name of something that is no table: a sequence, an index or a type."""
    if not facts("SELECT FROM pg_namespace WHERE nspname = %s", [target.schema]):
        raise NO_SCHEMA.error(server, f"schema {target.schema}")
    if facts(_TAKEN, {"name": target.name, "schema": target.schema}):
        raise UnreachableError(f"{table} is no plain table", code="sink-not-table", hint="name another table, or remove it yourself")


def replacing(
    facts: Facts, staged: TableName, table: TableName, target: TableName, old: tuple[int, str, str] | None, names: Sequence[str]
) -> list[str]:
    """Return the statements that put a staged table of some columns into the place of another, where there is one; rights are given afterwards.

    ``table`` is that as a policy names it.
    """
    renamed = f"ALTER TABLE {quoted(staged)} RENAME TO {quoted_name(target.name)}"
    if old is None:
        return [renamed]
    refuse_used(facts, table, old, names)
    return [f"DROP TABLE {quoted(target)}", renamed, *restoring(facts, old[0], target, names)]


def refuse_used(facts: Facts, table: TableName, old: tuple[int, str, str], names: Sequence[str] | None = None) -> None:
    """Refuse to replace what is no plain table, or has something that the new one would not have; ``names`` are its columns, where they are known."""
    number, kind, _ = old
    if kind != "r":
        raise UnreachableError(f"{table} is no plain table", code="sink-not-table", hint="name another table, or remove it yourself")
    hanging = [name for (name,) in facts(DEPENDENT, {"table": number})]
    if names is not None:
        for what, query in (("index", _INDEXED), ("foreign key", _KEYED)):
            hanging += [f"the {what} {name} (its column {column} is not released)" for name, column in facts(query, [number]) if column not in names]
    owner, is_ours, can_be_given = owner_of(facts, number)
    if not (is_ours or can_be_given):
        hanging.append(f"the ownership of {owner} (this user can give that role no tables there)")
    if hanging:
        words = f"{table} cannot be replaced: {', '.join(sorted(hanging))} would be lost with it"
        raise UnreachableError(words, code="sink-table-used", hint="name another table, or remove what hangs on it yourself")


def granting_again(facts: Facts, number: int, table: TableName, names: Sequence[str]) -> list[str]:
    """Return what gives others the rights that they had to a table which was dropped in a transaction that nobody else sees yet.

    It has its owner by then: what the user of the run was granted on the old table is no grant to an owner. And who changes rights has to wait since
    the table was dropped: none that was taken from somebody before is given again.
    """
    return [granting(table, grant) for grant in grants_of(facts, number) if grant[-1] is None or grant[-1] in names]
