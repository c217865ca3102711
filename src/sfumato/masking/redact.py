"""Redact: what identifies people within free text is replaced; the rest of the text stays."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from sfumato.core.canonical import as_text
from sfumato.core.condition import refuse_no_expression
from sfumato.core.entities import KINDS, Entity, Kind, entities_in
from sfumato.core.mask import Card, MaskContext, Operation

_SHORT = 8


class Redact(Operation):
    """Replaces e-mail addresses, telephone and card numbers, accounts, web and network addresses, dates and more, found by patterns and checksums.

    Names of people and places are not found: that needs a model, and text that may hold them is not anonymous after this. ``replace`` says what
    stands in place of an entity: a tag (``<EMAIL>``), stars, or with a key a tag with a pseudonym, the same for the same value. ``patterns`` are
    regular expressions of RE2 for what else there is; what they find becomes a tag.
    """

    kinds: Annotated[list[Kind], Field(min_length=1, description=f"what is looked for: {', '.join(KINDS)}; all where it is not given")] = list(KINDS)
    keep: Annotated[list[Kind], Field(description="kinds that are left as they are")] = []
    replace: Annotated[Literal["tag", "stars", "pseudonym"], Field(description="what stands in place of what was found")] = "tag"
    patterns: Annotated[dict[str, str], Field(description="further expressions, by the name of the tag that replaces what they find")] = {}
    key: Annotated[str | None, Field(description="the key of pseudonyms")] = None
    domain: Annotated[str | None, Field(description="the pseudonym domain; the view's own where it is not given")] = None

    @field_validator("patterns")
    @classmethod
    def _are_expressions(cls, value: dict[str, str]) -> dict[str, str]:
        for pattern in value.values():
            refuse_no_expression(pattern)
        return value

    @model_validator(mode="after")
    def _has_its_key(self) -> Redact:
        if (self.replace == "pseudonym") != (self.key is not None):
            raise ValueError("needs a key with replace: pseudonym, and only with it")
        return self

    @property
    def card(self) -> Card:
        """What it does, whatever the settings."""
        return Card(
            deterministic=True,
            reversible=False,
            uniqueness="not guaranteed",
            changes_type=True,
            nulls="kept",
            scope="value",
            types=("text",),
            reveals="Everything in the text that its patterns do not find, names of people above all.",
        )

    @property
    def keys(self) -> Sequence[str]:
        """The key of pseudonyms."""
        return (self.key,) if self.key is not None else ()

    @property
    def warnings(self) -> Sequence[str]:
        """What is not found."""
        return ["names of people and places in free text are not found by patterns"]

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the texts with what was found replaced."""
        texts = as_text(columns.column(context.column)).to_pylist()
        kinds = [kind for kind in self.kinds if kind not in self.keep]
        secret = context.key(self.key, self.domain) if self.key is not None else b""
        found = entities_in([text or "" for text in texts], kinds)
        made = [text if text is None else self._replaced(text, entities, secret) for text, entities in zip(texts, found, strict=True)]
        column = pa.array(made, pa.string())
        for name, pattern in self.patterns.items():
            column = pc.replace_substring_regex(column, pattern, f"<{name.upper()}>".replace("\\", "\\\\"))
        return column

    def _replaced(self, text: str, entities: Sequence[Entity], secret: bytes) -> str:
        parts, end = [], 0
        for entity in entities:
            parts += [text[end : entity.begin], self._instead(text[entity.begin : entity.end], entity.kind, secret)]
            end = entity.end
        return "".join([*parts, text[end:]])

    def _instead(self, value: str, kind: str, secret: bytes) -> str:
        if self.replace == "stars":
            return "***"
        if self.replace == "tag":
            return f"<{kind.upper()}>"
        return f"<{kind.upper()}_{hmac.digest(secret, value.encode(), 'sha256').hex()[:_SHORT]}>"
