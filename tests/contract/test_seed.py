"""What a seed for tests does to every mask, whoever wrote it: the same seed gives the same rows in the same order, another seed others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.mask import Unrepeatable
from sfumato.errors import PolicyError
from sfumato.policy.seed import FOR_TESTS
from sfumato.registry import find, names
from tests.contract.test_masking import SETTINGS, VALUES

TEXTS = pa.array(["Ann", None, "", 'Bo "B", ö', "Ann", "日本語 🙂", "x" * 40])
TIMES = 40


def by_chance(name: str) -> dict[str, Any]:
    """Return the settings of a mask without a key, where it does without one."""
    settings = {key: value for key, value in SETTINGS.get(name, {}).items() if key not in ("key", "same_again")}
    try:
        find("masking", name)(**settings)
    except PolicyError:
        return SETTINGS[name]
    return settings


BY_CHANCE = [name for name in names("masking") if not find("masking", name)(**by_chance(name)).card.deterministic]
REFUSED = [name for name in BY_CHANCE if isinstance(find("masking", name)(**by_chance(name)), Unrepeatable)]


def release(name: str, seed: int, settings: dict[str, Any] | None = None) -> pa.Table:
    values = pa.concat_arrays([VALUES.get(name, TEXTS)] * TIMES)
    table = pa.table({"value": values, "person": [str(place % 9) for place in range(len(values))]})
    policy = {
        "name": "seeded",
        "seed": {"for_tests": seed},
        "keys": {"main": {"environment": "SFUMATO_SEED_TEST"}},
        "columns": {"value": {"role": "other", "mask": {name: by_chance(name) if settings is None else settings}}, "person": {"role": "other"}},
        "accept": "singling_out",
    }
    found: pa.Table = sfumato.run(policy, data=table).table
    return found


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_SEED_TEST", "k1:" + "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=")


def test_there_are_masks_of_chance() -> None:
    assert {"noise", "fake", "shuffle", "swap", "choice", "date_jitter", "pattern_mask", "random_number", "encrypt"} <= set(BY_CHANCE)


@pytest.mark.parametrize("name", [name for name in names("masking") if name not in (*REFUSED, "drop", "aggregate")])
def test_the_same_seed_gives_the_same_rows_in_the_same_order(name: str) -> None:
    assert release(name, 7).equals(release(name, 7))


@pytest.mark.parametrize("name", [name for name in BY_CHANCE if name not in REFUSED])
def test_another_seed_gives_something_else(name: str) -> None:
    one, other = (release(name, seed).sort_by([("person", "ascending"), ("value", "ascending")]) for seed in (7, 8))
    assert not one.equals(other)


@pytest.mark.parametrize("name", REFUSED)
def test_a_mask_that_must_not_come_again_is_refused(name: str) -> None:
    with pytest.raises(PolicyError) as error:
        release(name, 7)
    assert [mistake.code for mistake in error.value.mistakes] == ["policy-seed"]
    assert error.value.mistakes[0].message.startswith(f"{name} beside a seed: ")


def test_chance_within_documents_is_seeded_too() -> None:
    settings = {"paths": {"$.a": "random_uuid", "$.b[*]": "keep"}, "absent": "keep"}
    assert release("nested", 7, settings).equals(release("nested", 7, settings))
    assert not release("nested", 7, settings).equals(release("nested", 8, settings))


def test_encryption_within_documents_is_refused_too() -> None:
    with pytest.raises(PolicyError) as error:
        release("nested", 7, {"paths": {"$.a": {"encrypt": {"key": "main"}}, "$.b[*]": "keep"}, "absent": "keep"})
    assert [mistake.code for mistake in error.value.mistakes] == ["policy-seed"]


def test_the_record_begins_with_what_a_seed_means() -> None:
    policy = {"seed": {"for_tests": 0}, "columns": {"value": {"role": "other", "mask": "shuffle"}}}
    record = sfumato.run(policy, data=pa.table({"value": ["a", "b"] * 9})).record
    assert record.notes[0] == FOR_TESTS
