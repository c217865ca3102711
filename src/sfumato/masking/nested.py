"""Nested: masks within documents of JSON, value by value along paths."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, ValidationError, ValidationInfo, field_serializer, field_validator

from sfumato.core.canonical import as_text
from sfumato.core.json_paths import Place, leads_somewhere, leads_to, places_astray, places_of, steps_of
from sfumato.core.json_records import WrittenNumber, document_as_written, json_text, scalar_as_written
from sfumato.core.mask import Card, Cautious, Mask, MaskContext, Operation
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.mistakes import Place as Key
from sfumato.core.mistakes import passed_on, placed_mistakes
from sfumato.core.nested_types import Leaf, leaves_of
from sfumato.core.undoing import is_undone, loses, undo_chain
from sfumato.core.value_bytes import value_text
from sfumato.errors import Mistake, UsageError
from sfumato.registry import find

_Document = dict[str, Any] | list[Any]
_Mistakes = list[tuple[Key, Mistake]]
_FEW = 5
_MOST_PLACES = 1000

_BUILT = "How documents are built, and how long their lists are."
# before it is known which they are
_INNER = "What the masks of its paths reveal."


class Nested(Operation):
    """Masks single values within objects and lists: ``{"$.phones[*].number": {character_mask: {keep_last: 3}}}``.

    A column holds lists, structures or maps of Parquet, of Arrow or of a data frame, JSON as text, or a list of JSON lines (``lists: text`` in the
    source). Paths have the steps ``.name``, ``["name"]``, ``[0]`` and ``[*]``, which is every element. A value below no path makes the document one
    that cannot be taken, unless ``others`` says that such values are kept or removed: what nobody named is not passed on. A document without a path
    that is named cannot be taken either, unless ``absent`` is ``keep``: perhaps the path is misspelt. Nor can one, whatever is said, with a single
    value where a path leads through a list or an object, or one of these for the other: name it by a path of its own. Missing values stay missing.
    Names along the paths are published.
    """

    paths: Annotated[dict[str, Any], Field(min_length=1, description="the mask of each path: an operation, or a list of them")]
    others: Annotated[Literal["refuse", "keep", "remove"], Field(description="what becomes of values that no path names")] = "refuse"
    absent: Annotated[Literal["error", "keep"], Field(description="what becomes of documents that lack a path")] = "error"

    @field_validator("paths")
    @classmethod
    def _found(cls, value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        mistakes: _Mistakes = []
        found = {path: _operations(path, masks, info.context, mistakes) for path, masks in value.items()}
        if mistakes:
            raise passed_on(mistakes)
        return found

    @field_serializer("paths")
    def _as_written(self, value: dict[str, Any]) -> dict[str, Any]:
        return {path: [{mask.component_name(): mask.model_dump(mode="json")} for mask in masks] for path, masks in value.items()}

    @property
    def inner(self) -> Sequence[Mask]:
        """The masks along all paths."""
        return [mask for masks in self.paths.values() for mask in masks]

    @property
    def card(self) -> Card:
        """What the masks along all paths do together."""
        cards = [mask.card for mask in self.inner]
        return Card(
            deterministic=all(card.deterministic for card in cards),
            uniqueness="not guaranteed",
            changes_type=True,
            scope="value",
            in_part=True,
            types=("text",),
            reveals=" ".join(dict.fromkeys([*self._left, _BUILT, *([card.reveals for card in cards] or [_INNER])])),
        )

    @property
    def _left(self) -> Sequence[str]:
        return ["All values that no path names."] if self.others == "keep" else []

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all masks."""
        return tuple(dict.fromkeys(key for mask in self.inner for key in mask.keys))

    @property
    def warnings(self) -> Sequence[str]:
        """What to know of the masks, each with its path, and of what no path names."""
        others = ["values that no path names are published as they are"] if self.others == "keep" else []
        return others + [
            f"{path}: {words}" for path, masks in self.paths.items() for mask in masks if isinstance(mask, Cautious) for words in mask.warnings
        ]

    @property
    def undone(self) -> Sequence[Sequence[Mask]]:
        """The masks along the paths whose values can be told again."""
        return list(self._undone_paths.values())

    def reveal_within(self, values: pa.Array, context: MaskContext) -> pa.Array:
        """Return the documents with what can be undone as it was, texts where masks made texts of numbers; null for one that was not masked so.

        Where two paths lead to one value, the later one is undone first.
        """
        documents = [_parsed(text) for text in as_text(values).to_pylist()]
        found: list[Any] = ["" if document is None else self._undone_places(document) for document in documents]
        for path, masks in reversed(self._undone_paths.items()):
            _replace(path, found, _written, partial(_undone, masks, context), partial(_as_it_was, _tells_type(masks)))
        return _told(documents, found)

    @property
    def _undone_paths(self) -> dict[str, Sequence[Mask]]:
        return {path: masks for path, masks in self.paths.items() if is_undone(masks)}

    def _undone_places(self, document: _Document) -> dict[str, list[Place]]:
        """Return where the paths that are undone lead; not to values of which another path has lost something."""
        ends = {path: [place for place in places_of(document, steps_of(path)) if not isinstance(place.value, dict | list)] for path in self.paths}
        lost = {(id(place.holder), place.step) for path, places in ends.items() if loses(self.paths[path]) for place in places}
        return {path: [place for place in ends[path] if (id(place.holder), place.step) not in lost] for path in self._undone_paths}

    def read_files(self) -> None:
        """Read the files that the masks name."""
        for mask in self.inner:
            if isinstance(mask, Operation):
                mask.read_files()

    def nested_misfit(self, kind: pa.DataType) -> str | None:
        """Return what is wrong with documents of a type: paths that lead nowhere, values that no path names, masks that do not fit."""
        leaves = list(leaves_of(kind))
        for path in self.paths:
            if not any(_leads(path, leaf) for leaf in leaves):
                return f"has the path {path}, which leads to no single value; the column has {_listed(leaves)}"
        unnamed = [leaf for leaf in leaves if not any(_leads(path, leaf) for path in self.paths)]
        if unnamed and self.others == "refuse":
            return f"names no mask for {_listed(unnamed)}, and others is refuse"
        chains = ((path, leaf, MaskedColumn(path, masks)) for path, masks in self.paths.items() for leaf in leaves if _leads(path, leaf))
        wrong = ((path, chain.misfit(leaf.kind, None)) for path, leaf, chain in chains)
        return next((f"has a mask at {path} that does not fit: {words}" for path, words in wrong if words is not None), None)

    def keeps_type(self, kind: pa.DataType) -> bool:
        """Return whether what the masks make has the types that were there; a map has no key that is missing."""
        return all(self._keeps(leaf) for leaf in leaves_of(kind))

    def _keeps(self, leaf: Leaf) -> bool:
        chains = [masks for path, masks in self.paths.items() if _leads(path, leaf)]
        if leaf.is_key and (any(mask.card.empties for masks in chains for mask in masks) or (not chains and self.others == "remove")):
            return False
        return all(MaskedColumn("", masks).output_type(leaf.kind) == leaf.kind for masks in chains)

    def missed(self, met: Set[str]) -> Sequence[str]:
        """Return the paths that no document had."""
        absent = [path for path in self.paths if path not in met] if self.absent == "keep" else []
        return [f"no row has a value at the path {path}, so that its mask did nothing" for path in absent]

    @property
    def advice(self) -> Mapping[str, str]:
        """What to try where documents lack a path."""
        hint = "absent: keep beside paths, if documents may lack it, or mask the others with `when`"
        return {_wanting(path): hint for path in self.paths} if self.absent == "error" else {}

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the documents with their values masked; null for what is no document, or holds what nobody named."""
        return self.apply_and_locate(columns, context)[0]

    def apply_and_locate(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, Mapping[str, NDArray[np.bool_]]]:
        """Return the documents with their values masked, and those that cannot be taken by the path at fault; other names are not told."""
        documents = [_parsed(text) for text in as_text(columns.column(context.column)).to_pylist()]
        found: list[Any] = [self._found_in(document) for document in documents]
        for path, masks in self.paths.items():
            if _replace(path, found, self._told_to(path, context), partial(_masked, masks, context), _put(masks)):
                context.met.add(path)
        told = _told(documents, found)
        reasons = np.array([where if isinstance(where, str) else "" for where in found], object)
        refused = told.is_null().to_numpy(zero_copy_only=False)
        return told, {reason: refused & (reasons == reason) for reason in dict.fromkeys(reasons[refused])}

    def _told_to(self, path: str, context: MaskContext) -> Callable[[Sequence[Any]], pa.Array]:
        """Return how values go into the masks of a path: noise has the decimals that a number has, or its type; all others know no writing."""
        if not any(mask.card.perturbs and "decimal" in mask.card.types for mask in self.paths[path]):
            return _known
        kinds = {leaf.kind for leaf in leaves_of(context.documents) if _leads(path, leaf)} if context.documents is not None else set()
        kind = kinds.pop() if len(kinds) == 1 else None
        return partial(_of_type, kind) if kind is not None and (pa.types.is_integer(kind) or pa.types.is_floating(kind)) else _with_decimals

    def _found_in(self, document: _Document | None) -> dict[str, list[Place]] | str:
        try:
            return self._places(document) if document is not None else ""
        except RecursionError:
            return ""

    def _places(self, document: _Document) -> dict[str, list[Place]] | str:
        """Return where each path leads in a document; why not, where it cannot be taken."""
        ends = {path: list(places_of(document, steps_of(path))) for path in self.paths}
        absent = (path for path, places in ends.items() if not places and not leads_somewhere(document, steps_of(path)))
        lacking = next(absent, None) if self.absent == "error" else None
        if lacking is not None:
            return _wanting(lacking)
        found = {path: [place for place in places if not isinstance(place.value, dict | list)] for path, places in ends.items()}
        named = {(id(place.holder), place.step) for places in found.values() for place in places}
        if self.others == "keep":
            # what stands at the end of a path, or on its way, in another shape would stay as it is, and somebody named it
            whole = (path for path, places in ends.items() for place in places if _is_open(place, named))
            astray = (path for path in self.paths for place in places_astray(document, steps_of(path)) if _is_open(place, named))
            words = chain(
                (f", for a list or an object at {path}," for path in whole), (f", for something else on the way to {path}," for path in astray)
            )
            return next(words, found)
        rest = [place for place in _leaves(document) if (id(place.holder), place.step) not in named]
        if any(place.value is None for place in rest):
            named |= self._missing_on_the_way(document)
            rest = [place for place in rest if (id(place.holder), place.step) not in named]
        if self.others == "refuse":
            return ", for values that no path names," if rest else found
        for place in rest:
            place.remove()
        _without_empty(document)
        return found

    def _missing_on_the_way(self, document: _Document) -> set[tuple[int, Any]]:
        """Return where an object or a list through which a path leads is missing: that tells no more than a missing value at its end."""
        ways = {steps[:number] for steps in map(steps_of, self.paths) for number in range(1, len(steps))}
        return {(id(place.holder), place.step) for way in ways for place in places_of(document, way) if place.value is None}


def _wanting(path: str) -> str:
    """Return why a document that lacks a path cannot be taken."""
    return f", for want of {path},"


def _masked(masks: Sequence[Mask], context: MaskContext, values: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return masked values, and which of them could not be taken."""
    batch = pa.RecordBatch.from_arrays([values], names=[context.column])
    made = MaskedColumn(context.column, masks, on_null="keep", on_invalid="remove").made(batch, context)
    return made.values, np.logical_or.reduce([np.zeros(len(values), bool), *made.invalid.values()])


