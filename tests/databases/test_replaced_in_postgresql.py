"""What hung on columns of an older release in PostgreSQL that are no longer released."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato
from sfumato.errors import UsageError
from tests.servers import ask, component


@pytest.fixture
def policy(postgresql_url: str) -> dict[str, Any]:
    ask(postgresql_url, "DROP TABLE IF EXISTS people, release", "CREATE TABLE people AS SELECT n AS id, n % 5 AS age FROM generate_series(1, 60) n")
    ask(postgresql_url, "CREATE TABLE release (age integer, name text)")
    columns = {"id": {"role": "identifier"}, "age": {"role": "other"}}
    return {"source": {"sql": component(postgresql_url, "people")}, "sink": {"sql": component(postgresql_url, "release")}, "columns": columns}


@pytest.mark.parametrize("made", ["CREATE INDEX names ON release (lower(name))", "ALTER TABLE release ADD CONSTRAINT names PRIMARY KEY (name)"])
def test_an_index_of_a_column_that_is_not_released_is_told(policy: dict[str, Any], postgresql_url: str, made: str) -> None:
    ask(postgresql_url, made)
    with pytest.raises(UsageError) as caught:
        sfumato.run(policy)
    words = "release cannot be replaced: the index names, whose column name is not released, would be lost with it [sink-table-used]"
    assert str(caught.value).splitlines()[0] == words


def test_comments_on_columns_that_are_not_released_do_not_stop_a_run(policy: dict[str, Any], postgresql_url: str) -> None:
    ask(postgresql_url, "COMMENT ON COLUMN release.name IS 'whose'", "COMMENT ON COLUMN release.age IS 'years'", "CREATE INDEX ages ON release (age)")
    ask(postgresql_url, "GRANT SELECT (name) ON release TO PUBLIC")
    sfumato.run(policy)
    assert ask(postgresql_url, "SELECT col_description('release'::regclass, 1), (SELECT count(*) FROM pg_indexes WHERE tablename = 'release')") == [
        ("years", 1)
    ]
