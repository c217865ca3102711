"""Names of people, places and organisations, found by a model of spaCy through Presidio's analyzer, which ``sfumato[text]`` brings along.

Nothing is ever fetched: the model is one that is installed, or a folder. Texts are looked at one by one, so that what is found in one does not depend
on the others and can be found again. Only what the model itself finds is taken; patterns and checksums are ours.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from sfumato.core.entities import Entity
from sfumato.errors import UnreachableError

NamedKind = Literal["person", "location", "group", "organisation"]
"""The kinds of entities that a model finds; a group is one of nationality, religion or politics."""

NAMED_KINDS: tuple[NamedKind, ...] = get_args(NamedKind)

# what models of spaCy call them, and Presidio
_LABELS: dict[str, NamedKind] = {
    **dict.fromkeys(("PER", "PERSON", "persName", "PRS", "PATIENT", "STAFF", "HCW"), "person"),
    **dict.fromkeys(("LOC", "LOCATION", "GPE", "FAC", "placeName", "geogName", "GPE_LOC"), "location"),
    **dict.fromkeys(("NORP", "NRP"), "group"),
    **dict.fromkeys(("ORG", "ORGANIZATION", "orgName", "HOSP", "HOSPITAL", "GPE_ORG"), "organisation"),
}
_ENTITIES: dict[NamedKind, str] = {"person": "PERSON", "location": "LOCATION", "group": "NRP", "organisation": "ORGANIZATION"}
_KINDS = {entity: kind for kind, entity in _ENTITIES.items()}


def refuse_missing_model(model: str, kinds: Sequence[NamedKind] | None) -> None:
    """Refuse a model that is not there, or that does not find the kinds asked for; where none are named it must find people."""
    download = f"python -m spacy download {model}" if "/" not in model else None
    if importlib.util.find_spec("presidio_analyzer") is None or importlib.util.find_spec("spacy") is None:
        hint = "pip install 'sfumato[text]'" + (f", then {download}" if download else "")
        raise UnreachableError("names in free text need the library presidio-analyzer", code="text-missing", hint=hint)
    try:
        labels = json.loads((_folder(model) / "meta.json").read_text(encoding="utf-8"))["labels"]
        found = {_LABELS[label] for of_component in labels.values() for label in of_component if label in _LABELS}
    except (ImportError, OSError, ValueError, KeyError, AttributeError, TypeError):
        hint = f"{download}, or model: the path of a folder" if download else "the folder that spaCy's to_disk has written, with its meta.json"
        raise UnreachableError(f"there is no model {model} of spaCy", code="text-model", hint=hint) from None
    for kind in kinds if kinds is not None else ("person",):
        if kind not in found:
            hint = f"kinds without {kind}, or another model" if kinds is not None else "another model, or kinds that name what this one finds"
            raise UnreachableError(f"the model {model} does not find the kind {kind}", code="text-model", hint=hint)


def names_in(texts: Sequence[str], model: str, kinds: Sequence[NamedKind]) -> list[list[Entity] | None]:
    """Return what a model finds in each text; None for one that is longer than it can take."""
    analyser, language = _analyser(model)
    pipeline = analyser.nlp_engine.nlp[language]
    # the words of all texts would be remembered otherwise
    with pipeline.memory_zone() if hasattr(pipeline, "memory_zone") else nullcontext():
        return [_names(analyser, language, text, kinds) if len(text) <= pipeline.max_length else None for text in texts]


def _names(analyser: Any, language: str, text: str, kinds: Sequence[NamedKind]) -> list[Entity]:
    found = analyser.analyze(text, language=language, entities=[_ENTITIES[kind] for kind in kinds])
    return sorted((Entity(one.start, one.end, _KINDS[one.entity_type]) for one in found), key=lambda entity: (entity.begin, -entity.end))


@lru_cache(maxsize=2)
def _analyser(model: str) -> tuple[Any, str]:
    """Return Presidio's analyzer with a model and nothing beside it, and the language of the model."""
    refuse_missing_model(model, ())
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
    from presidio_analyzer.predefined_recognizers import SpacyRecognizer

    try:
        pipeline = spacy.load(model)
    except (OSError, ValueError, ImportError):
        hint = "a model that was made for the spaCy that is installed"
        raise UnreachableError(f"the model {model} cannot be read by this version of spaCy", code="text-model", hint=hint) from None
    labels = {label for of_component in pipeline.pipe_labels.values() for label in of_component}
    entities = list(_ENTITIES.values())
    engine = SpacyNlpEngine(
        models=[{"lang_code": pipeline.lang, "model_name": model}],
        ner_model_configuration=NerModelConfiguration(
            model_to_presidio_entity_mapping={label: _ENTITIES[kind] for label, kind in _LABELS.items()},
            labels_to_ignore=sorted(labels - set(_LABELS)),
        ),
    )
    # an engine with a model does not look for one, and fetches none
    engine.nlp = {pipeline.lang: pipeline}
    recognizer = SpacyRecognizer(supported_language=pipeline.lang, supported_entities=entities)
    registry = RecognizerRegistry(recognizers=[recognizer], supported_languages=[pipeline.lang])
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[pipeline.lang]), pipeline.lang


def _folder(model: str) -> Path:
    if "/" in model:
        return Path(model)
    specification = importlib.util.find_spec(model)
    if specification is None or specification.origin is None:
        raise OSError(model)
    return Path(specification.origin).parent
