"""Redact: what identifies people within free text is replaced; the rest of the text stays."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from sfumato.core import known_names
from sfumato.core.canonical import as_text
from sfumato.core.condition import refuse_no_expression
from sfumato.core.entities import KINDS, Entity, Kind, entities_in
from sfumato.core.files import PolicyPath
from sfumato.core.json_strings import may_have_escapes, pieces_of, put_together
from sfumato.core.known_names import KnownNames
from sfumato.core.layers import layered
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.policy_files import lines_of
from sfumato.errors import DataError, suggestion
from sfumato.masking._name_model import NAMED_KINDS, NamedKind, names_in, refuse_missing_model
from sfumato.masking._pattern_matches import matches_in

Way = Literal["tag", "stars", "pseudonym", "keep"]
AnyKind = Literal[Kind, NamedKind]

_OTHERS = "others"
# two of a billion values share one with a chance of one in 37
_PSEUDONYM_DIGITS = 16


def _model_path(model: str, info: ValidationInfo) -> str:
    """Return the path of a model relative to the policy's folder; a name without a slash is that of an installed one."""
    folder = info.context.get("folder") if isinstance(info.context, dict) else None
    return f"{folder}/{model}" if folder and "/" in model and not model.startswith("/") else model


class Redact(Operation):
    """Replaces e-mail addresses, telephone and card numbers, accounts, web and network addresses, dates and more, found by patterns and checksums.

    Names of people and places are found only where something says what they are: ``words`` that are known, ``columns`` of the same row whose
    values must not occur in the text, such as the patient's name, or a ``model`` of spaCy, which misses some. Text that may hold other names is not
    anonymous after this. ``replace`` says what stands in place of an entity: a tag (``<EMAIL>``), stars, with a key a tag with a pseudonym, the same
    for the same writing, or the entity itself (``keep``). ``patterns`` are regular expressions of RE2 for what else there is.

    >>> from sfumato.core.mask import MaskContext
    >>> notes = pa.RecordBatch.from_pydict({"note": ["Ana Silva, ana@example.org, seen 3 March 2020"], "name": ["Ana Silva"]})
    >>> Redact(columns=["name"], replace={"date": "keep"}).apply(notes, MaskContext("note")).to_pylist()
    ['<NAME>, <EMAIL>, seen 3 March 2020']
    """

    kinds: Annotated[
        list[AnyKind] | None,
        Field(
            min_length=1, description=f"what is looked for: {', '.join(KINDS)}; with a model also {', '.join(NAMED_KINDS)}; all where it is not given"
        ),
    ] = None
    keep: Annotated[list[AnyKind], Field(description="kinds that are left as they are")] = []
    replace: Annotated[
        Way | dict[str, Way],
        Field(description="what stands in place of what was found: tag, stars, pseudonym, keep; or one of these for each kind, and for `others`"),
    ] = "tag"
    patterns: Annotated[dict[str, str], Field(description="further expressions, by the name of the tag that replaces what they find")] = {}
    words: Annotated[list[str], Field(description="names and other words that are replaced wherever they stand, by the tag `<NAME>`")] = []
    words_path: Annotated[PolicyPath | None, Field(min_length=1, description="a file with one such word or name a line")] = None
    columns: Annotated[
        list[str], Field(description="columns whose values, and their parts, are replaced where they stand in the text of their row")
    ] = []
    model: Annotated[
        str | None,
        AfterValidator(_model_path),
        Field(min_length=1, description="an installed model of spaCy that finds names, such as `en_core_web_sm`, or a path with a slash to one"),
    ] = None
    key: Annotated[str | None, Field(description="the key of pseudonyms")] = None
    domain: Annotated[str | None, Field(description="the pseudonym domain; the view's own where it is not given")] = None

    @field_validator("patterns")
    @classmethod
    def _are_expressions(cls, value: dict[str, str]) -> dict[str, str]:
        for name, pattern in value.items():
            if not name.strip():
                raise ValueError("needs a name for each expression, which is that of its tag")
            refuse_no_expression(pattern)
        return value

    @field_validator("words")
    @classmethod
    def _are_words(cls, value: list[str]) -> list[str]:
        if len(KnownNames.of_words(value).phrases) == 0 < len(value) or not all(KnownNames.of_words([word]).phrases for word in value):
            raise ValueError("needs words with letters or digits")
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> Redact:
        ways = {self.replace} if isinstance(self.replace, str) else set(self.replace.values())
        if ("pseudonym" in ways) != (self.key is not None):
            raise ValueError("needs a key with replace: pseudonym, and only with it")
        for kind in (*(self.kinds or ()), *self.keep):
            if kind in NAMED_KINDS and self.model is None:
                raise ValueError(f"finds the kind {kind} only with a model")
        known = [*KINDS, *NAMED_KINDS, known_names.KIND, *self.patterns, _OTHERS]
        for kind in self.replace if isinstance(self.replace, dict) else ():
            if kind not in known:
                raise ValueError(f"replace: {kind} is no kind of entity; try {suggestion(kind, known)}")
        return self

    @property
    def card(self) -> Card:
        """What it does; with columns it looks at the rest of the row."""
        return Card(
            deterministic=True,
            uniqueness="not guaranteed",
            changes_type=True,
            scope="row" if self.columns else "value",
            types=("text",),
            reveals=f"Everything in the text that is not found, {self._missed}{'; which entities are alike' if self.key is not None else ''}.",
        )

    @property
    def _missed(self) -> str:
        if self.model is not None:
            return "the names that the model misses among it"
        return "names of people above all" if not self._has_names else "all names that are not given above all"

    @property
    def _has_names(self) -> bool:
        return bool(self.words or self.words_path or self.columns)

    @property
    def reads(self) -> Sequence[str]:
        """The columns whose values are taken out of the text."""
        return tuple(self.columns)

    @property
    def keys(self) -> Sequence[str]:
        """The key of pseudonyms."""
        return (self.key,) if self.key is not None else ()

    @property
    def warnings(self) -> Sequence[str]:
        """What is not found."""
        if self.model is not None:
            return ["a model misses some names of people and places in free text"]
        if self._has_names:
            return ["names of people and places in free text are found only where words or columns give them"]
        return ["names of people and places in free text are not found by patterns"]

    def read_files(self) -> None:
        """Read the words, and look for the model, so that what is wrong with them is told with the policy."""
        _ = self._words
        if self.model is not None:
            refuse_missing_model(self.model, None if self.kinds is None else self._named_kinds)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the texts with what was found replaced; null for one that is too long for the model."""
        secret = context.key(self.key, self.domain) if self.key is not None else b""
        people = [as_text(columns.column(name)) for name in self.columns]
        return self._redacted(as_text(columns.column(context.column)), people, secret)

    def _redacted(self, texts: pa.Array, people: Sequence[pa.Array], secret: bytes) -> pa.Array:
        """Return texts with what was found replaced, ``people`` in their own; of documents of JSON with escapes each string as it reads."""
        read = {row: pieces_of(text) for row, text in enumerate(texts.to_pylist()) if text and "\\" in text} if may_have_escapes(texts) else {}
        documents = {row: pieces for row, pieces in read.items() if pieces is not None}
        if not documents:
            return self._replaced_in(texts, self._layers(texts, people), secret)
        rows = pa.array([row for row, pieces in documents.items() for _ in pieces])
        strings = pa.array([piece for pieces in documents.values() for piece in pieces], pa.string())
        made = iter(self._redacted(strings, [names.take(rows) for names in people], secret).to_pylist())
        shown = texts.to_pylist()
        for row, pieces in documents.items():
            parts = [next(made) for _ in pieces]
            shown[row] = None if None in parts else put_together(shown[row], parts)
        others = np.ones(len(texts), bool)
        others[list(documents)] = False
        plain = texts.filter(pa.array(others))
        plain = self._replaced_in(plain, self._layers(plain, [names.filter(pa.array(others)) for names in people]), secret)
        whole = pa.array(shown, pa.string())
        # expressions of the policy may go over several strings, and what stands between them
        wide = [
            {row: [each for each in found if '"' in shown[row][each.begin : each.end]] for row, found in layer.items()}
            for layer in self._of_patterns(whole)
        ]
        return pc.replace_with_mask(self._replaced_in(whole, (wide, set()), secret), pa.array(others), plain)

    def _replaced_in(self, texts: pa.Array, found: tuple[Sequence[Mapping[int, Sequence[Entity]]], set[int]], secret: bytes) -> pa.Array:
        layers, unreadable = found
        rows = sorted(set().union(unreadable, *layers))
        shown = texts.take(pa.array(rows, pa.int64())).to_pylist()
        made = [
            None if row in unreadable else self._replaced(text, layered(text, [layer.get(row, ()) for layer in layers]), secret)
            for row, text in zip(rows, shown, strict=True)
        ]
        changed = np.zeros(len(texts), bool)
        changed[rows] = True
        return pc.replace_with_mask(texts, pa.array(changed), pa.array(made, pa.string()))

    @property
    def _named_kinds(self) -> list[NamedKind]:
        return [kind for kind in NAMED_KINDS if self.kinds is None or kind in self.kinds]

    @cached_property
    def _words(self) -> KnownNames:
        """The words that are known; a file is read once, so that all rows see the same."""
        lines = lines_of(self.words_path, self._broken) if self.words_path is not None else []
        if self.words_path is not None and not any(KnownNames.of_words([line]).phrases for line in lines):
            raise self._broken("", "has no words", "write one word or name a line")
        return KnownNames.of_words([*self.words, *lines])

    def _broken(self, place: str, what: str, hint: str) -> DataError:
        return DataError(f"list of words {self.words_path}{place} {what}", code="mask-file", hint=hint)

    def _way(self, kind: str) -> Way:
        if kind in self.keep:
            return "keep"
        return self.replace if isinstance(self.replace, str) else self.replace.get(kind, self.replace.get(_OTHERS, "tag"))

    def _of_patterns(self, texts: pa.Array) -> list[Mapping[int, Sequence[Entity]]]:
        found = [
            {row: [Entity(*span, name) for span in spans] for row, spans in matches_in(texts, pattern).items()}
            for name, pattern in self.patterns.items()
        ]
        return [self._without_kept(layer) for layer in found]

    def _layers(self, texts: pa.Array, people: Sequence[pa.Array]) -> tuple[list[Mapping[int, Sequence[Entity]]], set[int]]:
        """Return what each finder finds by row, without what is kept, the surest first; and the rows that one of them cannot take."""
        layers = self._of_patterns(texts)
        # kinds that are kept are looked for too: a date that stays is not to be taken for a telephone number; but for that in which others stand
        sought = [kind for kind in KINDS if self.kinds is None or kind in self.kinds or kind in self.keep]
        kept = [kind for kind in sought if self._way(kind) == "keep"]
        layers += [entities_in(texts, [kind for kind in sought if kind not in kept or kind != "url"], kept)]
        unreadable: set[int] = set()
        if self._has_names or self.model is not None:
            shown = texts.to_pylist()
            layers += [self._of_row(shown, people), self._of_words(shown)]
        if self.model is not None:
            found = names_in([text or "" for text in shown], self.model, self._named_kinds)
            layers += [{row: names for row, names in enumerate(found) if names}]
            unreadable = {row for row, names in enumerate(found) if names is None}
        return [self._without_kept(layer) for layer in layers], unreadable

    def _without_kept(self, layer: Mapping[int, Sequence[Entity]]) -> Mapping[int, Sequence[Entity]]:
        replaced = {row: [entity for entity in entities if self._way(entity.kind) != "keep"] for row, entities in layer.items()}
        return {row: entities for row, entities in replaced.items() if entities}

    def _of_row(self, texts: Sequence[str | None], people: Sequence[pa.Array]) -> dict[int, list[Entity]]:
        """Return where values of the row's other columns stand."""
        rows = zip(*(names.to_pylist() for names in people), strict=True)
        # the strings of one document are all of one person
        known = lru_cache(16)(lambda values: KnownNames.of_person(filter(None, values)))
        found = {row: known(values).found_in(texts[row] or "") for row, values in enumerate(rows)}
        return {row: names for row, names in found.items() if names}

    def _of_words(self, texts: Sequence[str | None]) -> dict[int, list[Entity]]:
        """Return where words stand that are known."""
        found = {row: self._words.found_in(text or "") for row, text in enumerate(texts)} if self._words.phrases else {}
        return {row: names for row, names in found.items() if names}

    def _replaced(self, text: str, entities: Sequence[Entity], secret: bytes) -> str:
        parts, end = [], 0
        for entity in entities:
            parts += [text[end : entity.begin], self._instead(text[entity.begin : entity.end], entity.kind, secret)]
            end = entity.end
        return "".join([*parts, text[end:]])

    def _instead(self, value: str, kind: str, secret: bytes) -> str:
        way = self._way(kind)
        if way == "stars":
            return "***"
        if way == "tag":
            return f"<{kind.upper()}>"
        return f"<{kind.upper()}_{hmac.digest(secret, value.encode(), 'sha256').hex()[:_PSEUDONYM_DIGITS]}>"
