"""Conditions on a row: what must be true of its values for a mask to be applied.

A missing value equals nothing, matches nothing and is neither above nor below anything; only ``missing: true`` is true of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from sfumato.core import canonical
from sfumato.core.policy_bounds import time_as_text
from sfumato.core.settings import Settings
from sfumato.errors import DataError, have

Value = Annotated[str | bool | int | float, BeforeValidator(time_as_text)]
Bound = Annotated[str | int | float, BeforeValidator(time_as_text)]
_TESTS = ("equals", "one_of", "matches", "at_least", "at_most", "above", "below", "missing")
_TOLD_APART = 1 << 53
_IN_WORDS = {
    "equals": "",
    "one_of": "one of ",
    "at_least": "at least ",
    "at_most": "at most ",
    "above": "above ",
    "below": "below ",
    "missing": "",
    "matches": "",
}
_COMPARISONS = {"at_least": pc.greater_equal, "at_most": pc.less_equal, "above": pc.greater, "below": pc.less}

# a backslash with what it stands before, or with all that it quotes
_ESCAPED = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


class Condition(Settings):
    """A test of one column, several of which must all hold; or ``and``, ``or``, ``not`` over other conditions.

    >>> batch = pa.RecordBatch.from_pydict({"ward": ["A", "B", None], "age": ["17", "18", "70"]})
    >>> Condition(column="age", at_least=18).holds(batch).tolist()
    [False, True, True]
    >>> Condition.model_validate({"not": {"column": "ward", "equals": "A"}}).holds(batch).tolist()
    [False, True, True]
    """

    column: Annotated[str | None, Field(description="the column that is looked at")] = None
    equals: Annotated[Value | None, Field(description="the value that it has")] = None
    one_of: Annotated[list[Value] | None, Field(min_length=1, description="the values of which it has one")] = None
    matches: Annotated[str | None, Field(description="the regular expression that is found in it")] = None
    at_least: Annotated[Bound | None, Field(description="the smallest number, date or instant for which it holds")] = None
    at_most: Annotated[Bound | None, Field(description="the largest number, date or instant for which it holds")] = None
    above: Annotated[Bound | None, Field(description="what it is larger than")] = None
    below: Annotated[Bound | None, Field(description="what it is smaller than")] = None
    missing: Annotated[bool | None, Field(description="whether there is no value")] = None
    and_: Annotated[list[Condition] | None, Field(alias="and", min_length=1, description="all of these hold")] = None
    or_: Annotated[list[Condition] | None, Field(alias="or", min_length=1, description="one of these holds")] = None
    not_: Annotated[Condition | None, Field(alias="not", description="this does not hold")] = None

    @field_validator("matches")
    @classmethod
    def _is_expression(cls, value: str | None) -> str | None:
        if value is not None:
            refuse_no_expression(value)
        return value

    @field_validator("at_least", "at_most", "above", "below")
    @classmethod
    def _is_bound(cls, value: Bound | None) -> Bound | None:
        if isinstance(value, str) and not pa.types.is_temporal(_bound(value).type):
            raise ValueError("needs a number, a date such as 2020-01-31 or an instant such as 2020-01-31T12:30:00Z")
        return value

    @model_validator(mode="after")
    def _one_thing(self) -> Condition:
        tests = [name for name in _TESTS if getattr(self, name) is not None]
        joined = [name for name in ("and_", "or_", "not_") if getattr(self, name) is not None]
        if joined and (len(joined) > 1 or tests or self.column is not None):
            raise ValueError("says either something of a column, or one of and, or, not over other conditions")
        if not joined and (self.column is None or not tests):
            raise ValueError(f"needs a column and one of {', '.join(_TESTS)}; or and, or, not over other conditions")
        return self

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns it looks at."""
        return tuple(dict.fromkeys(self._columns()))

    @property
    def weighs(self) -> frozenset[str]:
        """The columns of which it asks more than whether there is a value."""
        own = [self.column] if self.column is not None and any(getattr(self, name) is not None for name in _TESTS if name != "missing") else []
        return frozenset(own).union(*(inner.weighs for inner in self._inner))

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """The columns it compares with texts, each with one."""
        for value in (self.equals, *(self.one_of or ())):
            if self.column is not None and isinstance(value, str):
                yield self.column, value
        for inner in self._inner:
            yield from inner.texts

    def _columns(self) -> Iterator[str]:
        if self.column is not None:
            yield self.column
        for inner in self._inner:
            yield from inner.reads

    @property
    def _inner(self) -> list[Condition]:
        return [*(self.and_ or []), *(self.or_ or []), *([self.not_] if self.not_ else [])]

    def words(self) -> str:
        """Return it as a sentence says it.

        >>> Condition.model_validate({"or": [{"column": "age", "at_least": 18, "below": 65}, {"not": {"column": "ward", "missing": True}}]}).words()
        '(age is at least 18 and below 65) or not (ward is missing)'
        """
        if self.not_ is not None:
            return f"not ({self.not_.words()})"
        joined = [(self.and_, " and "), (self.or_, " or ")]
        for inner, between in joined:
            if inner:
                return between.join(each.words() if each.not_ or len(inner) == 1 else f"({each.words()})" for each in inner)
        return f"{self.column} {' and '.join(self._tests())}"

    def _tests(self) -> Iterator[str]:
        verb = "is "
        for name, between in _IN_WORDS.items():
            value = getattr(self, name)
            if value is None:
                continue
            if name == "missing":
                yield f"{verb}missing" if value else f"{verb}not missing"
            elif name == "matches":
                yield f"matches {value}"
            else:
                shown = ", ".join(map(_shown, value)) if isinstance(value, list) else _shown(value)
                yield f"{verb}{between}{shown}"
            verb = "" if name != "matches" else verb

    def holds(self, columns: pa.RecordBatch) -> NDArray[np.bool_]:
        """Return for each row whether it holds."""
        if self.and_:
            return _all([inner.holds(columns) for inner in self.and_])
        if self.or_:
            return ~_all([~inner.holds(columns) for inner in self.or_])
        if self.not_ is not None:
            return ~self.not_.holds(columns)
        values = columns.column(self.column)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return _all(list(self._tested(values)))

    def _tested(self, values: pa.Array) -> Iterator[NDArray[np.bool_]]:
        if self.missing is not None:
            yield values.is_null().to_numpy(zero_copy_only=False) == self.missing
        if self.matches is not None:
            yield _truths(pc.match_substring_regex(_as_written(values), self.matches))
        wanted = [self.equals] if self.equals is not None else self.one_of
        if wanted is not None:
            yield ~_all([~_equal(values, value) for value in wanted])
        for name, compare in _COMPARISONS.items():
            if getattr(self, name) is not None:
                bound = _bound(getattr(self, name))
                placed = _in_type(values, bound.type)
                self._refuse_unplaced(values, placed)
                yield _truths(compare(placed, bound))

    def _refuse_unplaced(self, values: pa.Array, placed: pa.Array) -> None:
        """Refuse values that are there and cannot be compared: a mask must not miss them because of how they are written."""
        unplaced = placed.null_count - values.null_count
        if unplaced:
            raise DataError(
                f"a condition compares column {self.column}, and {have(unplaced, 'row')} a value that is no number or date here",
                code="mask-condition",
                hint=f"matches in place of the comparison, or formats: {{{self.column}: ...}}",
            )


