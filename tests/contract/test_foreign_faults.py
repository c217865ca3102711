"""Faults of other packages: told as theirs, by name, without a word of what was raised; and no reason to show nothing of all that works."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError, UnreachableError
from sfumato.registry import find, usable

CANARY = "Quetzalcoatlus"
PACKAGE = '''
"""Components that do not do what they must."""

from itertools import count
from typing import ClassVar

import pyarrow as pa

from sfumato.core.interfaces import Promise
from sfumato.core.mask import Card, Operation, text_of

CARD = Card(deterministic=True, uniqueness="lossy", changes_type=True, scope="value", reveals="All of the value.")
COUNT = count()


class Faulty(Operation):
    card: ClassVar[Card] = CARD


class TooFew(Faulty):
    def apply(self, columns, context):
        return text_of(columns, context).slice(1)


class NoArray(Faulty):
    def apply(self, columns, context):
        return text_of(columns, context).to_pylist()


class OtherType(Faulty):
    def apply(self, columns, context):
        return pa.array(range(columns.num_rows))


class Raising(Faulty):
    def apply(self, columns, context):
        raise ValueError(text_of(columns, context)[0].as_py())


class Telling(Faulty):
    def apply(self, columns, context):
        raise type(text_of(columns, context)[0].as_py(), (Exception,), {})()


class NoType(Faulty):
    def output_type(self, original):
        return "text"

    def apply(self, columns, context):
        return text_of(columns, context)


class NeverTheSame(Faulty):
    def apply(self, columns, context):
        return pa.array([str(next(COUNT))] * columns.num_rows)


class Right(Faulty):
    def apply(self, columns, context):
        return text_of(columns, context)


class NoCard(Operation):
    pass


class Leaving(Faulty):
    def apply(self, columns, context):
        raise SystemExit(text_of(columns, context)[0].as_py())


class NoText(Faulty):
    def apply(self, columns, context):
        return pa.array([b"\\xff"] * columns.num_rows, pa.binary()).view(pa.string())


class EmptyCard(Right):
    card: ClassVar[Card] = None


class OddCard(Right):
    @property
    def card(self):
        return 7


class OddReads(Right):
    @property
    def reads(self):
        return 7


class LeavingEarly(Right):
    @property
    def reads(self):
        raise SystemExit(0)


class LeavingAtAType(Right):
    def misfit(self, kind, declared):
        raise SystemExit(0)


class Failing(Promise):
    monotone_when_merged: ClassVar[bool] = True
    monotone_when_grown: ClassVar[bool] = True

    @property
    def asked(self):
        return 1.0

    def measure(self, classes):
        return 1.0

    def holds(self, classes):
        raise KeyError("Quetzalcoatlus")
'''
ENTRY_POINTS = """
[sfumato.masking]
too_few = faulty_elsewhere:TooFew
no_array = faulty_elsewhere:NoArray
other_type = faulty_elsewhere:OtherType
raising = faulty_elsewhere:Raising
telling = faulty_elsewhere:Telling
no_type = faulty_elsewhere:NoType
never_the_same = faulty_elsewhere:NeverTheSame
right = faulty_elsewhere:Right
no_card = faulty_elsewhere:NoCard
leaving = faulty_elsewhere:Leaving
no_text = faulty_elsewhere:NoText
empty_card = faulty_elsewhere:EmptyCard
odd_card = faulty_elsewhere:OddCard
odd_reads = faulty_elsewhere:OddReads
leaving_early = faulty_elsewhere:LeavingEarly
leaving_at_a_type = faulty_elsewhere:LeavingAtAType
gone_at_once = faulty_and_leaving:Shout
no_class = faulty_elsewhere:COUNT
no_module = faulty_and_gone:Shout
[sfumato.promises]
failing = faulty_elsewhere:Failing
"""
REPORTED = "report it to the makers of faulty with this line; until it is mended, another operation"
BROKEN = "install faulty anew with all that it needs, or report it to its makers"
PEOPLE = pa.table({"name": [CANARY, "Ann", "Bob"]})


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Install the package beside the project, for this process and for others, and return the environment that sees it."""
    site = tmp_path / "site"
    information = site / "faulty-1.0.dist-info"
    information.mkdir(parents=True)
    (site / "faulty_elsewhere.py").write_text(PACKAGE)
    (site / "faulty_and_leaving.py").write_text("raise SystemExit(0)")
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    before = os.environ.get("PYTHONPATH")
    yield {"PYTHONPATH": os.pathsep.join([str(site), before] if before else [str(site)])}
    sys.modules.pop("faulty_elsewhere", None)


