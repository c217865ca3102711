"""The risk of a table as it is, against what can be counted by hand."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError, UsageError
from sfumato.measures.reidentification import expected_in_population

TABLE = pa.table({"age": ["1", "1", "2", "2", None, None], "sex": ["f", "f", "f", "m", "m", None], "person": ["a", "a", "b", "c", "d", "e"]})


def test_risks_are_those_of_the_sizes_of_combinations() -> None:
    # one pair and four who are alone
    found = sfumato.assess(TABLE, ["age", "sex"])

    assert (found.rows, found.people) == (6, 6)
    assert found.prosecutor["highest_risk"] == 1
    assert found.prosecutor["average_risk"] == pytest.approx(5 / 6)
    assert found.prosecutor["unique"] == pytest.approx(4 / 6)
    assert found.prosecutor["at_risk"] == {"0.05": 1, "0.1": 1, "0.2": 1, "0.33": 1, "0.5": pytest.approx(4 / 6)}


def test_a_person_counts_once_in_a_combination() -> None:
    found = sfumato.assess(TABLE, ["age", "sex"], subject="person")

    assert found.people == 5
    assert found.prosecutor["unique"] == 1


@pytest.mark.parametrize("seed", range(4))
def test_columns_and_combinations_are_ranked_by_whom_they_single_out(seed: int) -> None:
    random = np.random.default_rng(seed)
    columns = {name: [str(value) for value in random.integers(0, size, 300)] for name, size in (("a", 300), ("b", 20), ("c", 6), ("d", 2))}

    found = sfumato.assess(pa.table(columns), list(columns))

    for about in [*found.columns, *found.combinations]:
        rows = list(zip(*(columns[name] for name in about["columns"]), strict=True))
        counted = Counter(rows)
        assert about["distinct"] == len(counted)
        assert about["unique"] == pytest.approx(sum(number == 1 for number in counted.values()) / 300)
        apart = sum(one != other for one, other in itertools.combinations(rows, 2))
        assert about["separation"] == pytest.approx(apart / math.comb(300, 2))
    assert [about["unique"] for about in found.combinations] == sorted((about["unique"] for about in found.combinations), reverse=True)
    assert found.columns[0]["columns"] == ["a"]


def test_a_table_of_the_population_tells_the_real_risk_of_the_journalist() -> None:
    sample = pa.table({"age": ["1", "1", "2", "9"]})
    everybody = pa.table({"age": ["1"] * 10 + ["2"] * 5 + ["3"] * 7})

    found = sfumato.assess(sample, ["age"], population=everybody)

    # nobody in the population is 9: whoever is in the table is somebody all the same
    assert found.journalist == {
        "highest_risk": 1.0,
        "average_risk": pytest.approx((2 / 10 + 1 / 5 + 1) / 4),
        "estimated": False,
        "not_in_population": 0.25,
    }
    assert "25.00% of the rows are not in the population" in str(found)


def test_of_a_population_of_known_size_the_expected_risk_is_told() -> None:
    found = sfumato.assess(pa.table({"age": [str(number) for number in range(100)]}), ["age"], population=1000)

    # everybody is alone in a table of one in ten: p / (1 - p) log(1 / p)
    assert found.journalist == {"highest_risk": pytest.approx(math.log(10) / 9), "average_risk": pytest.approx(math.log(10) / 9), "estimated": True}


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_the_expectation_is_that_of_drawing_at_random(size: int) -> None:
    # the rest of a class in the population is negative binomial: drawn many times
    fraction, random = 0.2, np.random.default_rng(size)
    drawn = 1 / (size + random.negative_binomial(size, fraction, 400_000))

    assert expected_in_population(np.array([size]), round(size / fraction))[0] == pytest.approx(drawn.mean(), rel=0.01)


def test_large_classes_have_small_risks_without_any_fuss() -> None:
    expected = expected_in_population(np.array([1_000_000, 5]), 100_000_000)

    assert 0 < expected[0] < 1e-7
    assert expected[0] < expected[1] < 0.2


def test_what_cannot_be_assessed_is_refused() -> None:
    for names, population, kind in ((["aeg"], None, UsageError), ([], None, UsageError), (["age"], 3, UsageError)):
        with pytest.raises(kind):
            sfumato.assess(TABLE, names, population=population)
    with pytest.raises(DataError):
        sfumato.assess(TABLE.slice(0, 0), ["age"])


def test_the_command_tells_the_same(tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    (tmp_path / "data.csv").write_text("age;sex\n1;canary\n1;canary\n2;f\n")

    ended = sfumato_command("assess", tmp_path / "data.csv", "-q", "age", "-q", "sex", "--delimiter", ";", "--population", "30")
    as_json = sfumato_command("assess", tmp_path / "data.csv", "-q", "age", "-q", "sex", "--delimiter", ";", "--format", "json")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "unique         33.33% of the rows share their combination with nobody" in ended.stdout
    assert "journalist" in ended.stdout
    assert json.loads(as_json.stdout)["prosecutor"]["unique"] == pytest.approx(1 / 3)
    assert "canary" not in ended.stdout + as_json.stdout


def test_the_command_takes_source_columns_and_subject_of_a_policy(
    tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "data.csv").write_bytes("born;job;who\n1.1.1990;Köchin;a\n01.01.1990;Köchin;b\n2.1.1990;Köchin;b\n".encode("latin-1"))
    (tmp_path / "policy.yaml").write_text(
        "source: {delimited: {path: data.csv, delimiter: ';', encoding: latin-1}}\nsubject: who\nformats: {born: '%d.%m.%Y'}\n"
        "columns: {born: {role: quasi_identifier}, job: {role: quasi_identifier}, who: {role: identifier}}\npromises: [{k_anonymity: {k: 2}}]\n"
    )

    found = json.loads(sfumato_command("assess", "policy.yaml", "--format", "json", cwd=tmp_path).stdout)
    twice = sfumato_command("assess", "policy.yaml", "--encoding", "utf-8", cwd=tmp_path)

    assert (found["quasi_identifiers"], found["people"]) == (["born", "job"], 2)
    assert found["prosecutor"]["unique"] == pytest.approx(1 / 3)
    assert twice.stderr == ("a policy says how its source is written: --encoding says it again [option-policy]\n  try: leave it out\n")


def test_the_command_reads_another_encoding(tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    (tmp_path / "data.csv").write_bytes("Größe\n1\n1\n".encode("latin-1"))

    ended = sfumato_command("assess", "data.csv", "--encoding", "latin-1", "-q", "Größe", "--format", "json", cwd=tmp_path)

    assert json.loads(ended.stdout)["prosecutor"]["unique"] == 0


@pytest.mark.parametrize(("arguments", "status"), [(["data.ods", "-q", "age"], 2), (["nowhere.csv", "-q", "age"], 5), (["data.csv"], 2)], ids=str)
def test_the_command_refuses_with_a_status(
    arguments: list[str], status: int, tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    ended = sfumato_command("assess", *arguments, cwd=tmp_path)

    assert ended.returncode == status
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(("k", "risk", "unique"), [(8, "> 0.125", "< 0.04"), (6, "> 0.166", "< 0.03"), (155, "> 0.00645", "< 0.775")])
def test_hidden_risks_are_rounded_so_that_they_are_true(k: int, risk: str, unique: str) -> None:
    ages = [str(20 + number % 10) for number in range(199)] + ["90"]
    policy = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": k}}]}

    before = sfumato.run(policy, data=pa.table({"age": ages})).record.measures["before"]["risk"]

    assert (before["highest_risk"], before["unique"]) == (risk, unique)


def test_notebooks_are_told_of_people_where_people_are_counted() -> None:
    table = pa.table({"zip": ["1", "1", "2", "3"], "who": ["a", "b", "b", "a"]})

    of_rows, of_people = (re.sub("<[^>]*>", " ", sfumato.assess(table, ["zip"], subject)._repr_html_()) for subject in (None, "who"))

    assert "4 rows, 50.00% of them alone with their combination of zip" in of_rows
    assert re.search(r"above 0\.33 +100\.00% of the rows", of_rows)
    assert "4 rows of 2 people, who are alone in 50.00% of their combinations of zip" in of_people
    assert re.search(r"above 0\.33 +100\.00% of the people in their combinations", of_people)


def test_the_record_tells_the_risk_before_and_after_and_hides_the_few() -> None:
    ages = [str(20 + number % 10) for number in range(200)] + ["90", "91"]
    policy = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 5}}]}

    measures = sfumato.run(policy, data=pa.table({"age": ages})).record.measures

    assert measures["before"]["risk"]["highest_risk"] == "> 0.2"
    assert measures["before"]["risk"]["unique"] == "< 0.0248"
    assert measures["after"]["risk"]["highest_risk"] <= 0.2
    assert measures["after"]["risk"]["unique"] == 0


def test_a_population_without_a_column_is_named_as_such() -> None:
    with pytest.raises(UsageError) as caught:
        sfumato.assess(TABLE, ["age"], population=pa.table({"sex": ["f"] * 9}))
    assert caught.value.message == "the population has no column age"