def refuse_no_expression(text: str) -> None:
    """Raise a ValueError where a text is no regular expression of RE2, which knows no backtracking and never takes long.

    Nor may it find single bytes, which would cut characters in two.
    """
    if any(part == "\\C" for part in _ESCAPED.findall(text)):
        raise ValueError("finds single bytes by \\C, which are no characters; a dot finds a character")
    try:
        pc.match_substring_regex(pa.array([""]), text)
    except pa.ArrowInvalid as error:
        if "repetition size" in str(error) or "too large" in str(error):
            raise ValueError("is too large for RE2, which repeats a part 1000 times at most, repetitions within each other multiplied") from None
        raise ValueError("is no regular expression of RE2; look-ahead, look-behind and back references are not known there") from None


def _shown(value: Value) -> str:
    """Return a value of the policy as a policy writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value) if value != "" else "''"


def _all(found: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    together: NDArray[np.bool_] = np.logical_and.reduce(found)
    return together


def _truths(found: pa.Array) -> NDArray[np.bool_]:
    truths: NDArray[np.bool_] = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return truths


def _equal(values: pa.Array, wanted: Value) -> NDArray[np.bool_]:
    if isinstance(wanted, bool):
        return _truths(pc.equal(pc.utf8_lower(canonical.as_text(values)), str(wanted).lower()))
    if isinstance(wanted, str):
        return _truths(pc.equal(_as_written(values), wanted)) | _same_otherwise(values, wanted)
    bound = _bound(wanted)
    near = _truths(pc.equal(_in_type(values, bound.type), bound))
    if isinstance(wanted, float) or abs(wanted) < _TOLD_APART or pa.types.is_floating(values.type):
        return near
    # beyond this a float does not tell whole numbers apart
    return _truths(pc.equal(pc.replace_substring_regex(canonical.as_text(values), r"\.0+$", ""), str(wanted)))


def has_other_writings(wanted: str) -> bool:
    """Return whether a value may be the same and be written otherwise: a day, an instant or an address.

    >>> [has_other_writings(text) for text in ("2020-01-31", "2020-01-31T12:30:00Z", "10.0.0.1", "Ward A")]
    [True, True, True, False]
    """
    return bool(pa.types.is_temporal(_bound(wanted).type) or _address(wanted).is_valid)


def means_the_same(one: str, other: str) -> bool:
    """Return whether two texts are one, or one moment in two writings, so that a condition holds of the same values with either.

    >>> means_the_same("1999-12-31T11:30:00", "1999-12-31 11:30"), means_the_same("0.5", "0.50")
    (True, False)
    """
    bounds = [_bound(text) for text in (one, other)]
    return one == other or (all(pa.types.is_temporal(bound.type) for bound in bounds) and bounds[0] == bounds[1])


def _address(wanted: str) -> Any:
    return canonical.parse(pa.array([wanted]), "ip")[0]


def _same_otherwise(values: pa.Array, wanted: str) -> NDArray[np.bool_]:
    """Return where a value is the same moment or address in another writing: a mask must not miss it because of how it is written."""
    bound = _bound(wanted)
    if pa.types.is_temporal(bound.type):
        return _truths(pc.equal(_in_type(values, bound.type), bound))
    address = _address(wanted)
    if not address.is_valid:
        return np.zeros(len(values), bool)
    texts = canonical.as_text(values).dictionary_encode()
    same = pc.equal(canonical.parse(texts.dictionary, "ip"), address)
    return _truths(same.take(texts.indices))


def _as_written(values: pa.Array) -> pa.Array:
    """Return the text that conditions look at: times of day as policies write them, whatever their unit is."""
    text = canonical.as_text(values)
    return pc.replace_substring_regex(text, r"\.?0+$", "") if _has_fraction(values.type) else text


def _has_fraction(kind: pa.DataType) -> bool:
    return bool(pa.types.is_time(kind) and kind.unit != "s")


def _bound(value: Bound) -> Any:
    if not isinstance(value, str):
        return pa.scalar(float(value))
    for kind in ("date", "timestamp"):
        found = canonical.parse(pa.array([value]), kind)
        if found[0].is_valid:
            return pc.cast(found, pa.timestamp("us", tz="UTC"))[0]
    return pa.scalar(value)


def _in_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values as numbers or as instants; null where they are none."""
    if pa.types.is_floating(kind):
        return pc.cast(canonical.parse(values, "decimal"), pa.float64())
    days = canonical.parse(values, "date") if not pa.types.is_timestamp(values.type) else pa.nulls(len(values), pa.date32())
    return pc.coalesce(pc.cast(days, kind), canonical.parse(values, "timestamp"))


Condition.model_rebuild()
