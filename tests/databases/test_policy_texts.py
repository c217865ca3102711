"""What a policy names, a person perhaps, is in no statement of a run inside: it comes in bulk, as the keys do."""

from __future__ import annotations

import secrets
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.masked_column import MaskedColumn
from sfumato.databases.inside import Layout
from sfumato.databases.policy_texts import PolicyTexts, policy_texts
from sfumato.databases.table import TableName
from sfumato.engine.inside import not_inside, statements
from sfumato.engine.plan import make_plan
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views
from sfumato.registry import find
from tests.databases.test_inside import stored
from tests.databases.test_pseudonyms_on_servers import logged
from tests.servers import SERVER_FIXTURES, ask, component

TOWNS = ("Bremen", "Ulm", "O'Neill\\'s \"town\"", "Köln\t\n😀")


def prepared(url: str, person: str, shown: str) -> dict[str, Any]:
    """Make a table in which somebody is, and a policy that names them."""
    names = [person, *TOWNS] * 10
    stored(url, pa.table({"name": names, "ward": [f"w{number % 2}" for number in range(len(names))]}), "people")
    if not url.startswith("postgresql"):
        # of its longest texts nobody knows whether the server does exactly what a mask does
        ask(url, "ALTER TABLE people MODIFY name varchar(60) CHARACTER SET utf8mb4")
    mask = {"map_values": {"mapping": {person: shown, TOWNS[2]: TOWNS[3]}, "default": "somebody"}}
    return {
        "source": {"sql": component(url, "people")},
        "columns": {
            "name": {"role": "other", "mask": mask, "when": {"column": "name", "one_of": [person, TOWNS[2], TOWNS[3]]}},
            "ward": {"role": "quasi_identifier"},
        },
        "promises": [{"k_anonymity": {"k": 2}}],
        "sink": {"sql": component(url, "release")},
    }


@pytest.mark.parametrize("name", ["postgresql", "mariadb", "mysql"])
def test_no_statement_and_no_log_holds_what_a_policy_names(name: str, request: pytest.FixtureRequest) -> None:
    url = str(request.getfixturevalue(SERVER_FIXTURES[name]))
    person, shown = (f"{word} {secrets.token_hex(8)}" for word in ("Ada", "nobody"))
    policy = prepared(url, person, shown)
    plan = make_plan(policy)
    told = "\n".join(statements(plan))
    with logged(name, url) as log:
        ask(url, "SELECT 'canary of this test'")
        sfumato.run(policy)
        everything = log()
    release: Any = find("sources", "sql")(**component(url, "release"))
    found = Counter(pa.Table.from_batches(release.batches(["name"])).column("name").to_pylist())

    assert not_inside(plan) is None
    assert b"canary of this test" in everything
    for secret in (person, shown):
        assert secret.encode() not in everything
        assert secret not in told
    assert found == {shown: 10, TOWNS[0]: 10, TOWNS[1]: 10, TOWNS[3]: 10, "somebody": 10}


def test_another_text_is_another_layout_whose_copy_is_not_taken_up() -> None:
    one, other = (Layout(TableName("people"), [], [], texts=[shown]) for shown in ("one", "other"))

    assert one.identity != other.identity


def test_only_texts_of_the_policy_are_held() -> None:
    masked = masked_of({"map_values": {"mapping": {"Ada": "A"}, "default": "somebody"}})

    assert policy_texts(masked) == {"Ada", "A", "somebody"}


def test_texts_that_a_row_cannot_hold_have_no_column() -> None:
    texts = PolicyTexts()

    assert texts.column("a") == "sfumato_texts.t0"
    assert texts.column("x" * 20_000) is None
    assert texts.column("a") == "sfumato_texts.t0"
    assert texts.texts == ["a"]


def masked_of(mask: dict[str, Any]) -> MaskedColumn:
    given = {"source": "x.csv", "columns": {"name": {"role": "other", "mask": mask}}, "sink": "y.csv"}
    found: MaskedColumn = next(iter(resolve_views(load(given)).views.values())).masks["name"]
    return found
