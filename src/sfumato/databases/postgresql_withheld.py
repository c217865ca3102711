"""Statements of PostgreSQL that fail without a word on what was in a row.

An index, a key or a check that rows do not meet says which value stands against it, and the server writes that to its log, which others read than
those who may read the table. What a block of statements catches goes nowhere: it raises the same code again, with other words. Processes that work
for another write to the log on their own, so there are none.
"""

from __future__ import annotations

import secrets

from sfumato.databases.postgresql_session import DENIED

# words that a server has for what this user may not do, or does at once with somebody else, and that quote nothing
_PLAIN = f"^({DENIED.pattern}|tuple concurrently [a-z]+)"
ALONE = "SET LOCAL max_parallel_maintenance_workers = 0"
"""What comes before, in the same transaction."""


ROWS = "SELECT current_setting('sfumato.rows')::bigint"
"""What asks how many rows the last statement had that was counted, in the same transaction."""


def withheld(statement: str, counted: bool = False) -> str:
    """Return a statement that does the same, and of whose failure the server's log has nothing but its code; its rows are counted on request.

    What waits for the end of the transaction is done at once where rows are counted: it would fail in the open.
    """
    block, inner = (f"$sfumato_{secrets.token_hex(8)}$" for _ in range(2))
    words = f"coalesce(substring(SQLERRM FROM '{_PLAIN}'), 'what was found is withheld')"
    caught = f"EXCEPTION WHEN OTHERS THEN RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = {words}"
    kept = "GET DIAGNOSTICS number = ROW_COUNT; PERFORM set_config('sfumato.rows', number::text, true); SET CONSTRAINTS ALL IMMEDIATE;"
    return f"DO {block} DECLARE number bigint; BEGIN EXECUTE {inner}{statement}{inner}; {kept if counted else ''} {caught}; END {block}"
