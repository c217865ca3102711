"""Entities that stand beside each other, beside other signs, or in lines of which others begin and end with numbers."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.checksums import luhn
from sfumato.core.mask import MaskContext
from sfumato.masking.redact import Redact

pytestmark = pytest.mark.slow


def redacted(text: str, **settings: Any) -> str:
    return all_redacted([text], **settings)[0]


def all_redacted(texts: list[str], **settings: Any) -> list[str]:
    batch = pa.RecordBatch.from_pydict({"note": texts, "name": ["Ana Silva"] * len(texts)})
    return list(Redact(**settings).apply(batch, MaskContext("note")).to_pylist())


def card(chance: random.Random) -> str:
    """Return a card number whose checksum is right, in groups."""
    while True:
        digits = chance.choice(["23", "35", "41", "52", "60"]) + "".join(chance.choices("0123456789", k=14))
        if luhn(pa.array([digits]))[0]:
            return " ".join(re.findall("....", digits))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("room 3021 4111 1111 1111 1111", "room 3021 <CARD>"),
        ("exp 2027 4111 1111 1111 1111", "exp 2027 <CARD>"),
        ("5000-4111-1111-1111-1111", "5000-<CARD>"),
        ("SSN 653-69-5683 4231 7341 5436 8457", "SSN <US_SSN> <CARD>"),
        ("seen 16.7.2008 4479 6390 1224 0742", "seen <DATE> <CARD>"),
        ("0049 421 123456 / 0049 171 1234567", "<PHONE> / <PHONE>"),
        ("0421/123456 (0421) 999999", "<PHONE> <PHONE>"),
        ("+49 421 123456 (415) 555-2671", "<PHONE> <PHONE>"),
        ("0421 123456 415-555-2671", "<PHONE> <PHONE>"),
        ("894-506-3150 300-507-8071", "<PHONE> <PHONE>"),
        ("171.46.46.43 77.211.10.100", "<IP> <IP>"),
        ("196-81-2763 106-45-1678", "<US_SSN> <US_SSN>"),
        ("e0945e55-052b-4be2-a9b4-302597704838", "<UUID>"),
        ("ping 2001:db8::1: no route", "ping <IP>: no route"),
        ("3b:c0:33:29:5d:4b: offline", "<MAC>: offline"),
        ("device 001B.4411.3AB7.", "device <MAC>."),
        ("born\u20141985-03-12\u2014here", "born\u2014<DATE>\u2014here"),
        ("ssn\u2014123-45-6789\u2014ok", "ssn\u2014<US_SSN>\u2014ok"),
        ("-1985-03-12 admitted", "-<DATE> admitted"),
        ("M/12.3.1985", "M/<DATE>"),
        ("seen.1985-03-12", "seen.<DATE>"),
        ("patient,3 March 2020", "patient,<DATE>"),
        ("_192.168.1.77_", "_<IP>_"),
        ("_+49 421 123456_", "_<PHONE>_"),
        ("_0421 123456_", "_<PHONE>_"),
        ("患者+49 421 123456。", "患者<PHONE>。"),
        ("住所192.168.1.77。", "住所<IP>。"),
        ("見るhttps://example.org/ana", "見る<URL>"),
        ("3. Ma\u0308rz 2020", "<DATE>"),
        ("3 aou\u0302t 2020", "<DATE>"),
        ("card 4111\u200e 1111 1111\u202a 1111", "card <CARD>"),
        ("\uff080421\uff09123456", "<PHONE>"),
        ("IBAN \uff24\uff25\uff18\uff19 3704 0044 0532 0130 00", "IBAN <IBAN>"),
        ("4111-1111 1111-1111/1226", "<CARD>/1226"),
        ("12/4222222222222", "12/<CARD>"),
        ("no. 7-4222222222222", "no. 7-<CARD>"),
        ("12/3714 4963 5398 431", "12/<CARD>"),
        ("MAC:00:1b:44:11:3a:b7", "MAC:<MAC>"),
        ("IPv6:2001:db8::ff00:42:8329", "IPv6:<IP>"),
        ("Addr:2001:db8::1", "Addr:<IP>"),
        ("4111 1111 1111 1111/anna@example.org", "<CARD> <EMAIL>"),
        ("+49 421 123456/anna@example.org", "<PHONE> <EMAIL>"),
        ("Vater (0421 123456) 0171/1234567", "Vater <PHONE>) <PHONE>"),
        ("(0421 123456) (0171 1234567)", "<PHONE>) <PHONE>)"),
        ("+49 (0)421 123456 (0)171 1234567", "<PHONE> <PHONE>"),
        ("room 12\u2014247-72-3547", "room 12\u2014<US_SSN>"),
        ("age 34\u20141985-03-12", "age 34\u2014<DATE>"),
        ("30\u2014415-555-2671", "30\u2014<PHONE>"),
        ("homepage\u2014www.ana.example", "homepage\u2014<URL>"),
        ("_March 3, 2020_", "_<DATE>_"),
        ("_Tel 421 123456_", "_Tel <PHONE>_"),
        ("_SSN 123 45 6789_", "_SSN <US_SSN>_"),
        ("_passport C01X00T47_", "_passport <PASSPORT>_"),
        (r"msg=called\n+49 421 123456\tby", r"msg=called\n<PHONE>\tby"),
        (r"called 0421\r\n123456", r"called <PHONE>"),
        (r"acct\nl91abna0417164300", r"acct\<IBAN>"),
        (r"CORP\nina@example.org", r"CORP\<EMAIL>"),
        ("+49 421 839787 1-253-841-7384", "<PHONE> <PHONE>"),
        ("2420653209740 70", "<NATIONAL_ID>"),
        ("17,+49 421 123456", "17,<PHONE>"),
        ("00:1A:2B:3C:4D:5E/ada@example.org", "<MAC>:<EMAIL>"),
        ("2020-03-12 14:05|ada@example.org", "<DATE> <DATE>:<EMAIL>"),
    ],
)
def test_what_stands_beside_it_hides_nothing(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail ada@exam\nple.org\nin Bremen", "mail <EMAIL>\nin Bremen"),
        ("415-555-\n2671\nlives here", "<PHONE>\nlives here"),
        ("44051\n401359\nlives here", "<NATIONAL_ID>\nlives here"),
        ("12345\n678Z\nlives here", "<NATIONAL_ID>\nlives here"),
        ("192.168.\n1.77\nin", "<IP>\nin"),
        ("Patient\n44051\n401359", "Patient\n<NATIONAL_ID>"),
        ("one\ntwo\nPatient\n44051\n401359\n12 tablets", "one\ntwo\nPatient\n<NATIONAL_ID>\n12 tablets"),
        ("+49 421\n123456\n12 tablets", "<PHONE>\n12 tablets"),
        ("two\n+49 421\n123456\n12 tablets", "two\n<PHONE>\n12 tablets"),
        ("Card 4111 1111 1111\n1111\n3 visits", "Card <CARD>\n3 visits"),
        ("DE89 3704\n0044 0532\n0130 00\n12 tablets", "<IBAN>\n12 tablets"),
        ("in 2019 1 63 06 71\n999 719 49\nroom 7", "in 2019 <NATIONAL_ID>\nroom 7"),
        ("in 2019 273-45-\n1110", "in 2019 <US_SSN>"),
        ("in 2019 189.24.\n102.45", "in 2019 <IP>"),
        ("0421\t761115\n\n4111 1111 1111 1111", "<PHONE>\n\n<CARD>"),
        ("6259 3649\n7364 7362 81,+351 924 066 591", "<CARD>,<PHONE>"),
    ],
)
def test_lines_before_and_behind_hide_nothing_that_goes_over_a_line_end(text: str, expected: str) -> None:
    assert redacted(text) == expected


def _pair(kind: str, chance: random.Random) -> str:
    if kind == "phone":
        return f"{chance.randint(200, 999)}-{chance.randint(200, 999)}-{chance.randint(1000, 9999)}"
    if kind == "own":
        return f"0{chance.randint(30, 999)} {chance.randint(100000, 9999999)}"
    if kind == "ssn":
        return f"{chance.randint(100, 665)}-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}"
    if kind == "ip":
        return ".".join(str(chance.randint(1, 255)) for _ in range(4))
    return card(chance)


@pytest.mark.parametrize("first", ["phone", "own", "ssn", "ip", "card"])
@pytest.mark.parametrize("second", ["phone", "own", "ssn", "ip", "card"])
def test_of_two_beside_each_other_no_digit_stays(first: str, second: str) -> None:
    chance = random.Random(f"{first} {second}")
    texts = [f"{_pair(first, chance)} {_pair(second, chance)}" for _ in range(300)]
    assert [text for text, found in zip(texts, all_redacted(texts), strict=True) if re.search("[0-9]", found)] == []


@pytest.mark.parametrize("before", ["room 3021 ", "in 2020 ", "order 5000 ", "page 412 "])
def test_a_card_behind_another_number_goes_whole(before: str) -> None:
    chance = random.Random(before)
    numbers = [card(chance) for _ in range(300)]
    for number, found in zip(numbers, all_redacted([before + number for number in numbers]), strict=True):
        assert "<CARD>" in found
        assert number[-4:] not in found, number


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (r'["called\n+49 421 123456","ask\tSilva"]', r'["called\n<PHONE>","ask\t<NAME>"]'),
        (r'{"note":"see\n192.168.1.77 or\nwww.ana.example","n":4111111111111111}', r'{"note":"see\n<IP> or\n<URL>","n":<CARD>}'),
        (r'{"Silva\n":"\u0041na"}', r'{"<NAME>\n":"<NAME>"}'),
        (r'{"within":"{\"note\":\"call\\n+49 421 123456\"}","as":"it \u0077as"}', r'{"within":"{\"note\":\"call\\n<PHONE>\"}","as":"it \u0077as"}'),
        (r'["nothing\nhere","\u00e9"]', r'["nothing\nhere","\u00e9"]'),
        (r"C:\new 0421 123456", r"C:\new <PHONE>"),
        ('{"a":"x\\n0421 123456"}\n{"a":"y\\n0421 999999"}', '{"a":"x\\n<PHONE>"}\n{"a":"y\\n<PHONE>"}'),
        (r'"called\n+49 421 123456"', r'"called\n<PHONE>"'),
        ('{"a":"raw\nline\\n0421 123456"}', '{"a":"raw\\nline\\n<PHONE>"}'),
        ('\ufeff{"a":"x\\n0421 123456"}', '\ufeff{"a":"x\\n<PHONE>"}'),
        ('{"a":"x\\n0421 123456"}\n{"b":', '{"a":"x\\n<PHONE>"}\n{"b":'),
        ('{"n":' + "1" * 5000 + ',"a":"ada\\u0040example.org"}', '{"n":' + "1" * 5000 + ',"a":"<EMAIL>"}'),
        (r'{"a":"ok \ud83d cut","b":"x\n0421 123456"}', r'{"a":"ok \ud83d cut","b":"x\n<PHONE>"}'),
    ],
)
def test_strings_of_documents_are_read_without_their_escapes(document: str, expected: str) -> None:
    assert redacted(document, columns=["name"]) == expected


def test_a_document_beside_other_texts_leaves_each_in_its_row() -> None:
    texts = ["Bo called", r'["x\n0421 123456"]', None, "ask Silva", r'{"a":"Bo\n"}']
    batch = pa.RecordBatch.from_pydict({"note": texts, "name": ["Bo", "Silva", "Bo", "Silva", "Bo"]})

    found = Redact(columns=["name"]).apply(batch, MaskContext("note")).to_pylist()
    assert found == ["<NAME> called", r'["x\n<PHONE>"]', None, "ask <NAME>", r'{"a":"<NAME>\n"}']


def test_an_expression_of_the_policy_may_go_over_what_a_document_is_made_of() -> None:
    patterns = {"mrn": '"mrn": ?"?[0-9]{6}'}
    assert redacted('{"mrn":"123456","t":"a"}', patterns=patterns) == '{<MRN>","t":"a"}'
    assert redacted(r'{"mrn":"123456","t":"a\nb"}', patterns=patterns) == r'{<MRN>","t":"a\nb"}'


def test_expressions_of_the_policy_are_not_looked_for_in_tags() -> None:
    patterns = {"case": "C-[0-9]{6}", "caps": "[A-Z]{4,}"}
    assert redacted(r'{"a":"x\n C-123456 ada@example.org"}', patterns=patterns) == r'{"a":"x\n <CASE> <EMAIL>"}'


@pytest.mark.parametrize(
    "number",
    [
        "4222 222 222 222",
        "4222-222-222-222",
        "411111 111111 1111",
        "4111 11111111 1111",
        "37828 22463 10005",
        "378 282 246 310 005",
        "3782 822463 10005",
        "4111.1111.1111.1111",
        "6011111111111117",
    ],
)
def test_a_card_is_found_in_other_groups_too(number: str) -> None:
    assert redacted(f"paid {number} today") == "paid <CARD> today"


@pytest.mark.parametrize("number", ["41 11 11 11 11 11 11 11", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "4111 1111 1111 11 11"])
@pytest.mark.parametrize("words", ["card", "Visa no.", "Kreditkarte:"])
def test_a_card_behind_its_name_is_found_in_any_groups(words: str, number: str) -> None:
    assert redacted(f"{words} {number} today") == f"{words} <CARD> today"


def test_many_strings_of_long_documents_are_read() -> None:
    # all of a document beside each of its strings would be more than an array of text can hold
    entries = ",".join(rf'"entry {number}\tof the bundle, as long as others are"' for number in range(700))
    texts = [f"[{entries}]"] * 60

    batch = pa.RecordBatch.from_pydict({"note": texts, "name": ["Ana Silva"] * len(texts)})
    assert Redact(columns=["name"]).apply(batch, MaskContext("note")).to_pylist() == texts


@pytest.mark.parametrize(
    "text",
    [
        "2019 232-73-8576 549-17-2861",
        "2 62 03 28 545 754 02 v2.3",
        "518-38-2288 07/12/1981",
        "+33 6 89 85 06 48 50.136.50.240",
    ],
)
def test_a_card_that_is_kept_hides_nothing_of_other_kinds(text: str) -> None:
    assert not re.search("[0-9]{3}", redacted(text, keep=["card"]).replace("2019", ""))


def test_a_card_that_is_kept_stays() -> None:
    assert redacted("paid by 4111 1111 1111 1111, seen 3 March 2020", keep=["card"]) == "paid by 4111 1111 1111 1111, seen <DATE>"


@pytest.mark.parametrize("kind", ["temperatures", "years", "heart rates", "pressures"])
def test_rows_of_measurements_are_hardly_ever_cards(kind: str) -> None:
    chance = random.Random(kind)

    def value() -> str:
        if kind == "temperatures":
            return f"{chance.randint(355, 405) / 10}"
        if kind == "years":
            return str(chance.randint(1950, 2026))
        return str(chance.randint(50, 140)) if kind == "heart rates" else f"{chance.randint(95, 180)}/{chance.randint(50, 99)}"

    texts = [" ".join(value() for _ in range(8)) for _ in range(500)]
    assert sum("<" in found for found in all_redacted(texts, kinds=["card"])) < 10
