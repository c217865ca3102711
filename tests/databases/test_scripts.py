"""The script of a masked copy can be run, and makes what a run makes; any other says that it cannot, and why."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import sfumato
from tests.servers import ask, component, connect, left_over

Command = Callable[..., subprocess.CompletedProcess[str]]
MASKED: dict[str, Any] = {
    "id": {"role": "identifier"},
    "name": {"role": "other", "mask": {"hash": {"unkeyed": "sha256"}}},
    "town": {"role": "other", "mask": {"shorten": {"length": 2}}},
    "number": {"role": "other"},
    "seen": {"role": "other"},
}


@pytest.fixture(params=["postgresql", "postgresql18", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def policy(url: str, columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make a table and return a policy for a copy of it."""
    kind = "timestamptz" if url.startswith("postgresql") else "datetime(6)"
    ask(url, *(f"DROP TABLE IF EXISTS {name}" for name in ("people", "by_hand", "by_run")))
    ask(url, f"CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(40), town VARCHAR(30), number INTEGER, seen {kind})")
    rows = (f"({n}, 'Ann Ø''{n % 7}', {'NULL' if n % 5 == 0 else repr('Köln')}, {n}, '2026-01-02 03:04:05')" for n in range(50))
    ask(url, f"INSERT INTO people VALUES {', '.join(rows)}")
    return {"source": {"sql": component(url, "people")}, "sink": {"sql": component(url, "by_hand")}, "columns": columns, **more}


def script_of(given: dict[str, Any], tmp_path: Path, sfumato_command: Command) -> list[str]:
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(given))
    ended = sfumato_command("plan", "--sql", path, "--format", "json")
    assert ended.returncode == 0, ended.stderr
    told: list[str] = json.loads(ended.stdout)["statements"]
    return told


@pytest.mark.parametrize("columns", [MASKED, {**MASKED, "name": {"role": "identifier"}, "town": {"role": "other"}}], ids=["masked", "kept"])
def test_the_script_of_a_masked_copy_makes_what_a_run_makes(url: str, columns: dict[str, Any], tmp_path: Path, sfumato_command: Command) -> None:
    given = policy(url, columns)

    assert len(released(url, given, tmp_path, sfumato_command)) == 50
    assert left_over(url) == []


def released(url: str, given: dict[str, Any], tmp_path: Path, sfumato_command: Command) -> list[tuple[Any, ...]]:
    """Return what the script of a policy makes, which is what a run makes."""
    first, *statements = script_of(given, tmp_path, sfumato_command)
    assert first.startswith("-- this can be run as it is: it makes ")
    carry_out(url, statements)
    sfumato.run({**given, "sink": {"sql": component(url, "by_run")}})
    by_hand, by_run = (sorted(ask(url, f"SELECT * FROM {name}"), key=str) for name in ("by_hand", "by_run"))
    assert by_hand == by_run
    return by_hand


def carry_out(url: str, statements: list[str]) -> None:
    """Do what a client of the server does with a script."""
    with closing(connect(url)) as connection, closing(connection.cursor()) as cursor:
        for statement in statements:
            if not statement.startswith("--"):
                cursor.execute(statement)
                if cursor.description:
                    cursor.fetchall()


@pytest.mark.parametrize("rule", ["latin1_swedish_ci", "cp1251_bin", "sjis_japanese_ci", "utf16_general_ci"])
def test_the_script_of_texts_in_other_characters_can_be_run(mariadb_url: str, rule: str, tmp_path: Path, sfumato_command: Command) -> None:
    given = policy(mariadb_url, MASKED)
    ask(mariadb_url, "UPDATE people SET town = 'Town'")
    ask(mariadb_url, f"ALTER TABLE people MODIFY town varchar(30) CHARACTER SET {rule.partition('_')[0]} COLLATE {rule}")
    given["columns"] = {**MASKED, "name": {"role": "identifier"}, "town": MASKED["name"]}

    assert len(released(mariadb_url, given, tmp_path, sfumato_command)) == 50


def test_the_script_of_long_texts_can_be_run(mariadb_url: str, tmp_path: Path, sfumato_command: Command) -> None:
    """How long masked texts are is not known when it is printed."""
    given = policy(mariadb_url, MASKED)
    ask(mariadb_url, "ALTER TABLE people MODIFY town varchar(400)", "UPDATE people SET town = REPEAT('town', 100)")
    given["columns"] = {**MASKED, "town": {"role": "other", "mask": {"character_mask": {"keep_first": 1}}}}

    assert len(released(mariadb_url, given, tmp_path, sfumato_command)) == 50