def _undone(masks: Sequence[Mask], context: MaskContext, values: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return values as they were, and which of them the masks have not made."""
    found = undo_chain(masks, values, context)
    return found, pc.and_(found.is_null(), values.is_valid()).to_numpy(zero_copy_only=False)


def _replace(
    path: str,
    found: list[Any],
    told: Callable[[Sequence[Any]], pa.Array],
    made: Callable[[pa.Array], tuple[pa.Array, NDArray[np.bool_]]],
    put: Callable[[Any, Any], Any],
) -> bool:
    """Put what is made of the values at the end of a path in their places, and return whether there are any.

    ``told`` says as what values go in, ``put`` what stands in the place of one: of the value, and what became of it. A document with a value of which
    nothing could be made is no longer among those found, but the path at which it was.
    """
    places = [(row, place) for row, where in enumerate(found) if isinstance(where, dict) for place in where[path]]
    values = [place.value for _, place in places]
    if not values:
        return False
    new_values, wrong = made(told(values))
    for (row, place), old, new, refused in zip(places, values, new_values.to_pylist(), wrong.tolist(), strict=True):
        if refused:
            found[row] = f", for what is at {path},"
        place.put(put(old, new))
    return True


def _put(masks: Sequence[Mask]) -> Callable[[Any, Any], Any]:
    """Return what stands in the place of a value that masks have changed; as it was written only where nothing was asked of them."""
    if all(mask.component_name() == "keep" for mask in masks):
        return lambda old, new: old if new is not None else None
    return partial(_as_kind, is_undone(masks))


def _as_kind(exactly: bool, old: Any, new: Any) -> Any:
    """Return what a mask has made of a value as a number or a truth value, where it was one and still is.

    One that is to be undone is written ``exactly`` as it was made: as a text where other programs would write the number in another way. It is never
    written as it stood there: 1200.00 among numbers rounded to 1200 would be a value that was so before.
    """
    if isinstance(old, str) or not isinstance(new, str):
        return new
    value = scalar_as_written(new)
    return new if value is None or (exactly and isinstance(value, WrittenNumber)) else value


def _as_it_was(tells_type: bool, old: Any, new: str | None) -> Any:
    """Return what a value was before it was masked, as a number or a truth value where what stands in its place says that it was one."""
    if new is None or isinstance(old, str) or not tells_type:
        return new
    value = scalar_as_written(new)
    return new if value is None else value


def _tells_type(masks: Sequence[Mask]) -> bool:
    """Return whether what masks make of a number is one, and what they make of a text is none."""
    return bool(MaskedColumn("", masks).output_type(pa.string()) == pa.string())


def _told(documents: Sequence[_Document | None], found: Sequence[Any]) -> pa.Array:
    told = [None if isinstance(where, str) else _text(document) for document, where in zip(documents, found, strict=True)]
    return pa.array(told, pa.string())


def _text(document: _Document | None) -> str | None:
    try:
        return json_text(document)
    except (RecursionError, ValueError):
        # a mask has made a number that JSON does not have
        return None


def _written(values: Sequence[Any]) -> pa.Array:
    """Return values as the texts that stand in documents."""
    return pa.array(_texts(values), pa.string())


def _known(values: Sequence[Any]) -> pa.Array:
    """Return values as the texts by which they are known everywhere: 5.0 is 5. No digit is lost."""
    texts = _texts(values)
    fractions = _fractions(values)
    known = value_text(pa.array([texts[place] for place in fractions], pa.string()), "decimal").to_pylist()
    for place, text in zip(fractions, known, strict=True):
        # one whose exponent has more than three digits is known as it is written
        texts[place] = texts[place] if text is None else text
    return pa.array(texts, pa.string())


def _with_decimals(values: Sequence[Any]) -> pa.Array:
    """Return values as texts, numbers with as many decimals as they are written with.

    >>> _with_decimals([5.0, WrittenNumber("5.10"), WrittenNumber("1E2"), "a", None]).to_pylist()
    ['5.0', '5.10', '100', 'a', None]
    """
    texts = _texts(values)
    for place in _fractions(values):
        digits = Decimal(texts[place] or "")
        # what is longer has more digits than any mask can count with
        texts[place] = f"{digits:f}" if abs(digits.adjusted()) <= _MOST_PLACES else texts[place]
    return pa.array(texts, pa.string())


def _of_type(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Return numbers in the type that they had before they were text in JSON; as texts where another path has changed them."""
    try:
        return pa.array([json.loads(value.text) if isinstance(value, WrittenNumber) else value for value in values], kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return _with_decimals(values)


def _texts(values: Sequence[Any]) -> list[str | None]:
    return [value if value is None or isinstance(value, str) else json_text(value) for value in values]


def _fractions(values: Sequence[Any]) -> list[int]:
    return [place for place, value in enumerate(values) if isinstance(value, float | WrittenNumber)]


def _operations(path: str, given: Any, context: Any, mistakes: _Mistakes) -> tuple[Mask, ...]:
    """Return the masks of a path; what is wrong with them goes to the mistakes."""
    try:
        steps_of(path)
    except ValueError as error:
        mistakes.append(((path,), Mistake("", str(error), code="policy-value")))
    several = isinstance(given, list | tuple)
    found = [_operation((path, place) if several else (path,), one, context, mistakes) for place, one in enumerate(given if several else [given])]
    if not found:
        mistakes.append(((path,), Mistake("", "needs an operation", code="policy-value", hint="keep, if the values may be seen")))
    return tuple(mask for mask in found if mask is not None)


def _operation(key: Key, given: Any, context: Any, mistakes: _Mistakes) -> Mask | None:
    if isinstance(given, str):
        given = {given: {}}
    if isinstance(given, Mask):
        name, mask = given.component_name(), given
    elif not isinstance(given, dict) or len(given) != 1 or not isinstance(next(iter(given)), str):
        mistakes.append((key, Mistake("", "must be an operation: a name, or {name: {settings}}", code="policy-value", hint="constant, for instance")))
        return None
    else:
        ((name, settings),) = given.items()
        try:
            kind = find("masking", name)
            mask = kind.model_validate({} if settings is None else settings, context=context)
        except UsageError as error:
            mistakes.append(((*key, name), Mistake("", error.message, code="component-unknown", hint=error.hint)))
            return None
        except ValidationError as error:
            mistakes += [((*key, name, *inner), mistake) for inner, mistake in placed_mistakes(error, kind)]
            return None
    words = _unfit(mask)
    if words is not None:
        mistakes.append(((*key, name), Mistake("", words[0], code="policy-value", hint=words[1])))
    return mask


def _unfit(mask: Mask) -> tuple[str, str] | None:
    """Return why a mask cannot stand at a path, and what to try; None where it can."""
    if mask.card.scope != "value" or mask.reads:
        return "looks at more than one value, and a path leads to one", "an operation of scope value: sfumato components --kind masking --table"
    if isinstance(mask, Operation) and mask.needs_ladder:
        return "shows a level of a hierarchy, and a value within a document has none", "map_values, or generalise with other settings"
    if mask.component_name() == "drop":
        return "removes a whole column", "empty, or others: remove and no path"
    return None


def _leads(path: str, leaf: Leaf) -> bool:
    return leads_to(steps_of(path), steps_of(leaf.path)) if leaf.path != "$" else False


def _listed(leaves: Sequence[Leaf]) -> str:
    paths = [leaf.path for leaf in leaves]
    return ", ".join(paths) if len(paths) <= _FEW else f"{', '.join(paths[:_FEW])} and {len(paths) - _FEW} more"


def _parsed(text: str | None) -> _Document | None:
    try:
        document = document_as_written(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict | list) else None


def _is_open(place: Place, named: Set[tuple[int, Any]]) -> bool:
    """Return whether at a place, or within what stands there, is a value that no path names."""
    within = _leaves(place.value) if isinstance(place.value, dict | list) else [place]
    return any(each.value is not None and (id(each.holder), each.step) not in named for each in within)


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
