"""Primary keys that a server of MySQL asks of every table (``sql_require_primary_key``), or gives it (``sql_generate_invisible_primary_key``).

A release has the columns that a policy names and no others: a number of each row would tell in which order they were written.
"""

from __future__ import annotations

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_types import text_of
from sfumato.errors import SfumatoError, UnreachableError

_DEMANDS = """
SHOW SESSION VARIABLES WHERE Variable_name IN ('sql_require_primary_key', 'sql_generate_invisible_primary_key') AND Value = 'ON'
"""


def do_without_keys(session: Session) -> None:
    """Let tables be made without primary keys in a session; refuse where the server does not allow this user to say so. MariaDB asks for none."""
    for name in [text_of(name) for name, _ in session.facts(_DEMANDS, [])]:
        try:
            session.do(f"SET SESSION {name} = OFF")
        except SfumatoError as error:
            if error.code != "database-rights":
                raise
            words = f"{session.shown} wants a primary key in every table ({name} is ON), and does not allow this user to make one without"
            hint = f"GRANT SESSION_VARIABLES_ADMIN ON *.* TO the user of the run, or SET GLOBAL {name} = OFF"
            raise UnreachableError(words, code="database-primary-keys", hint=hint) from None
