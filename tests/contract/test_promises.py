"""What every promise must do. A new promise is found by the registry and passes this suite without a change to it.

Example settings are made from the promise's own JSON Schema: text is the sensitive column, a list another one, a choice takes each of its
values in turn, a number one of a few. What the promise refuses is no example.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.classes import Classes
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Promise
from sfumato.core.problem import Problem
from sfumato.core.quiet import Quiet
from sfumato.errors import PolicyError
from sfumato.hierarchies.automatic import Automatic
from sfumato.registry import find, names

COLUMN, OTHER = "illness", "drug"
VALUES = 5
LADDERS = {COLUMN: Hierarchy.of_paths(COLUMN, [["flu", "lungs"], ["cough", "lungs"], ["ulcer", "belly"], ["gastritis", "belly"], ["rash"]])}
NUMBERS = (0.25, 0.5, 2, 3)
TOLERANCE = 1e-6
ABSENT = object()


def examples(wanted: Callable[[Promise], bool] = lambda promise: True) -> list[Any]:
    found = [(name, number, promise) for name in names("promises") for number, promise in enumerate(settings(name))]
    return [pytest.param(promise, id=f"{name} {number}") for name, number, promise in found if wanted(promise)]


def settings(name: str) -> Iterator[Promise]:
    schema = find("promises", name).model_json_schema()
    choices = {key: [*choices_of(about), ABSENT] for key, about in schema["properties"].items()}
    found = []
    for chosen in itertools.product(*choices.values()):
        given = {key: value for key, value in zip(choices, chosen, strict=True) if value is not ABSENT}
        try:
            promise = find("promises", name)(**given)
        except PolicyError:
            continue
        if promise not in found:
            found.append(promise)
            yield promise


def choices_of(about: dict[str, Any]) -> list[Any]:
    kinds = {one.get("type") for one in about.get("anyOf", [about])}
    if "enum" in about:
        return list(about["enum"])
    if "string" in kinds:
        return [COLUMN]
    if "array" in kinds:
        return [[OTHER]]
    return list(NUMBERS) if kinds & {"integer", "number"} else []


def random_classes(random: np.random.Generator, classes: int, rows: int = 30, people: int | None = None) -> Classes:
    """Return classes of random rows, none of them empty; with people, each is in one class only."""
    class_of = np.concatenate([np.arange(classes), random.integers(0, classes, rows)]).astype(np.int32)
    values = np.minimum(random.geometric(0.4, len(class_of)) - 1, VALUES - 1).astype(np.int32)
    subject = None if people is None else (random.integers(0, people, len(class_of)) * classes + class_of).astype(np.int64)
    counts = random.integers(1, 4, len(class_of)).astype(np.int64)
    reference = np.bincount(values, counts, minlength=VALUES).astype(np.int64) + random.integers(0, 9, VALUES)
    drugs = random.integers(0, 2, len(class_of)).astype(np.int32)
    references = {COLUMN: reference, OTHER: np.bincount(drugs, counts, minlength=2).astype(np.int64)}
    return Classes(classes, class_of, counts, {COLUMN: values, OTHER: drugs}, subject, references, LADDERS)


def with_classes(classes: Classes, class_of: NDArray[np.int32], number: int) -> Classes:
    return replace(classes, number=number, class_of=class_of)


def without_rows(classes: Classes, kept: NDArray[np.bool_]) -> Classes:
    subject = None if classes.subject is None else classes.subject[kept]
    sensitive = {name: values[kept] for name, values in classes.sensitive.items()}
    return replace(classes, class_of=classes.class_of[kept], counts=classes.counts[kept], sensitive=sensitive, subject=subject)


def smaller_is_stricter(promise: Promise) -> bool:
    return bool(getattr(promise, "smaller_is_stricter", False))


def test_every_promise_has_examples() -> None:
    assert {promise.component_name() for name in names("promises") for promise in settings(name)} == set(names("promises"))


@pytest.mark.parametrize("promise", examples())
def test_holds_answers_once_a_class(promise: Promise) -> None:
    held = promise.holds(random_classes(np.random.default_rng(1), 7))
    assert held.shape == (7,)
    assert held.dtype == np.bool_


@pytest.mark.parametrize("promise", examples())
def test_holds_of_no_classes_is_empty(promise: Promise) -> None:
    empty = np.empty(0, np.int32)
    references = {COLUMN: np.ones(VALUES, np.int64), OTHER: np.ones(2, np.int64)}
    none = Classes(0, empty, empty.astype(np.int64), {COLUMN: empty, OTHER: empty}, None, references, LADDERS)
    assert promise.holds(none).tolist() == []
    measured = promise.measure(none)
    assert measured <= promise.asked if smaller_is_stricter(promise) else measured >= promise.asked


@pytest.mark.parametrize("promise", examples())
def test_classes_are_judged_each_by_itself(promise: Promise) -> None:
    random = np.random.default_rng(2)
    classes = random_classes(random, 6, people=3)
    one_by_one = []
    for number in range(classes.number):
        alone = without_rows(classes, classes.class_of == number)
        one_by_one.append(bool(promise.holds(with_classes(alone, np.zeros_like(alone.class_of), 1))[0]))
    assert promise.holds(classes).tolist() == one_by_one


@pytest.mark.parametrize("promise", examples())
@pytest.mark.parametrize("people", [None, 4])
def test_what_is_measured_reaches_what_was_asked_exactly_where_the_promise_holds(promise: Promise, people: int | None) -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        classes = random_classes(random, int(random.integers(1, 4)), int(random.integers(0, 40)), people)
        measured, asked = promise.measure(classes), promise.asked
        holds = bool(promise.holds(classes).all())
        if smaller_is_stricter(promise):
            measured, asked = -measured, -asked
        assert measured >= asked - TOLERANCE if holds else measured <= asked + TOLERANCE
        if holds:
            assert np.isfinite(measured)


@pytest.mark.parametrize("promise", examples(lambda promise: promise.monotone_when_merged))
@pytest.mark.parametrize("people", [None, 4])
def test_a_promise_that_survives_mergers_says_so_rightly(promise: Promise, people: int | None) -> None:
    random = np.random.default_rng(4)
    for _ in range(300):
        classes = random_classes(random, 2, int(random.integers(0, 25)), people)
        if promise.holds(classes).all():
            assert promise.holds(with_classes(classes, np.zeros_like(classes.class_of), 1)).all()


@pytest.mark.parametrize("promise", examples(lambda promise: promise.monotone_when_grown))
@pytest.mark.parametrize("people", [None, 4])
def test_a_promise_that_survives_growth_says_so_rightly(promise: Promise, people: int | None) -> None:
    random = np.random.default_rng(5)
    for _ in range(300):
        classes = random_classes(random, 1, int(random.integers(1, 25)), people)
        fewer = without_rows(classes, random.random(len(classes.counts)) < random.random())
        if promise.holds(fewer).all():
            assert promise.holds(classes).all()


@pytest.mark.parametrize("promise", examples())
def test_a_person_with_many_equal_rows_counts_once(promise: Promise) -> None:
    random = np.random.default_rng(6)
    for _ in range(50):
        classes = random_classes(random, 3, int(random.integers(0, 25)), people=5)
        rows = np.concatenate([np.arange(len(classes.counts)), random.integers(0, len(classes.counts), 40)])
        subject = classes.subject
        assert subject is not None
        twice = replace(
            classes,
            class_of=classes.class_of[rows],
            counts=random.integers(1, 9, len(rows)).astype(np.int64),
            sensitive={name: values[rows] for name, values in classes.sensitive.items()},
            subject=subject[rows],
        )
        assert promise.holds(twice).tolist() == promise.holds(classes).tolist()
        assert promise.measure(twice) == promise.measure(classes)


@pytest.mark.parametrize("promise", examples())
def test_settings_are_frozen(promise: Promise) -> None:
    for field in type(promise).model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(promise, field, getattr(promise, field))


@pytest.mark.parametrize("promise", examples())
def test_settings_survive_being_written_into_a_policy(promise: Promise) -> None:
    ((name, written),) = promise.as_component().items()
    assert find("promises", name).model_validate(written) == promise


@pytest.mark.parametrize("name", names("promises"))
def test_the_schema_explains_every_setting(name: str) -> None:
    schema = find("promises", name).model_json_schema()
    assert schema["additionalProperties"] is False
    assert all(about["description"] for about in schema["properties"].values())


@pytest.mark.parametrize("promise", examples())
def test_only_named_columns_are_read(promise: Promise) -> None:
    assert set(promise.reads) <= {COLUMN, OTHER}
    assert set(promise.scales) <= set(promise.reads)


@pytest.mark.parametrize("promise", examples())
def test_the_nearest_settings_hold_for_everybody_and_a_stricter_promise_has_not_held(promise: Promise) -> None:
    random = np.random.default_rng(7)
    for _ in range(100):
        everybody = random_classes(random, 1, int(random.integers(0, 60)), None)
        nearest = promise.nearest(everybody)
        if nearest is not None:
            near = type(promise).model_validate({**promise.model_dump(), **nearest})
            assert near.holds(everybody).all()
            if not promise.holds(everybody).all():
                assert near.asked > promise.asked if smaller_is_stricter(promise) else near.asked < promise.asked


# --- searches -------------------------------------------------------------------------------------------------------


def random_frequencies(random: np.random.Generator, people: bool) -> tuple[Frequencies, list[Hierarchy]]:
    """Return a random table of an ordered column and a tree column, and their ladders."""
    rows = int(random.integers(20, 200))
    tree = Hierarchy.of_paths("job", [["smith", "craft"], ["welder", "craft"], ["cook", "food"], ["baker", "food"], ["judge", "law"]])
    ages, row_of_age = np.unique(random.integers(20, 60, rows), return_inverse=True)
    ladder = Automatic().build("age", _array(ages), np.bincount(row_of_age))
    codes = np.stack([row_of_age, random.integers(0, tree.size, rows)], axis=1).astype(np.int32)
    combinations, combination = np.unique(codes, axis=0, return_inverse=True)
    values = np.minimum(random.geometric(0.3, rows) - 1, VALUES - 1).astype(np.int32)
    subject = random.integers(0, rows // 2, rows) if people else None
    reference = np.bincount(values, minlength=VALUES) if subject is None else _pairs(values, subject)
    frequencies = Frequencies(
        combinations,
        combination.ravel().astype(np.int32),
        np.ones(rows, np.int64),
        {COLUMN: values, OTHER: values % 2},
        subject,
        {COLUMN: reference.astype(np.int64), OTHER: np.ones(2, np.int64)},
        LADDERS,
    )
    return frequencies, [ladder, tree]


def _array(ages: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return pa.array(ages, pa.int64())


def _pairs(values: NDArray[np.int32], subject: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(np.unique(np.stack([values, subject]), axis=1)[0], minlength=VALUES)


@pytest.mark.slow
@pytest.mark.parametrize("promise", examples())
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_what_a_search_lets_pass_holds(promise: Promise, people: bool) -> None:
    random = np.random.default_rng(8)
    for _ in range(30):
        frequencies, hierarchies = random_frequencies(random, people)
        everybody = np.zeros(len(frequencies.combinations), np.int32)
        if not promise.holds(frequencies.classes(everybody)).all():
            continue
        recoding = Mondrian().search(Problem(hierarchies, [promise], [1.0, 1.0]), frequencies, Quiet())
        assert promise.holds(frequencies.classes(recoding.class_of)).all()


@pytest.mark.parametrize("promise", examples(lambda promise: promise.compiled() is not None))
def test_the_fused_kernel_cuts_wherever_a_cut_holds(promise: Promise) -> None:
    random = np.random.default_rng(9)
    for _ in range(200):
        histograms = random.integers(0, 5, (2, VALUES)) * random.integers(0, 2, (2, VALUES))
        histograms[:, 0] += 1
        side, values = np.nonzero(histograms)
        frequencies = Frequencies(
            np.array([[0], [1]], np.int32),
            side.astype(np.int32),
            histograms[side, values].astype(np.int64),
            {COLUMN: values.astype(np.int32)},
            None,
            {COLUMN: histograms.sum(axis=0)},
        )
        if not promise.holds(frequencies.classes(np.zeros(2, np.int32))).all():
            continue
        ladder = Automatic().build("age", _array(np.array([20, 30])), np.ones(2, np.int64))
        halves = promise.holds(frequencies.classes(np.arange(2, dtype=np.int32)))
        recoding = Mondrian().search(Problem([ladder], [promise], [1.0]), frequencies, Quiet())
        assert recoding.number == (2 if halves.all() else 1)
