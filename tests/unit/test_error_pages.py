"""Every error code of the program has a section in ``docs/errors.md``, and every section is about one."""

from __future__ import annotations

import re

import pytest
from reference_pages.error_codes import argument, calls_with_a_code, codes, is_handed_on, literals
from reference_pages.errors import error_page, sections, statuses_said

CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*")
WITH_SECTIONS = [code for code, _ in sections()]


def test_every_code_has_a_section_and_every_section_a_code() -> None:
    assert sorted(WITH_SECTIONS) == sorted(codes())


def test_sections_are_in_alphabetical_order() -> None:
    assert sorted(WITH_SECTIONS) == WITH_SECTIONS


def test_every_section_says_what_it_means_and_what_to_do() -> None:
    assert [code for code, text in sections() if len(re.findall(r"[.:?!](?=\s|$)", text)) < 2] == []


def test_every_section_but_those_of_warnings_begins_with_the_exit_status() -> None:
    assert [code for code, text in sections() if not statuses_said(text) and not code.startswith("lint-")] == []


@pytest.mark.parametrize("code", [code for code in WITH_SECTIONS if code.startswith("lint-")])
def test_a_warning_is_an_error_only_where_that_is_asked_for(code: str) -> None:
    page = error_page(code, dict(sections())[code])
    assert f"# {code}\n\nA warning of `sfumato check`, an error only with `--strict`." in page
    assert "## Exit status\n\n0: `sfumato check` warns of it. With `--strict` 3: the policy is refused.\n" in page


def test_a_code_that_is_no_literal_is_only_handed_on() -> None:
    # a code put together at run time would escape this test
    unknown = [
        f"{module.path.name}:{given.lineno}"
        for module, call, place in calls_with_a_code()
        if (given := argument(call, place)) is not None and not literals(given) and not is_handed_on(given)
    ]
    assert unknown == []


def test_the_collector_sees_each_way_of_giving_a_code() -> None:
    # one of each: keyword, either branch of a choice, argument of Mistake, of a helper, and of one in another file
    for code in ("sink-busy", "delimited-line-short", "delimited-line-long", "policy-key-twice", "policy-order", "internal", "verify-covers", "late"):
        assert code in codes()


def test_a_code_is_written_in_small_words_and_hyphens() -> None:
    assert [code for code in sorted(codes()) if not CODE.fullmatch(code)] == []
