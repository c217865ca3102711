"""Encryption within a format: same alphabet, same length, separators where they were."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError, PolicyError, UnreachableError
from sfumato.masking.format_preserving_encrypt import FormatPreservingEncrypt

CONTEXT = MaskContext("v", keys=Keys({"main": (Key("k1", bytes(range(32))),)}))


def encrypted(values: Any, context: MaskContext = CONTEXT, **others: Any) -> list[Any]:
    column = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    found: list[Any] = FormatPreservingEncrypt(key="main", **others).apply(pa.RecordBatch.from_arrays([column], names=["v"]), context).to_pylist()
    return found


def revealed(values: list[Any], context: MaskContext = CONTEXT, **others: Any) -> list[Any]:
    found: list[Any] = FormatPreservingEncrypt(key="main", **others).reveal(pa.array(values, pa.string()), context).to_pylist()
    return found


def test_a_card_number_keeps_its_shape() -> None:
    assert encrypted(["1234-5678-9012-3456", None, "999 999 999", "1" * 60], keep="- ") == [
        "0651-5154-7040-7955",
        None,
        "710 950 315",
        "729191289466726668860731376124687585611486249071973150605527",
    ]


def test_separators_do_not_change_what_stands_between_them() -> None:
    plain, parted = encrypted(["123456", "12-34-56"], keep="-")
    assert parted.replace("-", "") == plain
    assert [place for place, sign in enumerate(parted) if sign == "-"] == [2, 5]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(st.none(), st.text("aäöüß日🙂·", min_size=8, max_size=40)), max_size=8))
def test_texts_of_any_alphabet_come_back(values: list[str | None]) -> None:
    options = {"alphabet": "aäöüß日🙂", "keep": "·"}
    taken = [value if value is not None and len(value.replace("·", "")) >= 8 else None for value in values]
    found = encrypted(taken, **options)
    assert [None if one is None else len(one) for one in found] == [None if one is None else len(one) for one in taken]
    assert revealed(found, **options) == taken


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.lists(st.text("0123456789-", min_size=0, max_size=30), min_size=1, max_size=20))
def test_digits_come_back_and_what_is_too_short_is_refused(values: list[str]) -> None:
    found = encrypted(values, keep="-")
    assert [one is None for one in found] == [len(value.replace("-", "")) < 6 for value in values]
    assert [back for back in revealed(found, keep="-") if back is not None] == [value for value in values if len(value.replace("-", "")) >= 6]


def test_digits_that_are_too_few_are_said_to_be() -> None:
    with pytest.raises(DataError) as raised:
        MaskedColumn("v", [FormatPreservingEncrypt(key="main")]).apply(pa.RecordBatch.from_pydict({"v": ["12345"]}), CONTEXT)
    assert raised.value.message == (
        "column v: 1 row with a value that format_preserving_encrypt cannot take (characters that are not of the alphabet digits, or fewer than 6 "
        "of them, of which there are less than a million texts, or more than 4096)"
    )


def test_different_values_stay_different() -> None:
    assert len(set(encrypted([f"{number:06d}" for number in range(20_000)]))) == 20_000


def test_many_rows_are_encrypted_as_each_alone() -> None:
    values = [f"{number:0{6 + number % 30}d}" for number in range(17_000)]
    found = encrypted(values)
    assert [encrypted([values[place]])[0] for place in range(0, 17_000, 997)] == found[::997]
    assert encrypted(pa.array(values).slice(16_000, 500)) == found[16_000:16_500]


@pytest.mark.parametrize(
    ("alphabet", "shortest"),
    [("digits", "000000"), ("lower", "abcde"), ("upper", "ABCDE"), ("alphanumeric", "a0Zb"), ("01", "0" * 20), ("0123456789abcdef", "f" * 5)],
)
def test_fewer_possible_texts_than_a_million_are_refused(alphabet: str, shortest: str) -> None:
    assert encrypted([shortest, shortest[:-1], ""], alphabet=alphabet)[1:] == [None, None]
    assert encrypted([shortest], alphabet=alphabet)[0] is not None


@pytest.mark.parametrize("value", ["123456x", "٣٣٣٣٣٣٣", "1234 567", "-1234567", "1234567.0", "12345🙂6"], ids=ascii)
def test_a_value_with_other_characters_is_refused_and_not_told(value: str) -> None:
    assert encrypted([value]) == [None]
    column = MaskedColumn("v", [FormatPreservingEncrypt(key="main")])
    with pytest.raises(DataError) as caught:
        column.apply(pa.RecordBatch.from_pydict({"v": ["1234567", value]}), CONTEXT)
    assert str(caught.value) == (
        "column v: 1 row with a value that format_preserving_encrypt cannot take (characters that are not of the alphabet digits, or fewer than 6 of "
        "them, of which there are less than a million texts, or more than 4096) [mask-invalid]\n"
        "  try: hash or tokenise, which take every value, keep: '-' for what stands between, or mask the others with `when`, or say "
        "on_invalid: remove in columns.v"
    )


def test_a_text_that_would_take_for_ever_is_refused() -> None:
    assert [value is None for value in encrypted(["7" * 4096, "7" * 4097, "7" * 1_000_000])] == [False, True, True]


def test_whole_numbers_become_text_of_as_many_digits() -> None:
    (found,) = encrypted(pa.array([123456789]))
    assert len(found) == 9
    assert revealed([found]) == ["123456789"]


def test_domain_view_and_key_make_others() -> None:
    value = ["1234567890123456"]
    other_key = MaskContext("v", keys=Keys({"main": (Key("k2", bytes(32)),)}))
    nurse = MaskContext("v", view="nurse", keys=CONTEXT.keys)
    found = [encrypted(value), encrypted(value, domain="a"), encrypted(value, domain="b"), encrypted(value, nurse), encrypted(value, other_key)]
    assert len({one[0] for one in found}) == 5
    assert encrypted(value, nurse, domain="a") == found[1]
    assert revealed(found[4]) != value


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alphabet": "aa"}, "needs two characters at least, each once; or one of digits, lower, upper, alphanumeric"),
        ({"alphabet": "a"}, "needs two characters at least, each once; or one of digits, lower, upper, alphanumeric"),
        ({"keep": "-1"}, "keeps a character of its alphabet"),
    ],
    ids=str,
)
def test_an_alphabet_that_is_none_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        FormatPreservingEncrypt(key="main", **settings)
    assert words in str(caught.value)


def test_without_the_library_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(UnreachableError) as caught:
        encrypted(["1234567"])
    assert str(caught.value) == "encryption and tokens need the library cryptography [masking-missing]\n  try: pip install 'sfumato[masking]'"
