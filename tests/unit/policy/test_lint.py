"""What a policy may say and should not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PolicyError
from sfumato.policy.lint import SAYS_LITTLE, lint
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views

KEYS = {"main": {"environment": "SFUMATO_KEY"}}


def warned(columns: dict[str, Any], **others: Any) -> list[tuple[str, str]]:
    return [(warning.code, warning.key) for warning in lint(resolve_views(load({"columns": columns, "keys": KEYS, **others})).views)]


def other(mask: Any, **more: Any) -> dict[str, Any]:
    return {"role": "other", "mask": mask, **more}


def test_a_hash_without_a_key_is_warned_of() -> None:
    assert warned({"pid": other({"hash": {"unkeyed": "sha256"}})}) == [("lint-mask", "columns.pid.mask")]
    assert warned({"pid": other({"hash": {"key": "main"}})}) == []


def test_groups_by_what_is_not_shown_are_warned_of() -> None:
    pay = other({"aggregate": {"function": "average", "by": ["ward"]}})
    assert warned({"pay": pay, "ward": {"role": "other"}}) == []
    assert warned({"pay": pay, "ward": other("constant")}) == [("lint-group-shown", "columns.pay.mask")]
    assert warned({"pay": pay, "ward": {"role": "identifier"}}) == [("lint-group-shown", "columns.pay.mask")]
    assert warned({"pay": other("empty", when={"column": "ward", "equals": "A"}), "ward": other("constant")}) == [
        ("lint-group-shown", "columns.pay.mask")
    ]


def test_plain_aggregates_are_warned_of() -> None:
    assert warned({"pay": other({"aggregate": {"function": "min", "plain": True}})}) == [("lint-mask", "columns.pay.mask")]


@pytest.mark.parametrize(
    "name",
    [
        *("age", "Birth Date", "zip_code", "PLZ", "patient.gender", "geburtsdatum", "dateOfBirth", "Straße", "Postleitzahl", "ip_address"),
        *(
            "address1",
            "address_line_1",
            "addressLine2",
            "dateofbirth",
            "zip5",
            "latitude",
            "birthplace",
            "birth_place",
            "client_ip",
            "sexe",
            "anschrift",
        ),
        *("birth_place", "code_postal", "date_de_naissance", "fecha_nacimiento"),
    ],
)
def test_a_column_that_is_called_like_a_quasi_identifier_is_warned_of(name: str) -> None:
    columns = {name: {"role": "other"}, "job title x": {"role": "quasi_identifier"}}
    assert ("lint-left-in-clear", f"columns.{name}.role") in warned(columns, promises=[{"k_anonymity": {"k": 2}}])
    assert warned({"page": {"role": "other"}, "x": {"role": "quasi_identifier"}}, promises=[{"k_anonymity": {"k": 2}}]) == []


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "Patient Name",
        "surname",
        "first_name",
        "nachname",
        "email",
        "work.phone",
        "ssn",
        "MRN",
        "customer_id",
        "telefonnummer",
        "patientenname",
        "kundennummer",
        "nhs_number",
        "phone1",
        "email_2",
        "KVNR",
        "name2",
        "first_name_1",
        "mobile_no",
        "handynummer",
        "steuer_id",
        "insuranceNumber",
    ],
)
def test_a_column_that_is_called_like_what_says_who_somebody_is_is_warned_of(name: str) -> None:
    promised = [{"k_anonymity": {"k": 2}}]
    columns = {name: {"role": "other"}, "x": {"role": "quasi_identifier"}}
    assert warned(columns, promises=promised) == [("lint-left-in-clear", f"columns.{name}.role")]
    harmless = ["drug_name", "login_count", "email_sent_count", "mail_order", "phone_model", "mobile_os", "insurance_type", "street_lights"]
    harmless += ["handy", "steuer", "steuer_betrag", "insurance", "mobile", "zip_files", "trip", "stage1", "birth_weight", "line_1"]
    assert warned({"x": {"role": "quasi_identifier"}, **{each: {"role": "other"} for each in harmless}}, promises=promised) == []
    kept = {name: {"role": "identifier", "mask": "keep"}, "x": {"role": "quasi_identifier"}}
    assert warned(kept, promises=promised) == [("lint-left-in-clear", f"columns.{name}.mask")]


def test_what_is_left_in_clear_is_warned_of_where_nothing_is_promised() -> None:
    columns = {name: {"role": "other"} for name in ("pid", "zip", "born", "sex", "email")} | {"name": {"role": "identifier", "mask": "keep"}}
    assert warned(columns) == [("lint-left-in-clear", f"columns.{name}.role") for name in ("zip", "born", "sex", "email")] + [
        ("lint-left-in-clear", "columns.name.mask")
    ]


def test_a_domain_of_two_audiences_is_warned_of_and_each_view_s_own_is_not() -> None:
    pid: Callable[[dict[str, Any]], dict[str, Any]] = lambda settings: {"columns": {"pid": other({"hash": {"key": "main", **settings}})}}  # noqa: E731
    shared = {"a": pid({"domain": "people"}), "b": pid({"domain": "people"})}
    assert warned({"pid": {"role": "identifier"}, "x": {"role": "other"}}, views=shared) == [("lint-domain-shared", "views")]
    assert warned({"pid": {"role": "identifier"}, "x": {"role": "other"}}, views={"a": pid({}), "b": pid({})}) == []


def test_what_one_view_shuffles_and_another_shows_is_warned_of() -> None:
    views = {"a": {"columns": {"pay": other("shuffle")}}, "b": {}}
    assert warned({"pay": {"role": "other"}}, views=views) == [("lint-shuffle-shown", "views.a.columns.pay.mask")]


def test_what_is_shuffled_beside_what_tells_most_of_it_is_warned_of() -> None:
    columns = {"zip": other("shuffle"), "city": {"role": "quasi_identifier"}, "pay": {"role": "sensitive"}}
    assert warned(columns, promises=PROMISED) == [("lint-shuffle-shown", "columns.zip.mask")]
    assert warned({**columns, "city": {"role": "identifier"}, "sex": {"role": "quasi_identifier"}}, promises=PROMISED) == []
    assert warned({**columns, "city": {"role": "quasi_identifier", "mask": {"shorten": {"length": 1}}}}, promises=PROMISED) == []


PROMISED = [{"k_anonymity": {"k": 3}}]


def warned_of_views(one: Any, other: Any, column: str = "pay", **others: Any) -> list[tuple[str, str]]:
    columns = {column: {"role": "identifier"}, "zip": {"role": "quasi_identifier"}}
    views = {"a": {"columns": {column: one}}, "b": {"columns": {column: other}}}
    return warned(columns, views=views, promises=PROMISED, **others)


def test_tokens_of_one_namespace_in_two_views_are_warned_of() -> None:
    shared, own = other({"tokenise": {"namespace": "people"}}), other("tokenise")
    elsewhere = other({"tokenise": {"namespace": "people", "vault": "another.vault"}})
    assert warned_of_views(shared, shared) == [("lint-domain-shared", "views")]
    assert warned_of_views(own, own) == []
    assert warned_of_views(shared, elsewhere) == []


def test_two_names_of_one_key_do_not_make_two_domains() -> None:
    one, two = (other({"hash": {"key": key, "domain": "people"}}) for key in ("one", "two"))
    same = {"one": {"environment": "SFUMATO_KEY"}, "two": {"environment": "SFUMATO_KEY"}}
    apart = {"one": {"environment": "SFUMATO_KEY"}, "two": {"environment": "SFUMATO_OTHER_KEY"}}
    assert warned_of_views(one, two, keys=same) == [("lint-domain-shared", "views")]
    assert warned_of_views(one, two, keys=apart) == []


def test_a_mask_that_keeps_values_is_none() -> None:
    columns = {"age": other("keep"), "zip": {"role": "quasi_identifier"}}
    assert warned(columns, promises=PROMISED) == [("lint-left-in-clear", "columns.age.role")]
    for shown in (other("keep"), {"role": "quasi_identifier"}, {"role": "sensitive"}, {"role": "other"}):
        assert warned_of_views(other("shuffle"), shown) == [("lint-shuffle-shown", "views.a.columns.pay.mask")]
    assert warned_of_views(other("shuffle"), {"role": "identifier"}) == []


def test_noise_of_several_views_is_warned_of() -> None:
    noise, keyed = other({"noise": {"amount": 100}}), other({"noise": {"amount": 100, "key": "main", "domain": "pay"}})
    assert warned_of_views(noise, noise) == [("lint-noise-averages", "views.a.columns.pay.mask")]
    assert warned_of_views(noise, {"role": "identifier"}) == []
    assert "lint-noise-averages" not in dict(warned_of_views(keyed, keyed))


def test_what_is_told_of_fewer_people_than_promised_is_warned_of() -> None:
    def told(**settings: Any) -> list[tuple[str, str]]:
        mask = {"aggregate": {"function": "average", **settings}}
        return warned({"pay": other(mask), "zip": {"role": "quasi_identifier"}}, promises=PROMISED)

    assert told(k=2) == [("lint-few-told", "columns.pay.mask")]
    assert told(k=3) == told() == []


def test_totals_of_what_another_view_shows_with_noise_are_warned_of() -> None:
    noise, total = other({"noise": {"amount": 5}}), other({"aggregate": {"function": "sum"}})
    assert warned_of_views(noise, total) == [("lint-noise-total", "views.a.columns.pay.mask")]
    assert warned_of_views(other({"generalise": {"size": 10}}), total) == []


def test_totals_within_several_limits_are_warned_of() -> None:
    def told(function: str = "sum", **settings: Any) -> dict[str, Any]:
        return other({"aggregate": {"function": function, **settings}})

    assert warned_of_views(told(dominance=0.4), told(dominance=0.45)) == [("lint-limits-differ", "views.a.columns.pay.mask")]
    assert warned_of_views(told(dominance=0.4), told(dominance=0.4)) == []
    assert warned_of_views(told(dominance=0.4), told("average", dominance=0.45)) == []


def test_the_command_warns_and_with_strict_refuses(tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    (tmp_path / "policy.yaml").write_text("columns:\n  pid: {role: other, mask: {hash: {unkeyed: sha256}}}\n")

    plain = sfumato_command("check", "policy.yaml", cwd=tmp_path)
    strict = sfumato_command("check", "policy.yaml", "--strict", cwd=tmp_path)
    as_json = sfumato_command("check", "policy.yaml", "--format", "json", cwd=tmp_path)

    assert plain.returncode == 0
    assert plain.stdout.startswith("policy.yaml: no mistakes\nwarning: policy.yaml:2 columns.pid.mask: ")
    assert strict.returncode == 3
    assert "[lint-mask]" in strict.stderr
    assert [warning["code"] for warning in json.loads(as_json.stdout)["warnings"]] == ["lint-mask"]


@pytest.mark.parametrize(("kind", "found"), [("distinct", [("lint-distinct", "columns.pay.type")]), ("entropy", [])])
def test_distinct_values_of_a_column_of_decimals_are_warned_of(kind: str, found: list[tuple[str, str]]) -> None:
    columns = {"height": {"role": "quasi_identifier"}, "pay": {"role": "sensitive", "type": "decimal"}}

    assert warned(columns, promises=[{"l_diversity": {"column": "pay", "l": 2, "kind": kind}}]) == found


@pytest.mark.parametrize(
    ("promises", "subject", "found"),
    [
        ([{"l_diversity": {"column": "ill", "l": 3}}], "pid", [("lint-alone", "promises")]),
        ([{"l_diversity": {"column": "ill", "l": 3}}], None, []),
        ([{"t_closeness": {"column": "ill", "t": 0.5}}], None, [("lint-alone", "promises")]),
        ([{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "ill", "l": 3}}], "pid", []),
    ],
)
def test_promises_that_count_no_people_are_warned_of(promises: list[Any], subject: str | None, found: list[Any]) -> None:
    columns = {"pid": {"role": "identifier"}, "height": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}}

    assert warned(columns, promises=promises, **({"subject": subject} if subject else {})) == found


def test_the_record_tells_of_distinct_values_that_occur_once() -> None:
    columns = {"height": {"role": "quasi_identifier"}, "pay": {"role": "sensitive"}}
    policy = {"columns": columns, "promises": [{"l_diversity": {"column": "pay", "l": 2}}]}
    release: Any = sfumato.run(policy, pa.table({"height": [1, 1, 2, 2], "pay": [1.25, 1.26, 7.5, 8.5]}))

    assert f"column pay: {SAYS_LITTLE}" in release.record.notes


def test_a_column_may_accept_what_it_is_warned_of() -> None:
    hashed = {"hash": {"unkeyed": "sha256"}}
    views = resolve_views(load({"columns": {"pid": other(hashed, accept="warnings"), "case": other(hashed, accept="singling_out")}})).views
    assert [warning.key for warning in lint(views)] == ["columns.pid.mask", "columns.case.mask"]
    assert [warning.key for warning in lint(views, accepted=False)] == ["columns.case.mask"]


def test_a_shared_domain_is_accepted_by_all_columns_that_share_it() -> None:
    def told(accept: list[str]) -> list[str]:
        hashed = {"hash": {"key": "main", "domain": "people"}}
        second = {"columns": {"pid": other(hashed, accept=accept)}}
        policy = {"columns": {"pid": other(hashed, accept="warnings")}, "keys": KEYS, "views": {"a": {}, "b": second}}
        return [warning.code for warning in lint(resolve_views(load(policy)).views, accepted=False)]

    assert told([]) == ["lint-domain-shared"]
    assert told(["warnings"]) == []


def test_a_strict_check_lets_accepted_warnings_pass_and_says_them(tmp_path: Path, sfumato_command: Any) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("columns:\n  pid: {role: other, mask: {hash: {unkeyed: sha256}}, accept: warnings}\n")
    ended = sfumato_command("check", path, "--strict")
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[:2][1].startswith("accepted warning: policy.yaml:2 columns.pid.mask: ")
    path.write_text("columns:\n  pid: {role: other, mask: {hash: {unkeyed: sha256}}}\n")
    assert sfumato_command("check", path, "--strict").returncode == 3


def test_lengths_and_choices_are_told_in_our_words() -> None:
    columns = {"note": other({"redact": {"kinds": ["emial"]}}), "sex": {"role": "other", "mask": []}}
    with pytest.raises(PolicyError) as caught:
        resolve_views(load({"columns": columns}))

    told = {mistake.key: (mistake.message.split(",")[0], mistake.hint) for mistake in caught.value.mistakes}
    assert told == {
        "columns.note.mask.kinds[0]": ("must be one of url", "email"),
        "columns.sex.mask": ("must have at least 1 part", None),
    }


EVENTS: dict[str, Any] = {"at": {"role": "other", "type": "timestamp"}, "item": {"role": "sensitive"}}


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize(
    ("user", "codes"),
    [
        ({"role": "other"}, ["lint-noise-subject"]),
        ({"role": "other", "mask": "keep"}, ["lint-noise-subject"]),
        ({"role": "other", "accept": ["warnings"]}, []),
        ({"role": "identifier"}, []),
        ({"role": "identifier", "mask": {"hash": {"key": "main"}}}, []),
    ],
)
def test_people_who_are_published_as_they_are_beside_made_up_records_are_warned_of(user: dict[str, Any], codes: list[str], noise: bool) -> None:
    search = {"z": 4, "time": "at", "path": "item"} | ({"noise": {"diffmax": 2}} if noise else {})
    views = resolve_views(load({"subject": "pid", "columns": {"pid": user, **EVENTS}, "keys": KEYS, "algorithm": {"z_anonymity": search}})).views
    assert [warning.code for warning in lint(views, accepted=False)] == (codes if noise else [])


def test_a_line_that_views_share_is_warned_of_once(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "source: a.csv\nsubject: pid\nkeys: {main: {environment: SFUMATO_KEY}}\ncolumns:\n"
        "  pid: {role: identifier}\n  ward: {role: other, mask: {hash: {unkeyed: sha256}}}\n"
        "views:\n  one: {sink: one.csv}\n  two: {sink: two.csv}\n  three: {sink: three.csv, columns: {ward: {role: other}}}\n"
    )
    found = [(warning.code, warning.key, warning.line) for warning in lint(resolve_views(load(path)).views)]
    assert found == [("lint-mask", "views.one.columns.ward.mask, and in 1 other view", 6)]
