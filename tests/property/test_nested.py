"""No value that a mask covers survives within lists and structures, and all others are what they were."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import sfumato
from sfumato.core.nested_types import leaves_of
from sfumato.core.nested_values import as_json, as_nested

TEXTS = some.text(some.characters(codec="utf-8"), max_size=6)
NUMBERS = some.integers(-(2**31), 2**31 - 1)


def typed(depth: int) -> Any:
    """Return types, each with what makes values of it."""
    if not depth:
        return some.sampled_from([(pa.string(), TEXTS), (pa.int64(), NUMBERS), (pa.bool_(), some.booleans())])
    inner = typed(depth - 1)
    lists = inner.map(lambda one: (pa.list_(one[0]), some.lists(some.none() | one[1], max_size=3)))
    return lists | some.lists(inner, min_size=1, max_size=3).map(structure)


def structure(members: list[Any]) -> Any:
    kind = pa.struct([(f"f{place}", member) for place, (member, _) in enumerate(members)])
    return kind, some.fixed_dictionaries({f"f{place}": some.none() | values for place, (_, values) in enumerate(members)})


def column(one: Any) -> Any:
    return some.lists(some.none() | one[1], min_size=1, max_size=6).map(lambda rows: pa.array(rows, one[0]))


COLUMNS = some.integers(1, 3).flatmap(typed).flatmap(column)


@pytest.mark.slow
@given(COLUMNS)
@settings(max_examples=100, deadline=None)
def test_nested_values_survive_the_way_through_json(values: pa.Array) -> None:
    assert as_nested(as_json(values, "a"), values.type, "a").equals(values)


@given(COLUMNS, some.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_value_that_a_mask_covers_survives(values: pa.Array, data: some.DataObject) -> None:
    covered = data.draw(some.lists(some.sampled_from([leaf.path for leaf in leaves_of(values.type)]), min_size=1, unique=True))
    mask = {"nested": {"paths": dict.fromkeys(covered, "constant"), "others": "keep"}}

    found = sfumato.run({"columns": {"a": {"role": "other", "mask": mask}}}, data=pa.table({"a": values})).table.column("a")

    released = [text and json.loads(text) for text in found.to_pylist()] if pa.types.is_string(found.type) else found.to_pylist()
    expected = [published(row, values.type, set(covered), "$") for row in values.to_pylist()]
    assert sorted(map(repr, released)) == sorted(map(repr, expected))


def published(value: Any, kind: pa.DataType, covered: set[str], path: str) -> Any:
    """Return a value as it must be published, told another way than the mask does it."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: published(value[field.name], field.type, covered, f"{path}.{field.name}") for field in kind}
    if pa.types.is_list(kind):
        return [published(element, kind.value_type, covered, f"{path}[*]") for element in value]
    return "*" if path in covered else value