def masked_with(operation: str) -> dict[str, Any]:
    return {"columns": {"name": {"role": "other", "mask": operation}}}


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ("too_few", "has made 2 values of 3 rows"),
        ("no_array", "has made a list, and must make an Arrow array"),
        ("other_type", "has made values of the type int64, and has announced string"),
        ("raising", "has failed, by ValueError at faulty_elsewhere.py:37"),
        ("leaving", "has failed, by SystemExit at faulty_elsewhere.py:69"),
        ("no_text", "has made a damaged array of the type string"),
        ("telling", "has failed, by an exception at faulty_elsewhere.py:42"),
        ("odd_card", "has a int as its card"),
        ("odd_reads", "has reads that are no list of texts"),
        ("leaving_early", "has failed, by SystemExit at faulty_elsewhere.py:96"),
        ("no_type", "has announced a str, and must announce an Arrow type"),
    ],
)
@pytest.mark.usefixtures("faulty")
def test_what_an_operation_of_another_package_does_wrong_is_told_as_its_fault(operation: str, words: str) -> None:
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(masked_with(operation), data=PEOPLE)

    assert str(caught.value) == f"column name: {operation}, an operation of the package faulty 1.0, {words} [component-fault]\n  try: {REPORTED}"
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.usefixtures("faulty")
def test_an_operation_that_says_wrongly_that_it_is_deterministic_is_named_with_its_package() -> None:
    with pytest.raises(PromiseError) as caught:
        sfumato.run(masked_with("never_the_same"), data=PEOPLE)

    assert (caught.value.code, caught.value.hint) == (
        "verify-mask",
        "do without never_the_same of the package faulty 1.0, if what it makes of a value is not the same every time as its card says, "
        "and report it to the makers of faulty",
    )


@pytest.mark.usefixtures("faulty")
def test_an_operation_of_another_package_that_does_what_it_must_is_left_alone() -> None:
    assert sorted(sfumato.run(masked_with("right"), data=PEOPLE).table.column("name").to_pylist()) == ["Ann", "Bob", CANARY]


@pytest.mark.parametrize(
    ("name", "entry", "why"),
    [
        ("no_module", "faulty_and_gone:Shout", "ModuleNotFoundError of faulty_and_gone"),
        ("gone_at_once", "faulty_and_leaving:Shout", "SystemExit"),
        ("no_class", "faulty_elsewhere:COUNT", "it is no class of settings"),
        ("no_card", "faulty_elsewhere:NoCard", "it has no card"),
        ("empty_card", "faulty_elsewhere:EmptyCard", "it has no card"),
    ],
)
@pytest.mark.usefixtures("faulty")
def test_a_policy_that_names_a_component_which_does_not_load_is_told_of_its_package(name: str, entry: str, why: str) -> None:
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(masked_with(name), data=PEOPLE)

    words = f"{name}, which the package faulty 1.0 offers among the masks as {entry}, cannot be used: {why}"
    assert str(caught.value) == f"policy: columns.name.mask: {words} [component-broken]\n  try: {BROKEN}"


@pytest.mark.usefixtures("faulty")
def test_components_that_do_not_load_are_told_apart_from_all_others() -> None:
    there, broken = usable("masking")

    assert {"right", "hash"} <= set(there)
    assert [error.message.partition(",")[0] for error in broken] == ["empty_card", "gone_at_once", "no_card", "no_class", "no_module"]
    assert [find("masking", name).__module__.partition(".")[0] for name in ("right", "hash")] == ["faulty_elsewhere", "sfumato"]


@pytest.mark.parametrize("command", [["components"], ["components", "--kind", "masking", "--table"], ["schema"]], ids=" ".join)
def test_lists_leave_out_what_does_not_load_with_a_warning(
    command: list[str], faulty: dict[str, str], sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    ended = sfumato_command(*command, environment=faulty)

    assert ended.returncode == 0
    assert "never_the_same" in ended.stdout
    assert "no_module" not in ended.stdout
    told = "no_module, which the package faulty 1.0 offers among the masks as faulty_and_gone:Shout, cannot be used: ModuleNotFoundError"
    assert f"warning: left out: {told} of faulty_and_gone [component-broken]\n  try: {BROKEN}\n" in ended.stderr


@pytest.mark.parametrize(("command", "operation"), [("check", "leaving_early"), ("plan", "leaving_at_a_type"), ("run", "gone_at_once")])
def test_a_package_that_ends_the_process_does_not_end_it_as_if_all_were_done(
    command: str,
    operation: str,
    faulty: dict[str, str],
    write_policy: Callable[..., Path],
    sfumato_command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    policy = write_policy({**masked_with(operation), "source": "data.csv", "sink": "out.csv"}, "name\nAnn\n")
    ended = sfumato_command(command, policy, environment=faulty)

    assert (ended.returncode, ended.stdout) == (5, "")
    assert "the package faulty 1.0" in ended.stderr


def test_a_promise_of_another_package_that_raises_is_named_with_its_package(
    faulty: dict[str, str],
    write_policy: Callable[..., Path],
    sfumato_command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    policy = {"source": "data.csv", "columns": {"age": {"role": "quasi_identifier"}}, "promises": ["failing"], "sink": "out.csv"}
    ended = sfumato_command("run", write_policy(policy, "age\n30\n31\n"), environment=faulty)

    assert ended.returncode == 5
    assert "a component of the package faulty 1.0 has failed, by KeyError at faulty_elsewhere.py:" in ended.stderr
    assert "  try: report it to the makers of faulty with this line; until it is mended, do without\n" in ended.stderr
    assert CANARY not in ended.stderr
