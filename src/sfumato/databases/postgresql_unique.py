"""The unique indexes of a table of PostgreSQL, as the server compares by them: key columns alone, each by the operator and collation of the index."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.databases.postgresql_rights import Facts
from sfumato.databases.unique_index import Part, UniqueIndex

# what the server writes of expressions has the schemas of all names in it, for a session looks among its own alone; number 0 of
# the columns is all of a row, which another table has not
_INDEXES = """
SELECT i.indexrelid, c.relname::text, a.amname = 'btree', pg_get_expr(i.indpred, i.indrelid),
    coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false), concat(i.indexprs, i.indpred) ~ ':varattno 0 ',
    ARRAY(SELECT t.attname::text FROM pg_attribute t WHERE t.attrelid = i.indrelid AND t.attnum > 0 AND (
        t.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1]) OR ((i.indexprs IS NOT NULL OR i.indpred IS NOT NULL) AND EXISTS (
            SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.refobjid = i.indrelid
            AND d.refobjsubid = t.attnum))) ORDER BY t.attnum)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE i.indrelid = %s AND i.indisunique AND NOT i.indisprimary ORDER BY 2
"""
_PARTS = """
SELECT pg_get_indexdef(i.indexrelid, k.place::integer + 1, false), quote_ident(n.nspname), o.oprname::text,
    (SELECT quote_ident(m.nspname) || '.' || quote_ident(l.collname) FROM pg_collation l JOIN pg_namespace m ON m.oid = l.collnamespace
        WHERE l.oid = (i.indcollation::oid[])[k.place])
FROM pg_index i CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) k(place)
JOIN pg_opclass c ON c.oid = (i.indclass::oid[])[k.place]
LEFT JOIN pg_amop p ON p.amopfamily = c.opcfamily AND p.amoplefttype = c.opcintype AND p.amoprighttype = c.opcintype AND p.amopstrategy = 3
LEFT JOIN pg_operator o ON o.oid = p.amopopr LEFT JOIN pg_namespace n ON n.oid = o.oprnamespace
WHERE i.indexrelid = %s ORDER BY k.place
"""


class UniqueIndexes(NamedTuple):
    """The unique indexes of a table beside that of its primary key, and the names of those of which nobody here knows what is equal in them."""

    known: list[UniqueIndex]
    unclear: list[str]


def unique_indexes(facts: Facts, table: int) -> UniqueIndexes:
    """Ask the catalogue."""
    known, unclear = [], []
    for number, name, is_ordered, condition, missing_alike, of_whole_rows, columns in facts(_INDEXES, [table]):
        parts = facts(_PARTS, [number])
        if not is_ordered or of_whole_rows or any(operator is None for _, _, operator, _ in parts):
            unclear.append(name)
            continue
        told = tuple(Part(_expression(value), _same(schema, operator, collation)) for value, schema, operator, collation in parts)
        known.append(UniqueIndex(name, tuple(columns), told, condition, missing_alike))
    return UniqueIndexes(known, unclear)


def _expression(value: str) -> str:
    return f"({value})"


def _same(schema: str, operator: str, collation: str | None) -> str:
    collated = f" COLLATE {collation}".replace("{", "{{").replace("}", "}}") if collation is not None else ""
    return f"{{}}{collated} OPERATOR({schema}.{operator}) {{}}{collated}"
