"""Policies for several tables of a database: what one may say, and everything that is wrong with one at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import PolicyError
from sfumato.policy.lint import lint
from sfumato.policy.load import load
from sfumato.policy.tables import record_file
from sfumato.policy.views import resolve_views

DATABASE: dict[str, Any] = {"sql": {"url": "postgresql://reader@host/hospital", "schema": "ward"}}
KEEP = {"role": "other"}
PATIENTS: dict[str, Any] = {"columns": {"id": KEEP}}
RELEASE: dict[str, Any] = {"sql": {"url": "postgresql://reader@host/hospital", "schema": "masked"}}
WHOLE: dict[str, Any] = {"source": DATABASE, "sink": RELEASE, "tables": {"patients": PATIENTS}}


def mistakes(policy: Any, needs: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        resolve_views(load(policy), needs)
    return [str(mistake) for mistake in caught.value.mistakes]


def test_a_table_has_the_source_and_the_sink_of_the_policy_under_its_own_name() -> None:
    tables = {
        "patients": PATIENTS,
        "visits": {**PATIENTS, "schema": "other", "into": "seen"},
        "again": {**PATIENTS, "table": "patients", "schema": "b"},
    }
    found = resolve_views(load({**WHOLE, "tables": tables | {"again": {**tables["again"], "into": "third"}}})).views
    names = {name: (str(each.source.table_name), str(each.sink.table_name)) for name, each in found.items()}  # type: ignore[union-attr]
    assert names == {
        "patients": ("ward.patients", "masked.patients"),
        "visits": ("other.visits", "masked.seen"),
        "again": ("b.patients", "masked.third"),
    }


def test_what_a_table_does_not_say_is_that_of_the_whole_policy() -> None:
    tables = {"a": {"columns": {"id": KEEP, "age": {"role": "quasi_identifier"}}}, "b": {**PATIENTS, "promises": [], "unnamed": "refuse"}}
    policy = {**WHOLE, "tables": tables, "promises": [{"k_anonymity": {"k": 4}}], "suppression_limit": 0.1, "unnamed": "remove"}
    found = resolve_views(load(policy)).views
    assert [len(each.promises) for each in found.values()] == [1, 0]
    assert [each.policy.unnamed for each in found.values()] == ["remove", "refuse"]
    assert {each.policy.suppression_limit for each in found.values()} == {0.1}


def test_all_tables_of_a_policy_have_one_identity() -> None:
    found = resolve_views(load({**WHOLE, "tables": {"a": PATIENTS, "b": {"columns": {"other": KEEP}}}})).views
    assert len({each.identity for each in found.values()}) == 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"columns": {"id": KEEP}}, "columns: stands beside tables [policy-tables-beside]\n  try: write them into the tables that they belong to"),
        ({"views": {"a": {}}}, "views: stands beside tables [policy-tables-beside]\n  try: one policy for each audience, or a policy of one table"),
        (
            {"source": {"sql": {**DATABASE["sql"], "table": "patients"}}},
            "source.sql.table: names one table beside tables [policy-tables-beside]\n  try: leave table out: the entries of tables name them",
        ),
        (
            {"sink": "release.csv"},
            "sink: is no database, and several tables are those of one [policy-tables-database]\n"
            '  try: sink: {sql: {url: "postgresql://reader@host/hospital"}}',
        ),
        (
            {"source": None},
            'source: the policy names no source [policy-no-source]\n  try: source: {sql: {url: "postgresql://reader@host/hospital"}}',
        ),
        (
            {"tables": {"a": {**PATIENTS, "into": "b"}, "b": PATIENTS}},
            "tables.b: would write over what a writes [policy-tables-twice]\n  try: into: b_2, or another name that no other table has",
        ),
        (
            {"tables": {"a": PATIENTS, "b": {**PATIENTS, "table": "a", "into": "c"}}},
            "tables.b: is the table that a is too [policy-tables-twice]\n  try: leave one of them out, or name another table or schema",
        ),
        ({"tables": {"": PATIENTS}}, "tables: a table needs a name [policy-value]\n  try: tables: {patients: {columns: {...}}}"),
        ({"tables": {"a": {}}}, "tables.a: needs the key columns [policy-missing-key]\n  try: write columns: ..."),
        ({"tables": {"a": {**PATIENTS, "collumns": {}}}}, "tables.a.collumns: unknown key [policy-unknown-key]\n  try: columns"),
        (
            {"tables": {"a": {"columns": {"id": {"role": "othr"}}}}},
            "tables.a.columns.id.role: must be one of identifier, quasi_identifier, sensitive, other [policy-value]\n  try: other",
        ),
        (
            {"tables": {"a": {**PATIENTS, "accept": "broken"}}},
            "tables.a.accept[0]: must be one of singling_out, inference, broken_key [policy-value]\n  try: broken_key",
        ),
    ],
)
def test_what_does_not_go_with_tables_is_told(more: dict[str, Any], told: str) -> None:
    assert mistakes({**WHOLE, **more}) == [told]


def test_a_policy_that_names_no_table_is_told(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text('source: {sql: {url: "postgresql://reader@host/hospital"}}\ntables: {}\n')
    assert mistakes(path) == ["line 2 tables: names no table [policy-no-tables]\n  try: tables: {patients: {columns: {...}}}"]


def test_the_command_needs_a_sink() -> None:
    assert [told.split("[")[1].split("]")[0] for told in mistakes({**WHOLE, "sink": None}, ("source", "sink"))] == ["policy-no-sink"]


def test_records_of_tables_do_not_go_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("")
    sink = {"sql": {**RELEASE["sql"], "record": f"{tmp_path}/records"}}
    assert mistakes({**WHOLE, "sink": sink}) == [
        "sink.sql.record: is a file, and the record of each table goes into a file of its own in a folder [policy-record-folder]\n"
        "  try: record: records/"
    ]


def test_mistakes_of_all_tables_are_told_together_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        'source: {sql: {url: "postgresql://reader@host/hospital"}}\n'
        "tables:\n"
        "  patients:\n"
        "    columns: {id: {role: other, mask: {hash: {key: main}}}}\n"
        "  visits:\n"
        "    columns:\n"
        "      age: {role: quasi_identifier}\n"
        "    subject: patient\n"
    )
    assert mistakes(path) == [
        "line 4 tables.patients.columns.id.mask: needs the key main, which the policy does not name [policy-unknown-key-name]\n"
        "  try: keys: {main: {environment: SFUMATO_KEY}}",
        "line 5 promises: in the table visits: there are quasi-identifiers, but nothing is promised [policy-no-promise]\n"
        "  try: promises: [{k_anonymity: {k: 5}}]",
        "line 8 tables.visits.subject: the column patient is not among the columns [policy-unknown-column]\n  try: only age is known",
    ]


def test_warnings_stand_where_the_table_does_and_tables_may_share_a_domain() -> None:
    pseudonym = {"role": "identifier", "mask": {"hash": {"key": "main", "domain": "patient"}}}
    plain = {"role": "identifier", "mask": {"hash": {"unkeyed": "sha256"}}}
    tables = {"a": {"columns": {"id": pseudonym}}, "b": {"columns": {"id": pseudonym, "x": plain}}}
    views = resolve_views(load({**WHOLE, "keys": {"main": {"environment": "KEY"}}, "tables": tables})).views
    assert [warning.key for warning in lint(views)] == ["tables.b.columns.x.mask"]


def test_a_record_has_a_file_whatever_its_table_is_called() -> None:
    assert record_file("records", "a/b\n") == "records/a%2Fb%0A.record.json"
    long = [record_file("records", "Ω" * 60 + end) for end in "ab"]
    assert len(set(long)) == 2
    assert max(map(len, long)) < 255
