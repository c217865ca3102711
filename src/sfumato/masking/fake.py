"""Fake: every value becomes a made-up one of its kind: a name, an address, an account.

The values are those of faker, which ``sfumato[masking]`` brings along. Accounts and cards have right check digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from sfumato.core.by_chance import ByChance
from sfumato.core.canonical import ValueType
from sfumato.core.draws import below
from sfumato.core.mask import NOTHING, Card, MaskContext
from sfumato.core.value_bytes import value_text
from sfumato.errors import nearest
from sfumato.masking._fake_pools import PERSON, is_known, locales, pool, refuse_missing_library

Kind = Literal[
    "name",
    "first_name",
    "last_name",
    "email",
    "user_name",
    "street_address",
    "city",
    "postcode",
    "country",
    "company",
    "job",
    "phone_number",
    "iban",
    "credit_card",
    "ssn",
    "license_plate",
    "ipv4",
    "ipv6",
    "mac_address",
]
_MAYBE_NUMBERS = frozenset(("postcode", "phone_number", "credit_card", "ssn", "license_plate"))


class Fake(ByChance):
    """Replaces every value by one of up to 10,000 made-up ones, so that fakes repeat; some may, by chance, be somebody's.

    With a ``key`` the same value always becomes the same fake, with the same version of faker. With ``by`` as well, the values of these columns
    decide instead: name, first name, last name, e-mail address and user name that are masked ``by`` the same columns under the same key are those of
    one made-up person; street, town, postcode and country those of one place, whose country is the locale's, by its name there. Towns and postcodes
    are not matched by any directory.

    Names are of the locale's language; streets, towns, postcodes, phone numbers, numbers of people (``ssn``) and cars have the form that faker knows
    for its country. Where it knows none they are refused, for they would be American; companies and jobs are English there. Accounts (``iban``) are
    British where a country has none of their kind, as the United States. E-mail addresses and user names follow from the name, at example.org and
    the like. Names in other scripts are in Latin letters there, letter by letter: Arabic and Hebrew ones lack their vowels, and a Chinese character
    has one reading.

    Missing values stay missing unless the policy says ``on_null: generate``; under a key they all become the same. Cost: a second to make the values,
    then 60 nanoseconds a value, two microseconds under a key.

    >>> from sfumato.core.mask import MaskContext
    >>> mail = pa.RecordBatch.from_pydict({"mail": ["ada@lovelace.uk"]})
    >>> Fake(kind="email").apply(mail, MaskContext("mail"))[0].as_py().split("@")[1].split(".")[0]
    'example'
    """

    kind: Annotated[Kind, Field(description=f"what the values are: {', '.join(get_args(Kind))}")]
    locale: Annotated[str, Field(description="language and country, such as de_DE")] = "en_US"
    by: Annotated[list[str] | None, Field(min_length=1, description="the columns whose values decide, in place of the column's own")] = None

    @field_validator("locale")
    @classmethod
    def _known(cls, value: str) -> str:
        refuse_missing_library()
        if value not in locales():
            alike = [known for known in locales() if known[:2] == value[:2].lower()]
            raise ValueError(f"is no locale that faker knows; try {nearest(value, alike) or ', '.join(alike[:5]) or 'en_US'}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Fake:
        refuse_missing_library()
        if self.by is not None and self.key is None:
            raise ValueError("takes by only with a key: what belongs together would be picked by chance")
        if not is_known(self.kind, self.locale, self.by is not None):
            raise ValueError(f"finds no {self.kind} in the locale {self.locale}; {self._known_elsewhere}")
        return self

    @property
    def _known_elsewhere(self) -> str:
        language = self.locale.split("_")[0]
        alike = (other for other in locales() if other.split("_")[0] == language and self.kind in PERSON and is_known(self.kind, other))
        found = next(alike, None)
        return "another locale, or another kind" if found is None else f"{found} has some of the language"

    @property
    def card(self) -> Card:
        """What it does; without a key chance decides."""
        return Card(
            deterministic=self.key is not None,
            # under a key few values meet: rows of one person would be seen to be
            uniqueness="lossy" if self.key is None else "not guaranteed",
            changes_type=True,
            scope="value" if self.by is None else "row",
            generates=True,
            keyed=self.key is not None,
            reveals=NOTHING if self.key is None else "Which rows have the same value, but for the few that share a fake; fakes repeat.",
        )

    @property
    def makes(self) -> ValueType | None:
        """Text, unless values of the kind may be written with digits alone: those are numbers to an operation after it."""
        return None if self.kind in _MAYBE_NUMBERS else "text"

    @property
    def decided_by(self) -> Sequence[str]:
        """What it reads decides."""
        return self.reads

    @property
    def reads(self) -> Sequence[str]:
        """The columns whose values decide."""
        return tuple(self.by or ())

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return a made-up value for every row."""
        made = pool(self.kind, self.locale, self.by is not None)
        kinds = {context.column: context.kind} if self.by is None else {name: context.kinds.get(name) for name in self.by}
        texts = [value_text(columns.column(name), kind) for name, kind in kinds.items()]
        drawn = self.drawn(_joined(texts), MaskContext(context.column, context.view, context.keys))
        found = made.take(pa.array(below(drawn[:, 0], len(made))))
        for name, kind in kinds.items():
            found = self.of_type(found, columns.column(name), kind)
        return found


def _joined(texts: Sequence[pa.Array]) -> pa.Array:
    """Return one text for those of several columns, different where one of them is; missing where one is missing."""
    if len(texts) == 1:
        return texts[0]
    lengths = [pc.cast(pc.binary_length(text), pa.string()) for text in texts]
    parts = [part for length, text in zip(lengths, texts, strict=True) for part in (length, pa.scalar(":"), text)]
    return pc.binary_join_element_wise(*parts, "")