@contextmanager
def view_of(url: str) -> Iterator[dict[str, Any]]:
    """Yield the source that is a view of the people."""
    ask(url, "DROP VIEW IF EXISTS shown", "CREATE VIEW shown AS SELECT * FROM people")
    try:
        yield {"sql": component(url, "shown")}
    finally:
        ask(url, "DROP VIEW shown")


def test_the_script_of_a_view_can_be_run(postgresql_url: str, tmp_path: Path, sfumato_command: Command) -> None:
    given = policy(postgresql_url, MASKED)
    with view_of(postgresql_url) as shown:
        assert len(released(postgresql_url, {**given, "source": shown}, tmp_path, sfumato_command)) == 50


def test_what_a_script_leaves_that_failed_stops_no_other_and_is_removed_by_the_next_run(url: str, tmp_path: Path, sfumato_command: Command) -> None:
    given = policy(url, MASKED)
    ask(url, "CREATE TABLE by_hand (id INTEGER)")
    for _ in range(2):
        with pytest.raises(Exception, match="by_hand"):
            carry_out(url, script_of(given, tmp_path, sfumato_command))
    assert left_behind(url)
    sfumato.run(given)

    assert left_over(url) == []


def left_behind(url: str) -> list[tuple[Any, ...]]:
    return ask(url, "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sfumato_copy%'")


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_no_run_removes_what_a_script_works_with(server: str, request: pytest.FixtureRequest, tmp_path: Path, sfumato_command: Command) -> None:
    address = str(request.getfixturevalue(f"{server}_url"))
    given = policy(address, MASKED)
    statements = [each for each in script_of(given, tmp_path, sfumato_command) if not each.startswith("--")]
    with closing(connect(address)) as connection, closing(connection.cursor()) as cursor:
        for statement in statements:
            if "RENAME" in statement and "by_hand" in statement:
                sfumato.run({**given, "sink": {"sql": component(address, "by_run")}})
            cursor.execute(statement)
            if cursor.description:
                cursor.fetchall()

    assert len(ask(address, "SELECT * FROM by_hand")) == 50


@pytest.mark.parametrize(
    "columns",
    [
        {"number": {"role": "quasi_identifier"}, "seen": {"role": "other", "accept": "singling_out"}},
        {"town": {"role": "other", "mask": {"map_values": {"mapping": {"Köln": "K"}, "default": "x"}}}},
    ],
)
def test_a_script_that_cannot_be_run_says_so_first(url: str, columns: dict[str, Any], tmp_path: Path, sfumato_command: Command) -> None:
    promises = [{"k_anonymity": {"k": 5}}] if "number" in columns else []
    first, second, *_ = script_of(policy(url, columns, unnamed="remove", promises=promises), tmp_path, sfumato_command)
    assert first.startswith("-- this is to be read and cannot be run: ")
    assert second.startswith("-- and keys and texts of the policy are brought to the server") == ("town" in columns)


def test_the_script_of_rows_that_are_shown_reads_these(postgresql_url: str, tmp_path: Path, sfumato_command: Command) -> None:
    given = policy(postgresql_url, MASKED)
    role = f"reader_{secrets.token_hex(4)}"
    ask(postgresql_url, "ALTER TABLE people ENABLE ROW LEVEL SECURITY", "CREATE POLICY of_few ON people USING (number < 7)", f"CREATE ROLE {role}")
    ask(postgresql_url, f"GRANT SELECT ON people TO {role}", f"GRANT CREATE ON SCHEMA public TO {role}")
    given["source"]["sql"]["rows"] = "visible"
    try:
        carry_out(postgresql_url, [f"SET ROLE {role}", *script_of(given, tmp_path, sfumato_command)])
        assert len(ask(postgresql_url, "SELECT * FROM by_hand")) == 7
    finally:
        ask(postgresql_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_script_of_a_view_that_is_to_be_read_is_written(postgresql_url: str, tmp_path: Path, sfumato_command: Command) -> None:
    columns = {"number": {"role": "quasi_identifier"}, "seen": {"role": "other", "accept": "singling_out"}}
    given = policy(postgresql_url, columns, unnamed="remove", promises=[{"k_anonymity": {"k": 5}}])
    with view_of(postgresql_url) as shown:
        told = script_of({**given, "source": shown}, tmp_path, sfumato_command)

    assert all(any(f"sfumato_{name}" in line for line in told) for name in ("read_once", "staged"))


def test_no_name_ends_a_comment_of_a_script(postgresql_url: str, tmp_path: Path, sfumato_command: Command) -> None:
    given = policy(postgresql_url, MASKED)
    given["sink"]["sql"]["table"] = "by_hand\nDROP TABLE people; --"
    comments = [line for line in script_of(given, tmp_path, sfumato_command) if line.startswith("--")]
    assert comments
    assert not any("\n" in line for line in comments)
