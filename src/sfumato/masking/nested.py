"""Nested: masks within documents of JSON, value by value along paths."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field, ValidationError, field_serializer, field_validator

from sfumato.core.canonical import as_text
from sfumato.core.json_paths import Place, leads_somewhere, places_of, steps_of
from sfumato.core.json_records import json_text
from sfumato.core.mask import Card, Mask, MaskContext, Operation
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import UsageError
from sfumato.registry import find

_Document = dict[str, Any] | list[Any]


class Nested(Operation):
    """Masks single values within objects and lists: ``{"$.phones[*].number": {character_mask: {keep_last: 3}}}``.

    A column holds JSON as text, a list of JSON lines (``lists: text`` in the source), or what a database calls JSON. Paths have the steps ``.name``,
    ``["name"]``, ``[0]`` and ``[*]``, which is every element. A value below no path makes the document one that cannot be taken, unless ``others``
    says that such values are kept or removed: what nobody named is not passed on. A document without a path that is named cannot be taken
    either, unless ``absent`` is ``keep``: perhaps the path is misspelt. Names along the paths are published.
    """

    paths: Annotated[dict[str, Any], Field(min_length=1, description="the mask of each path: an operation, or a list of them")]
    others: Annotated[Literal["refuse", "keep", "remove"], Field(description="what becomes of values that no path names")] = "refuse"
    absent: Annotated[Literal["error", "keep"], Field(description="what becomes of documents that lack a path")] = "error"

    @field_validator("paths")
    @classmethod
    def _found(cls, value: dict[str, Any]) -> dict[str, Any]:
        for path in value:
            steps_of(path)
        return {path: tuple(_operation(one) for one in (masks if isinstance(masks, list | tuple) else [masks])) for path, masks in value.items()}

    @field_serializer("paths")
    def _as_written(self, value: dict[str, Any]) -> dict[str, Any]:
        return {path: [{mask.component_name(): mask.model_dump(mode="json")} for mask in masks] for path, masks in value.items()}

    @property
    def _inner(self) -> list[Mask]:
        return [mask for masks in self.paths.values() for mask in masks]

    @property
    def card(self) -> Card:
        """What the masks along all paths do together."""
        cards = [mask.card for mask in self._inner]
        return Card(
            deterministic=all(card.deterministic for card in cards),
            reversible=False,
            uniqueness="not guaranteed",
            changes_type=True,
            nulls="kept",
            scope="value",
            types=("text",),
            reveals=" ".join(dict.fromkeys(["How documents are built, and how long their lists are.", *(card.reveals for card in cards)])),
        )

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all masks."""
        return tuple(dict.fromkeys(key for mask in self._inner for key in mask.keys))

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the documents with their values masked; null for what is no document, or holds what nobody named."""
        documents = [_parsed(text) for text in as_text(columns.column(context.column)).to_pylist()]
        found = [self._places(document) if document is not None else None for document in documents]
        for path, masks in self.paths.items():
            self._mask(path, masks, found, context)
        told = [None if document is None or where is None else json_text(document) for document, where in zip(documents, found, strict=True)]
        return pa.array(told, pa.string())

    def _places(self, document: _Document) -> dict[str, list[Place]] | None:
        """Return where each path leads in a document; None where it cannot be taken."""
        found = {path: list(places_of(document, steps_of(path))) for path in self.paths}
        if self.absent == "error" and not all(leads_somewhere(document, steps_of(path)) for path in self.paths):
            return None
        if self.others == "keep":
            return found
        named = {(id(place.holder), place.step) for places in found.values() for place in places}
        rest = [place for place in _leaves(document) if (id(place.holder), place.step) not in named]
        if self.others == "refuse":
            return None if rest else found
        for place in rest:
            place.remove()
        _without_empty(document)
        return found

    @staticmethod
    def _mask(path: str, masks: Sequence[Mask], found: list[Any], context: MaskContext) -> None:
        places = [(row, place) for row, where in enumerate(found) if where is not None for place in where[path]]
        values = [place.value for _, place in places]
        plain = pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values], pa.string())
        batch = pa.RecordBatch.from_arrays([plain], names=[context.column])
        masked = MaskedColumn(context.column, masks, on_invalid="remove").apply(batch, context).to_pylist() if values else []
        for (row, place), old, new in zip(places, values, masked, strict=True):
            if new is None and old is not None and not masks[-1].card.empties:
                found[row] = None
            place.put(new if isinstance(old, str) or new is None else _as(type(old), new))


def _operation(given: Any) -> Mask:
    if isinstance(given, str):
        given = {given: {}}
    if not isinstance(given, dict) or len(given) != 1:
        raise ValueError("needs an operation for each path: a name, or {name: {settings}}")
    ((name, settings),) = given.items()
    try:
        mask: Mask = find("masking", name).model_validate(settings or {})
    except UsageError:
        raise ValueError(f"names an operation that there is not: {name}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{name}: {'.'.join(map(str, first['loc']))} {first['msg']}") from None
    if mask.card.scope != "value":
        raise ValueError(f"{name} looks at more than one value, and a path leads to one")
    return mask


def _parsed(text: str | None) -> _Document | None:
    try:
        document = json.loads(text) if text is not None else None
        # half a character, which JSON can spell, is no text
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict | list) else None


def _leaves(document: _Document) -> Iterator[Place]:
    """Yield the places of all values that are no objects and no lists, and of empty objects: their names tell something too."""
    for step in list(document) if isinstance(document, dict) else range(len(document)):
        place = Place(document, step)
        if place.value and isinstance(place.value, dict | list):
            yield from _leaves(place.value)
        elif place.value == []:
            continue
        else:
            yield place


def _without_empty(document: _Document) -> None:
    """Remove objects of which nothing is left: their names would be."""
    places = [Place(document, step) for step in (list(document) if isinstance(document, dict) else range(len(document)))]
    for place in places:
        if isinstance(place.value, dict | list):
            _without_empty(place.value)
            if place.value == {} and isinstance(document, dict):
                place.remove()


def _as(kind: type, text: Any) -> Any:
    """Return a masked number or truth value as what it was, where it still is one."""
    if kind in (int, float, bool):
        try:
            value = json.loads(text)
        except (ValueError, TypeError):
            return text
        return value if isinstance(value, int | float) else text
    return text
