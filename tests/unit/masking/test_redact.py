"""What identifies people within free text, found by patterns and checksums."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.redact import Redact

CONTEXT = MaskContext("note", keys=Keys({"main": (Key("k1", bytes(32)),)}))


def redacted(*texts: str | None, **settings: Any) -> list[str | None]:
    return list(Redact(**settings).apply(pa.RecordBatch.from_pydict({"note": pa.array(texts, pa.string())}), CONTEXT).to_pylist())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to ada.lovelace+x@mail.example.org, please", "write to <EMAIL>, please"),
        ("müller@bücher.de.", "<EMAIL>."),
        ("see https://example.org/a?b=c&d=%20e for more", "see <URL> for more"),
        ("card 4111 1111 1111 1111 or 4111-1111-1111-1111", "card <CARD> or <CARD>"),
        ("order 4111 1111 1111 1112", "order 4111 1111 1111 1112"),
        ("IBAN DE89 3704 0044 0532 0130 00!", "IBAN <IBAN>!"),
        ("IBAN DE89 3704 4044 1532 1130 01", "IBAN DE89 3704 4044 1532 1130 01"),
        ("ssn 219-09-9999 not 900-12-3456", "ssn <US_SSN> not 900-12-3456"),
        ("from 10.0.0.1 and 2001:db8::1, not 10.0.0.256", "from <IP> and <IP>, not 10.0.0.256"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id <UUID>"),
        ("00:1A:2b:3c:4d:5e is a card of another kind", "<MAC> is a card of another kind"),
        ("born 1984-05-17, seen 3.12.2020 and 3/12/20", "born <DATE>, seen <DATE> and <DATE>"),
        ("call +49 (421) 123-456 or 0421/123456", "call <PHONE> or <PHONE>"),
        ("12 apples, 3.5 kg, at 10:30", "12 apples, 3.5 kg, at 10:30"),
        ("مرحبا ada@example.org 🙂", "مرحبا <EMAIL> 🙂"),
        ("", ""),
    ],
)
def test_what_is_found_becomes_a_tag_and_the_rest_stays(text: str, expected: str) -> None:
    assert redacted(text) == [expected]


def test_kinds_are_chosen_and_left() -> None:
    text = "ada@example.org 10.0.0.1 1984-05-17"
    assert redacted(text, kinds=["email"]) == ["<EMAIL> 10.0.0.1 1984-05-17"]
    assert redacted(text, keep=["date"]) == ["<EMAIL> <IP> 1984-05-17"]
    assert redacted(text, replace="stars") == ["*** *** ***"]


def test_pseudonyms_are_the_same_for_the_same_value_and_need_a_key() -> None:
    one, other = redacted("ada@example.org", "to ada@example.org and bo@example.org", replace="pseudonym", key="main")
    assert one is not None
    assert other is not None
    assert one.startswith("<EMAIL_")
    assert other.startswith(f"to {one} and <EMAIL_")
    assert len(set(other.split())) == 4
    with pytest.raises(PolicyError, match="needs a key"):
        Redact(replace="pseudonym")


def test_each_kind_is_replaced_in_its_own_way() -> None:
    text = "ada@example.org, 10.0.0.1, 1984-05-17, C-7, +49 421 123456"
    ways = {"email": "pseudonym", "date": "keep", "case": "stars", "others": "stars", "ip": "tag"}
    (found,) = redacted(text, replace=ways, patterns={"case": "C-[0-9]"}, key="main")
    assert found is not None
    assert re.fullmatch(r"<EMAIL_[0-9a-f]{16}>, <IP>, 1984-05-17, \*\*\*, \*\*\*", found)
    assert redacted(text, replace={"email": "keep"}) == ["ada@example.org, <IP>, <DATE>, C-7, <PHONE>"]
    assert redacted(text, replace="keep") == [text]


def test_what_is_kept_is_not_taken_for_something_else() -> None:
    assert redacted("seen 03.12.2020", keep=["date"]) == ["seen 03.12.2020"]
    assert redacted("seen 03.12.2020", kinds=["phone"]) == ["seen <PHONE>"]


def test_a_kind_that_is_not_known_is_refused_with_the_nearest() -> None:
    with pytest.raises(PolicyError, match="replace: phne is no kind of entity; try phone"):
        Redact(replace={"phne": "stars"})
    with pytest.raises(PolicyError, match="needs a key with replace: pseudonym, and only with it"):
        Redact(replace={"email": "pseudonym"})


def test_patterns_of_the_policy_come_first_and_match_within_no_tag() -> None:
    assert redacted("MRN 0421123456 of ADA", patterns={"record": "MRN [0-9]+", "capitals": "[A-Z]+"}) == ["<RECORD> of <CAPITALS>"]
    assert redacted("ada@example.org", patterns={"x": "ada"}) == ["<X>@<EMAIL>"]
    assert redacted("a🙂b \ufdd0 c", patterns={"letter": "[abc]?"}) == ["<LETTER>🙂<LETTER> \ufdd0 <LETTER>"]


def test_further_patterns_are_those_of_re2() -> None:
    assert redacted("patient P-12345 of ward 7", patterns={"patient": r"P-[0-9]+"}) == ["patient <PATIENT> of ward 7"]
    with pytest.raises(PolicyError, match="no regular expression of RE2"):
        Redact(patterns={"x": r"(a)\1"})


@pytest.mark.parametrize(
    "text",
    [
        "1 " * 20_000,
        "a." * 20_000 + "@",
        "0" * 40_000,
        "::" * 20_000,
        "A" * 40_000,
        "DE89 " + "1234 " * 10_000,
        "+1-" * 15_000,
        "::1 " * 10_000,
        "3 may " * 8_000,
    ],
)
def test_no_text_leads_a_pattern_back_and_forth_for_hours(text: str) -> None:
    (found,) = redacted(text)
    assert found is not None


def test_a_web_address_that_is_kept_hides_no_other_kind() -> None:
    batch = pa.RecordBatch.from_pydict({"note": ["http://x.org/?m=ada@example.org and http://x.org/4111111111111111"]})
    [made] = Redact(replace={"email": "tag", "card": "tag", "others": "keep"}).apply(batch, MaskContext("note")).to_pylist()
    assert "ada@" not in made
    assert "4111" not in made


def test_an_expression_is_found_whatever_characters_the_texts_have() -> None:
    odd = "".join(chr(code) for code in (*range(0xFDD0, 0xFDF0), *range(0xE000, 0xF900)))
    batch = pa.RecordBatch.from_pydict({"note": [f"{odd} C-12"]})
    assert Redact(kinds=["email"], patterns={"case": "C-[0-9]+"}).apply(batch, MaskContext("note")).to_pylist() == [f"{odd} <CASE>"]
