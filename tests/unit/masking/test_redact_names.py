"""Names in free text: words that are known, values of the same row, and what a model finds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import DataError, PolicyError, UnreachableError
from sfumato.masking.redact import Redact

CONTEXT = MaskContext("note", keys=Keys({"main": (Key("k1", bytes(32)),)}))


def redacted(text: str | None, name: str | None = None, **settings: Any) -> str | None:
    batch = pa.RecordBatch.from_pydict({"note": pa.array([text], pa.string()), "name": pa.array([name], pa.string())})
    found: str | None = Redact(**settings).apply(batch, CONTEXT)[0].as_py()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana and ANA, not Anabel", "<NAME> and <NAME>, not Anabel"),
        ("mueller, MULLER, Müllers, Mu\u0308ller", "<NAME>, <NAME>, <NAME>, <NAME>"),
        ("Jose da Silva wrote, José da Silva; da Silva", "<NAME> wrote, <NAME>; da Silva"),
        ("José-da\u00a0Silva", "<NAME>"),
        ("病人王伟住院", "病人<NAME>住院"),
        ("김철수는 왔다", "<NAME>는 왔다"),
        ("כהן הגיע 🙂", "<NAME> הגיע 🙂"),
        ("ana_x and ana's 🙂", "<NAME>_x and <NAME>'s 🙂"),
        ("seen by Mül-\nler, Mül-\r\n  ler and Ana-\nbel", "seen by <NAME>, <NAME> and <NAME>-\nbel"),
        ("", ""),
    ],
)
def test_words_are_found_whole_whatever_their_case_and_accents(text: str, expected: str) -> None:
    assert redacted(text, words=["Ana", "Müller", "José da Silva", "王伟", "김철수", "כהן"]) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("O'Neill-Smith", "ONeill; O Neill; oneill; smith; ONeillSmith", "<NAME>; <NAME>; <NAME>; <NAME>; <NAME>"),
        ("Smith-O\u2019Neill", "ONeill and O'Neill", "<NAME> and <NAME>"),
        ("Al-'Amiri", "Amiri; alamiri; al-Amiri", "<NAME>; <NAME>; <NAME>"),
        ("Al-\u02bcAmiri", "alamiri", "<NAME>"),
        ("Anne-Marie O'Neill", "annemarie, oneill", "<NAME>, <NAME>"),
        ("ONeill", "O'Neill-Smith, seen by O'Neill's", "<NAME>-Smith, seen by <NAME>'s"),
        ("Alamiri", "Al-'Amiri", "<NAME>"),
    ],
)
def test_a_name_is_found_with_and_without_its_apostrophes_and_hyphens(name: str, text: str, expected: str) -> None:
    assert redacted(text, name, columns=["name"]) == expected


@pytest.mark.parametrize("between", ["\u00ad\n", "-\u200b\n", "\u00ad-\n", "-\r", "-\u2028", "-\n> ", "\u2010 \n  "], ids=ascii)
def test_a_name_is_found_over_the_end_of_a_line(between: str) -> None:
    assert redacted(f"Herr Mül{between}ler kam", "Müller", columns=["name"]) == "Herr <NAME> kam"


@pytest.mark.parametrize("gap", ["\r\n> ", "\n>> ", "\n> > ", " \n> ", "\n\t> ", "\n      ", "    ", "-\r\n> ", "\n"], ids=ascii)
def test_a_name_of_several_words_is_found_over_the_end_of_a_line(gap: str) -> None:
    assert redacted(f"saw Ana{gap}Silva today", words=["Ana Silva"]) == "saw <NAME> today"
    assert redacted(f"saw Ana\n\nSilva{gap}today", words=["Ana Silva"]) == f"saw Ana\n\nSilva{gap}today"


@pytest.mark.parametrize("apostrophe", ["'", "\u2019", "\u02bc", "\u00b4", "\u02b9", "\u02c8"], ids=ascii)
def test_a_name_is_found_before_any_apostrophe(apostrophe: str) -> None:
    expected = f"<NAME>{apostrophe}s Mutter und <NAME>{apostrophe} Frau"
    assert redacted(f"Anna{apostrophe}s Mutter und Hans{apostrophe} Frau", words=["Anna", "Hans"]) == expected


def test_short_names_have_a_genitive_with_a_capital() -> None:
    assert redacted("Jos mother, JOS aunt and Has wife has a dose", words=["Jo", "Ha"]) == "<NAME> mother, <NAME> aunt and <NAME> wife has a dose"
    assert redacted("as, is and Is", words=["A", "I"]) == "as, is and Is"


@pytest.mark.parametrize("name", ["Łukasz Strauß", "Lukasz Strauss", "LUKASZ STRAUẞ"])
def test_letters_with_strokes_are_those_without(name: str) -> None:
    assert redacted("łukasz strauss, Lukasz Strauß and ŁUKASZ STRAUSS", words=[name]) == "<NAME>, <NAME> and <NAME>"
    assert redacted("Øyvind, OYVIND", words=["Oyvind"]) == redacted("Øyvind, OYVIND", words=["Øyvind"]) == "<NAME>, <NAME>"


@pytest.mark.parametrize(
    "spelt",
    [
        ("Müller", "Mueller"),
        ("Jörg", "Joerg"),
        ("Bäcker", "Baecker"),
        ("Øster", "Oester"),
        ("Åse", "Aase"),
        ("Ærø", "Aeroe"),
        ("Mu\u0308ller", "MUELLER"),
        ("Åström", "Aastrom"),
        ("Åström", "Astroem"),
        ("ÄÖÜÅØÄÖÜÅØ", "aeoeueaaoeaeoeueaaoe"),
        ("Köües", "Koeuees"),
    ],
    ids=str,
)
@pytest.mark.parametrize("number", [0, 30])
def test_transliterated_names_are_found_in_both_directions(spelt: tuple[str, str], number: int) -> None:
    others = [f"name{each}" for each in range(number)]
    for known, written in (spelt, spelt[::-1]):
        text = f"saw {written}, {written.upper()}, {written}s and Xaver {written}"
        assert redacted(text, words=[known, f"Xaver {known}", *others]) == "saw <NAME>, <NAME>, <NAME> and <NAME>"
        assert redacted(text, name=f"Xaver {known}", columns=["name"]) == "saw <NAME>, <NAME>, <NAME> and <NAME>"


def test_a_transliterated_name_may_begin_like_another() -> None:
    words = ["Muller Hans", "Mueller Peter", "Müller"]
    assert redacted("Müller Peter, Mueller Hans, Muller Peter", words=words[:2]) == "<NAME>, Mueller Hans, Muller Peter"
    assert redacted("Müller Peter, Mueller Hans, Muller Peter", words=words) == "<NAME>, <NAME> Hans, <NAME> Peter"


def test_words_that_only_look_transliterated_stay() -> None:
    text = "Manuel, Joel, Bauer, Maas, blue shoes and a duet: Muller"
    assert redacted(text, words=["Manul", "Jol", "Baur", "Mas", "Blu", "Shos", "Dut", "Mueller"]) == text


@pytest.mark.parametrize("hidden", ["\u00ad", "\u200b", "\u2060"])
def test_what_nobody_sees_hides_nothing(hidden: str) -> None:
    assert redacted(f"saw An{hidden}a Sil{hidden}va.", words=["Ana Silva"]) == "saw <NAME>."
    assert redacted(f"saw Ana{hidden}Silva.", words=["Ana", "Silva"]) == "saw <NAME>."
    assert redacted("saw Ana Silva.", words=[f"An{hidden}a"]) == "saw <NAME> Silva."
    assert redacted(f"saw Ana, S{hidden}ilva.", name=f"A{hidden}na Silva", columns=["name"]) == "saw <NAME>, <NAME>."
    assert redacted(f"to ada@exam{hidden}ple.org, or 04{hidden}21 123{hidden}456") == "to <EMAIL>, or <PHONE>"
    assert redacted(f"on {hidden}12.03.2019{hidden}0421 123456") == f"on {hidden}<DATE>{hidden}<PHONE>"


def test_names_that_begin_alike_are_found_as_others_are() -> None:
    words = [f"St W{number}" for number in range(5000)] + ["St W1 of Hill", "Anna"]
    assert redacted("St W7, st w4999s; St W5000, St; St W1 of Hills, Annas", words=words) == "<NAME>, <NAME>; St W5000, St; <NAME>, <NAME>"


def test_words_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("Ada Lovelace\n\nGrace\n", encoding="utf-8")
    assert redacted("ada lovelace met Grace", words_path=str(path)) == "<NAME> met <NAME>"
    path.write_text("\n--\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no words") as caught:
        Redact(words_path=str(path)).read_files()
    assert (caught.value.code, caught.value.hint) == ("mask-file", "write one word or name a line")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        Redact(words_path=str(path)).read_files()
    with pytest.raises(UnreachableError):
        Redact(words_path=str(tmp_path / "nowhere.txt")).read_files()


def test_many_words_are_found_like_few() -> None:
    words = [f"name{number}" for number in range(1000)]
    assert redacted("name7, Name999s and name1000", words=words) == "<NAME>, <NAME> and name1000"


def test_a_word_without_letters_is_refused() -> None:
    with pytest.raises(PolicyError, match="needs words with letters or digits"):
        Redact(words=["Ana", "--"])


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Ana Silva", "Ana Silva was seen; Ana is well, SILVA too", "<NAME> was seen; <NAME> is well, <NAME> too"),
        ("Ana Silva", "Silva, Ana; the Silvas; Anatomy of silvan woods", "<NAME>, <NAME>; the <NAME>; Anatomy of silvan woods"),
        ("Ana M. de Souza", "Ana M. de Souza, a case of vitamin M and de novo", "<NAME>, a case of vitamin M and de novo"),
        ("Seán O'Brien", "sean o'brien, O’Brien and Brien", "<NAME>, <NAME> and <NAME>"),
        ("Seán O'Brien", "OBrien and OBRIEN", "<NAME> and <NAME>"),
        ("Seán O'Brien", "O\u02b9Brien, O\u02c8Brien, O\u2032Brien and O\uff07Brien", "<NAME>, <NAME>, <NAME> and <NAME>"),
        ("Sean OBrien", "O\u02b9Brien, O\u02bcBrien, O\u02c8Brien, O\u2032Brien", "<NAME>, <NAME>, <NAME>, <NAME>"),
        ("Seán O\u02b9Brien", "O'Brien and OBrien", "<NAME> and <NAME>"),
        ("Jean-Luc Petit", "Jeanluc called", "<NAME> called"),
        ("Sean OBrien", "O'Brien, O’Brien's and Sean O'Brien", "<NAME>, <NAME>'s and <NAME>"),
        ("Jeanluc Petit", "Jean-Luc called", "<NAME> called"),
        ("Bo Li", "Bo and Li live in Bonn", "<NAME> and <NAME> live in Bonn"),
        ("Ben Al-Amin", "ben, al and amin", "<NAME>, <NAME> and <NAME>"),
        ("Do Van Le", "Van and LE", "<NAME> and <NAME>"),
        ("ANA DE SOUZA", "ana and Souza de novo, Ana de Souza", "<NAME> and <NAME> novo, <NAME>"),
        ("Dr. Eva Weber", "Dr. Weber and another Dr.", "<NAME> and another Dr."),
        ("Le", "Le said", "<NAME> said"),
        ("A", "A case of a man", "A case of a man"),
        ("王 伟", "王伟住院", "<NAME>住院"),
        ("MRN 123-45", "see MRN 123-45 and mrn 123 45, not 123 or 45", "see <NAME> and <NAME>, not 123 or 45"),
        (None, "Ana Silva", "Ana Silva"),
        ("", "Ana Silva", "Ana Silva"),
        ("--", "Ana -- Silva", "Ana -- Silva"),
        ("Ana Silva", "mail ana.silva@example.org to Ana", "mail <EMAIL> to <NAME>"),
    ],
)
def test_the_values_of_other_columns_go_from_the_text_of_their_row(name: str | None, text: str, expected: str) -> None:
    assert redacted(text, name, columns=["name"]) == expected


def test_a_row_loses_its_own_names_and_not_those_of_others() -> None:
    batch = pa.RecordBatch.from_pydict({"note": ["Ana saw Bo", "Ana saw Bo", None], "name": ["Ana", "Bo", "Cy"]})
    assert Redact(columns=["name"]).apply(batch, CONTEXT).to_pylist() == ["<NAME> saw Bo", "Ana saw <NAME>", None]


def test_with_columns_it_looks_at_the_row() -> None:
    assert (Redact().card.scope, list(Redact().reads)) == ("value", [])
    assert (Redact(columns=["name"]).card.scope, list(Redact(columns=["name"]).reads)) == ("row", ["name"])


def test_numbers_of_another_column_go_too() -> None:
    batch = pa.RecordBatch.from_pydict({"note": ["bed 1234, number 12345"], "number": [12345]})
    assert Redact(columns=["number"]).apply(batch, CONTEXT).to_pylist() == ["bed 1234, number <NAME>"]


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({}, "names of people and places in free text are not found by patterns"),
        ({"words": ["Ana"]}, "names of people and places in free text are found only where words or columns give them"),
        ({"columns": ["name"]}, "names of people and places in free text are found only where words or columns give them"),
        ({"model": "en_core_web_sm"}, "a model misses some names of people and places in free text"),
    ],
)
def test_it_says_what_is_not_found(settings: dict[str, Any], warning: str) -> None:
    assert list(Redact(**settings).warnings) == [warning]


def test_kinds_of_names_need_a_model() -> None:
    with pytest.raises(PolicyError, match="finds the kind person only with a model"):
        Redact(kinds=["person"])


def test_without_the_library_the_install_lines_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "presidio_analyzer" else there(name, *more))
    with pytest.raises(UnreachableError, match="names in free text need the library presidio-analyzer") as caught:
        Redact(model="en_core_web_sm").read_files()
    assert (caught.value.code, caught.value.hint) == ("text-missing", "pip install 'sfumato[text]', then python -m spacy download en_core_web_sm")
    with pytest.raises(UnreachableError) as caught:
        redacted("Ada", model="./models/names")
    assert caught.value.hint == "pip install 'sfumato[text]'"
