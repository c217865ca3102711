"""Tables that look as if a run had made them: what is somebody's own is not removed, and what somebody else has made is not taken up."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from sfumato.databases.private_names import refuse_private
from sfumato.errors import PolicyError, UsageError
from sfumato.registry import find
from tests.databases.test_inside import TABLE, policy, stored
from tests.databases.test_resume import killed
from tests.servers import ask, component, staging

pytestmark = pytest.mark.slow

OURS = f"sfumato_copy_{'0' * 20}_{'a' * 8}"
MARK = f"7 {'0' * 32} mixed {'f' * 64}"


@pytest.fixture
def other(postgresql_url: str) -> Iterator[str]:
    """Another role, which the user of runs has, as superusers have all."""
    role = f"other_{secrets.token_hex(4)}"
    ask(postgresql_url, f"CREATE ROLE {role}", f"GRANT CREATE, USAGE ON SCHEMA public TO {role}")
    yield role
    ask(postgresql_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def there(url: str, name: str) -> bool:
    return bool(ask(url, f"SELECT 1 FROM information_schema.tables WHERE table_name = '{name}'"))


@pytest.mark.parametrize(
    ("name", "comment"),
    [("sfumato_copy_src", MARK), (f"{OURS}_mine", MARK), (OURS, "what I keep"), (OURS, None), (OURS.upper(), MARK)],
)
def test_a_table_of_the_user_that_is_called_like_a_copy_stays(postgresql_url: str, name: str, comment: str | None) -> None:
    stored(postgresql_url, TABLE, "people")
    for table in (name, f"{name}_cells"):
        ask(postgresql_url, f'CREATE TABLE "{table}" (v text)')
    if comment is not None:
        ask(postgresql_url, f"COMMENT ON TABLE \"{name}\" IS '{comment}'")
    try:
        sfumato.run(policy(postgresql_url))
        assert there(postgresql_url, name)
        assert there(postgresql_url, f"{name}_cells")
    finally:
        ask(postgresql_url, f'DROP TABLE IF EXISTS "{name}", "{name}_cells"')


def test_a_copy_of_another_role_is_not_removed_by_those_who_have_that_role(postgresql_url: str, other: str) -> None:
    stored(postgresql_url, TABLE, "people")
    for table in (OURS, f"{OURS}_cells"):
        ask(postgresql_url, f"CREATE TABLE {table} (v text)", f"ALTER TABLE {table} OWNER TO {other}")
    ask(postgresql_url, f"COMMENT ON TABLE {OURS} IS '{MARK}'")
    sfumato.run(policy(postgresql_url))

    assert there(postgresql_url, OURS)
    assert there(postgresql_url, f"{OURS}_cells")


def test_a_table_of_the_user_among_what_is_staged_stays(mariadb_url: str) -> None:
    stored(mariadb_url, TABLE, "people")
    sfumato.run(policy(mariadb_url))
    name = f"sfumato_of_mine_{secrets.token_hex(4)}"
    ask(mariadb_url, f"CREATE TABLE {staging(mariadb_url)}.{name} (v text)")
    try:
        sfumato.run(policy(mariadb_url))
        assert there(mariadb_url, name)
    finally:
        ask(mariadb_url, f"DROP TABLE IF EXISTS {staging(mariadb_url)}.{name}")


@pytest.mark.parametrize("place", ["source", "sink"])
def test_a_table_of_a_policy_cannot_be_called_like_what_runs_remove(postgresql_url: str, place: str) -> None:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(policy(postgresql_url, **{place: {"sql": component(postgresql_url, "sfumato_copy_src")}}))

    words = "names the table sfumato_copy_src, and tables of such names are what runs make for themselves and remove; rename it"
    assert words in str(caught.value)


@pytest.mark.parametrize("name", [OURS, "sfumato_0123456789abcdef", f"masking_{'0' * 24}_rows", f"retained_{'0' * 16}_{'1' * 16}"])
def test_names_of_all_that_runs_make_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="tables of such names"):
        refuse_private(name, None)


def test_no_release_goes_to_the_database_for_what_is_staged() -> None:
    with pytest.raises(PolicyError, match="is in sfumato_staging_writer, where runs remove what others have left; name another database"):
        find("sinks", "sql")(url="mysql://writer@host/sfumato_staging_writer", table="release")


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_copy_without_the_seal_of_the_installation_is_not_taken_up(
    request: pytest.FixtureRequest, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    given, copy = killed(url)
    tmp_path.chmod(0o700)
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        sfumato.run(given, resume=True)

    assert caught.value.code == "resume-nothing"
    # what another installation of the same user has left is removed as ever
    sfumato.run(given)
    assert not there(url, copy)


@pytest.mark.parametrize(
    "forged",
    [
        "7 ' || (SELECT 1) || '",
        f"7 {'0' * 32} mixed",
        f"7 {'0' * 32} mixed {'f' * 64}",
        f"7 {'0' * 32} mixed {'é' * 64}",
    ],
)
def test_a_forged_mark_is_not_taken_up(postgresql_url: str, forged: str) -> None:
    given, copy = killed(postgresql_url)
    written = forged.replace("'", "''")
    ask(postgresql_url, f"COMMENT ON TABLE {copy} IS '{written}'")
    try:
        with pytest.raises(UsageError) as caught:
            sfumato.run(given, resume=True)
    finally:
        ask(postgresql_url, f"DROP TABLE {copy}, {copy}_cells")

    assert caught.value.code == "resume-nothing"


def test_the_mark_of_one_copy_is_not_taken_for_that_of_another(postgresql_url: str) -> None:
    given, copy = killed(postgresql_url)
    renamed = f"{copy[:-8]}{secrets.token_hex(4)}"
    ask(postgresql_url, f"ALTER TABLE {copy} RENAME TO {renamed}", f"ALTER TABLE {copy}_cells RENAME TO {renamed}_cells")
    with pytest.raises(UsageError) as caught:
        sfumato.run(given, resume=True)

    assert caught.value.code == "resume-nothing"
    sfumato.run(given)


def test_a_copy_that_another_role_has_made_its_own_is_not_taken_up(postgresql_url: str, other: str) -> None:
    given, copy = killed(postgresql_url)
    for table in (copy, f"{copy}_cells"):
        ask(postgresql_url, f"ALTER TABLE {table} OWNER TO {other}")
    with pytest.raises(UsageError) as caught:
        sfumato.run(given, resume=True)

    assert caught.value.code == "resume-nothing"


def test_a_ledger_that_another_role_has_made_lets_nobody_in(postgresql_url: str, other: str) -> None:
    ask(postgresql_url, "DROP TABLE IF EXISTS patients", "CREATE TABLE patients (id integer PRIMARY KEY, name text)")
    ask(postgresql_url, "INSERT INTO patients SELECT i, 'name ' || i FROM generate_series(1, 20) i")
    ledger = f"masking_{hashlib.sha256(b'public.patients').hexdigest()[:24]}"
    facts = json.dumps({"grants": [[other, "SELECT", False, None]]}).encode().hex()
    ask(postgresql_url, f"CREATE TABLE {ledger} AS SELECT -1::bigint AS done, '{facts}'::text AS facts", f"ALTER TABLE {ledger} OWNER TO {other}")
    given = {
        "source": {"sql": component(postgresql_url, "patients")},
        "sink": {"sql": component(postgresql_url, "patients") | {"in_place": True}},
        "columns": {"id": {"role": "other", "accept": "singling_out"}, "name": {"role": "identifier"}},
    }
    for resume in (False, True):
        with pytest.raises(UsageError) as caught:
            sfumato.run(given, resume=resume)
        assert str(caught.value).startswith(
            "the table masking_... beside public.patients has the name of its ledger, and belongs to another user [in-place-name]"
        )

    assert ask(postgresql_url, f"SELECT has_table_privilege('{other}', 'patients', 'SELECT')") == [(False,)]
