"""Entities of several finders in one text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.entities import Entity
from sfumato.core.layers import layered

TEXT = "abcdefghijklmnopqrstuvwxyz"
SPANS = st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda span: (span[0], span[0] + span[1]))


@given(st.lists(SPANS, max_size=12))
def test_all_that_anyone_has_found_is_covered_once(spans: list[tuple[int, int]]) -> None:
    found = layered(TEXT, [[Entity(*span, "kind")] for span in spans])
    covered = [place for entity in found for place in range(entity.begin, entity.end)]
    assert covered == sorted({place for begin, end in spans for place in range(begin, end)})


def test_what_stands_between_two_entities_is_of_neither() -> None:
    text = "Ana, 0421 123456, Silva"
    found = layered(text, [[Entity(5, 16, "phone")], [Entity(0, 23, "person")]])
    assert [(entity.kind, text[entity.begin : entity.end]) for entity in found] == [("person", "Ana"), ("phone", "0421 123456"), ("person", "Silva")]


def test_without_layers_there_is_nothing() -> None:
    assert layered("text", []) == []
    assert layered("text", [[], []]) == []
