"""What a model of spaCy finds through Presidio, with a small pipeline of rules in place of a trained one."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import spacy

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError, UnreachableError
from sfumato.masking.redact import Redact

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CONTEXT = MaskContext("note", keys=Keys({"main": (Key("k1", bytes(32)),)}))
RULES = [
    {"label": "PERSON", "pattern": "Ada Lovelace"},
    {"label": "PERSON", "pattern": "Grace 0421"},
    {"label": "GPE", "pattern": "Bremen"},
    {"label": "FAC", "pattern": "Ward 7"},
    {"label": "NORP", "pattern": "Danish"},
    {"label": "ORG", "pattern": "St Mary"},
    {"label": "DISEASE", "pattern": "asthma"},
]


def model_in(folder: Path, rules: list[dict[str, str]] = RULES, language: str = "en") -> str:
    pipeline = spacy.blank(language)
    pipeline.add_pipe("entity_ruler").add_patterns(rules)
    pipeline.to_disk(folder)
    return str(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return model_in(tmp_path_factory.mktemp("models") / "names")


def redacted(*texts: str | None, **settings: Any) -> list[str | None]:
    return list(Redact(**settings).apply(pa.RecordBatch.from_pydict({"note": pa.array(texts, pa.string())}), CONTEXT).to_pylist())


def test_names_join_what_patterns_find(model: str) -> None:
    text = "Ada Lovelace (Danish) of Bremen, St Mary, Ward 7: asthma; ada@example.org 🙂"
    assert redacted(text, None, "", model=model) == [
        "<PERSON> (<GROUP>) of <LOCATION>, <ORGANISATION>, <LOCATION>: asthma; <EMAIL> 🙂",
        None,
        "",
    ]


def test_kinds_are_chosen_and_kept(model: str) -> None:
    text = "Ada Lovelace of Bremen, 1984-05-17"
    assert redacted(text, model=model, kinds=["person"]) == ["<PERSON> of Bremen, 1984-05-17"]
    assert redacted(text, model=model, keep=["location"]) == ["<PERSON> of Bremen, <DATE>"]
    assert redacted(text, model=model, replace={"person": "stars", "date": "keep"}) == ["*** of <LOCATION>, 1984-05-17"]


def test_of_names_that_overlap_a_number_nothing_stays(model: str) -> None:
    assert redacted("Grace 0421 123456", model=model) == ["<PERSON> <PHONE>"]


def test_names_that_are_known_come_before_those_of_a_model(model: str) -> None:
    assert redacted("Ada Lovelace", model=model, words=["Lovelace"]) == ["<PERSON> <NAME>"]


def test_pseudonyms_are_the_same_for_the_same_name(model: str) -> None:
    one, other = redacted("Ada Lovelace", "by Ada Lovelace", model=model, replace="pseudonym", key="main")
    assert one is not None
    assert one.startswith("<PERSON_")
    assert other == f"by {one}"


def test_other_languages_are_those_of_the_model(tmp_path: Path) -> None:
    german = model_in(tmp_path / "names", [{"label": "PER", "pattern": "Jürgen Müller"}, {"label": "LOC", "pattern": "Köln"}], "de")
    assert redacted("Jürgen Müller aus Köln", model=german) == ["<PERSON> aus <LOCATION>"]


def test_a_model_that_is_not_there_is_told_before_the_first_row_and_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="there is no model en_core_web_nowhere of spaCy") as caught:
        Redact(model="en_core_web_nowhere").read_files()
    assert (caught.value.code, caught.value.hint) == ("text-model", "python -m spacy download en_core_web_nowhere, or model: the path of a folder")
    for name in ("no.such.model", "json", "en-core"):
        with pytest.raises(UnreachableError, match="there is no model"):
            redacted("Ada", model=name)
    with pytest.raises(UnreachableError, match="there is no model") as caught:
        Redact(model=str(tmp_path / "nowhere")).read_files()
    assert caught.value.hint == "the folder that spaCy's to_disk has written, with its meta.json"


def test_a_model_that_does_not_find_what_is_asked_for_is_refused(tmp_path: Path) -> None:
    places = model_in(tmp_path / "places", [{"label": "GPE", "pattern": "Bremen"}])
    with pytest.raises(UnreachableError, match="does not find the kind person") as caught:
        Redact(model=places).read_files()
    assert caught.value.hint == "another model, or kinds that name what this one finds"
    Redact(model=places, kinds=["location"]).read_files()
    with pytest.raises(UnreachableError, match="does not find the kind group"):
        Redact(model=places, kinds=["location", "group"]).read_files()


def test_a_model_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    broken = Path(model_in(tmp_path / "broken"))
    (broken / "config.cfg").write_text("[nlp]\n", encoding="utf-8")
    with pytest.raises(UnreachableError, match="cannot be read by this version of spaCy") as caught:
        redacted("Ada", model=str(broken))
    assert caught.value.code == "text-model"
    (broken / "meta.json").write_text(json.dumps({"lang": "en"}), encoding="utf-8")
    with pytest.raises(UnreachableError, match="there is no model"):
        Redact(model=str(broken)).read_files()


def test_a_text_that_is_longer_than_the_model_takes_is_not_passed_on(model: str) -> None:
    batch = pa.RecordBatch.from_pydict({"note": ["Ada Lovelace", "x" * 1_000_001]})
    with pytest.raises(DataError, match="1 row with a value that redact cannot take"):
        MaskedColumn("note", [Redact(model=model)]).apply(batch, CONTEXT)
    assert MaskedColumn("note", [Redact(model=model)], on_invalid="remove").apply(batch, CONTEXT).to_pylist() == ["<PERSON>", None]
