"""The foreign keys that refer to a table of MySQL or MariaDB, and what they do when its rows are deleted.

MariaDB's list of what keys do shows nothing to a user whose rights are those to single tables, though it shows him the keys. So it is read from the
statements that would make the tables. A key of which neither tells it counts as one that deletes: what is not known must not be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_types import quoted, quoted_name, text_of
from sfumato.databases.table import OnDelete, Referring, TableName
from sfumato.errors import SfumatoError

_REFERRING = """
SELECT k.table_schema, k.table_name, k.constraint_name, r.delete_rule, k.column_name, k.referenced_column_name
FROM information_schema.key_column_usage k LEFT JOIN information_schema.referential_constraints r
    ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name
WHERE k.referenced_table_schema = %s AND k.referenced_table_name = %s ORDER BY 1, 2, 3, k.ordinal_position
"""
_RULE = "CASCADE|SET NULL|SET DEFAULT|NO ACTION|RESTRICT"
_RULES = re.compile(rf"\)(?: ON DELETE ({_RULE}))?(?: ON UPDATE (?:{_RULE}))?,?$")
_ON_DELETE: dict[str, OnDelete] = {
    "CASCADE": "deleted",
    "SET NULL": "emptied",
    "SET DEFAULT": "emptied",
    "NO ACTION": "refused",
    "RESTRICT": "refused",
}


def referring(session: Session, table: TableName) -> Iterator[Referring]:
    """Yield the keys of tables that the user may see."""
    found: dict[tuple[str, str, str, str | None], list[tuple[str, str]]] = {}
    for row in session.facts(_REFERRING, [table.schema, table.name]):
        schema, name, constraint, rule, column, referred = (None if value is None else text_of(value) for value in row)
        found.setdefault((str(schema), str(name), str(constraint), rule), []).append((str(column), str(referred)))

    @cache
    def made_by(child: TableName) -> str:
        try:
            ((_, statement, *_),) = session.facts(f"SHOW CREATE TABLE {quoted(child).replace('%', '%%')}", [])
        except SfumatoError:
            return ""
        return text_of(statement)

    for (schema, name, constraint, told), pairs in found.items():
        child = TableName(name, schema)
        columns, referred_to = zip(*pairs, strict=True)
        rule = told or delete_rule(made_by(child), constraint)
        yield Referring(child, columns, table, referred_to, _ON_DELETE.get(rule or "", "deleted"))


def delete_rule(statement: str, constraint: str) -> str | None:
    r"""Return what a key does by the statement that would make its table; None where that does not tell.

    >>> made = "CREATE TABLE `c` (\n  CONSTRAINT `a` FOREIGN KEY (`p`) REFERENCES `v` (`id`) ON DELETE SET NULL,\n"
    >>> made += "  CONSTRAINT `b` FOREIGN KEY (`p`) REFERENCES `v` (`id`) ON UPDATE CASCADE\n) ENGINE=InnoDB"
    >>> delete_rule(made, "a"), delete_rule(made, "b"), delete_rule(made, "c")
    ('SET NULL', 'RESTRICT', None)
    """
    # by the mode of the session names stand in the one quotes or in the other
    ansi = constraint.replace('"', '""')
    begins = tuple(f"CONSTRAINT {name} FOREIGN KEY " for name in (quoted_name(constraint), f'"{ansi}"'))
    for line in statement.split("\n"):
        if line.strip().startswith(begins):
            found = _RULES.search(line)
            return None if found is None else found[1] or "RESTRICT"
    return None
