"""The messages on the pages of error codes are those that the program says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from reference_pages.error_codes import codes
from reference_pages.error_messages import messages, told_apart
from reference_pages.errors import sections, statuses_said

import sfumato
from sfumato.cli.app import run_command
from sfumato.core.keys import KeySource
from sfumato.errors import PolicyError, SfumatoError
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views

pytestmark = pytest.mark.slow

POLICY = """
source: people.csv
columns:
  name: {role: identifier, weight: 2}
  age: {role: quasi_identifier, publish: bounds, levle: 1}
  age_to: {role: other, missing: "?"}
  town: {role: quasi_identifier, mask: {shuffle: {}}}
  ward: {role: other, mask: constant, otherwise: keep}
promises:
  - k_anonymity: {k: 0}
  - l_diversity: {column: ward, l: 2}
  - t_closeness: {column: wrd, t: 0.2}
order: source
subject: somebody
window: {count: 10}
"""


def said(code: str) -> list[str]:
    return [str(message) for message in told_apart(messages()[code])]


def is_known(sentence: str, code: str) -> bool:
    return any(pattern(str(form)).fullmatch(sentence) for form in messages()[code])


def pattern(form: str) -> re.Pattern[str]:
    """Return what a form stands for: of one thing the word has no s, and where a hint is all open there may be none."""
    first, mark, hint = form.partition("\n  try: ")
    opened = re.sub(r"…(\\ \w+)s\b", r"…\1s?", re.escape(first)).replace("…", ".+")
    return re.compile(opened + (f"({mark}.+)?" if hint == "…" else re.escape(mark + hint).replace("…", ".+")), re.DOTALL)


# what a record of a stream gets that is set aside: it is counted, and nothing is said
OF_RECORDS = {"json-field-unnamed", "json-type", "late", "place-impossible", "record-cut", "time-ahead", "time-missing", "time-outside"}


def test_every_code_has_messages() -> None:
    assert set(messages()) | OF_RECORDS == codes()
    assert not set(messages()) & OF_RECORDS


@pytest.mark.parametrize(
    ("code", "message"),
    [
        # a literal; names that were assigned; a constant of the file
        ("excel-missing", "Excel workbooks need the library openpyxl [excel-missing]\n  try: pip install 'sfumato[excel]'"),
        (
            "policy-mask-identifier",
            "policy.yaml:… ….when: an identifier of which some rows would be published as they are [policy-mask-identifier]\n"
            "  try: otherwise: constant, or otherwise: keep if that is meant",
        ),
        ("key-short", "key …: the key on line … has … bytes, and 32 are needed [key-short]\n  try: make one with: sfumato keys new"),
        # where message and code meet in a function, of this file or another
        (
            "policy-order",
            "policy.yaml:… order: source order would void every promise: row i of the release would be row i of the source [policy-order]\n"
            "  try: leave it out",
        ),
        (
            "verify-rows",
            "verification stopped the run: the staged release has lost or gained rows; nothing has been published [verify-rows]\n"
            "  try: run again; if it happens twice, report it: this must not happen",
        ),
        ("memory", "there is not enough memory; nothing has been published [memory]\n  try: a machine with more, or fewer columns"),
        # what callers give
        ("key-missing", "key …: the command … ended with status … [key-missing]\n  try: run it by hand: what it complains of is not shown here"),
        # one of several texts
        (
            "delimited-quote",
            "…:… a quoted field begins here and never ends [delimited-quote]\n  try: mend the line, or look at quote and escape of the source",
        ),
    ],
)
def test_a_message_is_found_however_it_is_put_together(code: str, message: str) -> None:
    assert message in said(code)


def test_a_choice_is_made_alike_in_message_and_hint() -> None:
    assert [message.splitlines() for message in said("policy-publish")] == [
        ["policy.yaml:… …: … asked for, but the column is ordered [policy-publish]", "  try: interval or bounds"],
        ["policy.yaml:… …: … asked for, but the column has no order [policy-publish]", "  try: label or set"],
    ]


def test_a_name_that_is_assigned_again_is_what_it_was_last() -> None:
    # the checks of masks call all their messages `words`
    assert said("policy-mask-null") == [
        "policy.yaml:… ….on_null: … makes nothing of a missing value [policy-mask-null]\n"
        "  try: on_null: keep, or an operation that makes values, such as constant or fake"
    ]


def test_what_a_policy_full_of_mistakes_is_told_stands_on_the_pages(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")

    with pytest.raises(PolicyError) as raised:
        resolve_views(load(tmp_path / "policy.yaml"))

    mistakes = raised.value.mistakes
    assert len({mistake.code for mistake in mistakes}) > 6
    assert [mistake.code for mistake in mistakes if not is_known(f"policy.yaml:{mistake.line} {mistake.words()}", mistake.code)] == []


@pytest.mark.parametrize(
    "fail",
    [
        lambda folder: KeySource(environment="SFUMATO_NOT_THERE").read("pseudonyms"),
        lambda folder: KeySource(file="none.key").read("pseudonyms", folder),
        lambda folder: KeySource(command=["false"]).read("pseudonyms"),
        lambda folder: sfumato.run(folder / "policy.yaml"),
        lambda folder: sfumato.run(7),
        lambda folder: sfumato.run({"source": str(folder / "short.csv"), "columns": {"a": {"role": "other"}, "b": {"role": "other"}}}),
        lambda folder: sfumato.run({"source": str(folder / "good.csv"), "columns": {"a": {"role": "other"}, "c": {"role": "other"}}}),
    ],
)
def test_what_is_said_when_something_fails_stands_on_a_page(fail: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text("a,b\n1,2\n3\n", encoding="utf-8")
    (tmp_path / "good.csv").write_text("a,b\n1,2\n", encoding="utf-8")

    with pytest.raises(SfumatoError) as raised:
        fail(tmp_path)

    assert is_known(raised.value.sentence(), raised.value.code)
    assert raised.value.status in {message.status for message in messages()[raised.value.code]}


def test_a_warning_stands_on_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "source: a.csv\ncolumns:\n  town: {role: other}\n  age: {role: quasi_identifier}\npromises: [{k_anonymity: {k: 3}}]\nsink: b.csv\n"
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")

    assert run_command(["check", str(tmp_path / "policy.yaml")]) == 0

    _, warning = capsys.readouterr().out.split("warning: ")
    assert is_known(warning.strip(), "lint-left-in-clear")


def test_the_written_statuses_are_those_of_the_code() -> None:
    # what is found in a file of the policy is handed on as a mistake of the policy, status 3
    differing = {}
    for code, text in sections():
        if code in OF_RECORDS:
            continue
        found = {message.status for message in messages()[code]}
        if not code.startswith("lint-") and statuses_said(text) not in (found, {3}, found | {3}):
            differing[code] = found
    assert differing == {}
