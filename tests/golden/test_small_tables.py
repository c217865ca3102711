"""Small tables whose release was worked out by hand from the papers: each line of it is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sfumato
from sfumato.core.record import RunRecord

Write = Callable[..., Path]

JOBS = {"taxonomy": {"tree": {"Root": ["craft", "food"], "craft": ["smith", "welder"], "food": ["cook", "baker"]}}}
UNBALANCED = {"taxonomy": {"tree": {"Root": ["B", "s"], "B": ["A", "r"], "A": ["p", "q"]}}}


def released(write: Write, columns: Mapping[str, Any], data: str, **others: Any) -> tuple[list[str], RunRecord]:
    """Run a policy over the text of a table; return the lines of the written release, and its record."""
    given = {"promises": [{"k_anonymity": {"k": 2}}]} | others
    policy = write({"source": "data.csv", "columns": columns, "sink": "release.csv"} | given, data)
    record = sfumato.run(policy).record
    return (policy.parent / "release.csv").read_text(encoding="utf-8").splitlines(), record


def quasi_identifier(hierarchy: Any = None, **others: Any) -> dict[str, Any]:
    return {"role": "quasi_identifier", **({"hierarchy": hierarchy} if hierarchy else {}), **others}


def test_mondrian_cuts_numbers_at_the_median_and_trees_at_their_children(write_policy: Write) -> None:
    # age is cut between 22 and 40, then each half by job; one smith alone is no class, so that craft stays whole
    data = "age,job\n40,cook\n20,smith\n42,baker\n21,welder\n41,cook\n22,welder\n43,baker\n"

    lines, record = released(write_policy, {"age": quasi_identifier(), "job": quasi_identifier(JOBS)}, data)

    assert lines == [
        "age,job",
        '"[20, 22]",craft',
        '"[20, 22]",craft',
        '"[20, 22]",craft',
        '"[40, 41]",cook',
        '"[40, 41]",cook',
        '"[42, 43]",baker',
        '"[42, 43]",baker',
    ]
    # ages: (3 rows of 3 leaves + 4 of 2) / 7 of 7 leaves is 17/49, less 1/7, over 6/7
    # jobs: (3 rows of 2 leaves + 4 of 1) / 7 of 4 leaves is 10/28, less 1/4, over 3/4
    assert abs(record.measures["after"]["loss_by_column"]["age"] - 10 / 42) < 1e-12
    assert abs(record.measures["after"]["loss_by_column"]["job"] - 1 / 7) < 1e-12


def test_the_children_that_hold_are_parted_and_the_others_stay_together(write_policy: Write) -> None:
    # below the root food holds two rows, and the three of craft can be parted no further: one smith, two welders
    data = "job\nsmith\nwelder\nwelder\ncook\nbaker\n"

    lines, _ = released(write_policy, {"job": quasi_identifier(JOBS)}, data)

    assert lines == ["job", "craft", "craft", "craft", "food", "food"]


def test_a_weight_decides_which_column_is_cut_first(write_policy: Write) -> None:
    # either cut leaves nothing further to cut: with equal weights age comes first, being the first
    data = "age,income\n20,500\n30,100\n21,150\n31,200\n"

    evenly, _ = released(write_policy, {"age": quasi_identifier(), "income": quasi_identifier()}, data)
    weighted, _ = released(write_policy, {"age": quasi_identifier(), "income": quasi_identifier(weight=2.0)}, data)

    assert evenly == ["age,income", *['"[20, 21]","[150, 500]"'] * 2, *['"[30, 31]","[100, 200]"'] * 2]
    assert weighted == ["age,income", *['"[20, 31]","[200, 500]"'] * 2, *['"[21, 30]","[100, 150]"'] * 2]


def test_missing_values_are_empty_among_themselves_and_the_root_among_others(write_policy: Write) -> None:
    data = "sex,age\nf,\nm,30\nx,50\nf,?\nm,31\nx,\n"

    lines, _ = released(write_policy, {"sex": quasi_identifier(), "age": quasi_identifier(missing=["?"])}, data)

    assert lines == ["sex,age", "f,", "f,", 'm,"[30, 31]"', 'm,"[30, 31]"', "x,*", "x,*"]


def test_missing_categories_are_parted_from_the_others_like_a_child_of_the_root(write_policy: Write) -> None:
    data = "job,town\nsmith,a\n,b\ncook,a\n,b\nwelder,a\nbaker,a\n"

    lines, _ = released(write_policy, {"job": quasi_identifier(JOBS), "town": quasi_identifier()}, data)

    assert lines == ["job,town", "craft,a", "craft,a", "food,a", "food,a", ",b", ",b"]


def test_datafly_lets_a_leaf_of_an_unbalanced_tree_stay_itself_until_its_parents_level(write_policy: Write) -> None:
    # level 1: A for p and q, r and s themselves, and r is alone; level 2: B for p, q and r, s still itself
    lines, record = released(write_policy, {"tree": quasi_identifier(UNBALANCED)}, "tree\np\nq\nr\ns\ns\n", algorithm="datafly")

    assert lines == ["tree", "B", "B", "B", "s", "s"]
    assert record.recoding.levels == {"tree": 2}


def test_datafly_leaves_out_what_is_left_over_and_does_not_tell_how_little_it_was(write_policy: Write) -> None:
    lines, record = released(
        write_policy, {"tree": quasi_identifier(UNBALANCED)}, "tree\np\nq\nr\ns\ns\n", algorithm="datafly", suppression_limit=0.2
    )

    assert lines == ["tree", "A", "A", "s", "s"]
    assert record.recoding.levels == {"tree": 1}
    assert (record.rows.in_, record.rows.out, record.rows.suppressed) == ("< 6", 4, "< 2")


def test_datafly_generalises_the_column_with_the_most_values_and_publishes_its_levels(write_policy: Write) -> None:
    # six ages against two sexes: ages go to tens first, and every combination then has two rows
    data = "age,sex\n21,f\n25,f\n33,m\n38,m\n40,f\n49,f\n"

    lines, record = released(
        write_policy, {"age": quasi_identifier({"interval": {"width": 10}}), "sex": quasi_identifier()}, data, algorithm="datafly"
    )

    assert lines == ["age,sex", *['"[20, 29]",f'] * 2, *['"[30, 39]",m'] * 2, *['"[40, 49]",f'] * 2]
    assert record.recoding.levels == {"age": 1, "sex": 0}


def test_bounds_are_published_as_two_columns(write_policy: Write) -> None:
    data = "age,sex\n20,f\n20,f\n31,m\n35,m\n50,x\n,x\n"

    lines, _ = released(write_policy, {"sex": quasi_identifier(), "age": quasi_identifier(publish="bounds")}, data)

    assert lines == ["age_from,age_to,sex", "20,20,f", "20,20,f", "31,35,m", "31,35,m", "*,*,x", "*,*,x"]


def test_a_set_names_all_leaves_of_the_node(write_policy: Write) -> None:
    # baker is not among the rows, but craft and food are known to everybody who has the tree
    data = "job\nsmith\nwelder\ncook\ncook\n"

    lines, _ = released(write_policy, {"job": quasi_identifier(JOBS, publish="set")}, data)

    assert lines == ["job", '"{smith, welder}"', '"{smith, welder}"', "cook", "cook"]


def test_prefixes_are_as_long_as_their_class_allows(write_policy: Write) -> None:
    data = "zip\n10961\n12047\n10967\n12047\n10969\n12169\n12161\n"

    lines, _ = released(write_policy, {"zip": quasi_identifier({"prefix": {}})}, data)

    assert lines == ["zip", "1096*", "1096*", "1096*", "12047", "12047", "1216*", "1216*"]


def test_datafly_shortens_all_codes_alike(write_policy: Write) -> None:
    data = "zip\n10961\n12047\n10967\n12047\n10969\n12169\n12161\n"

    lines, record = released(write_policy, {"zip": quasi_identifier({"prefix": {"lengths": [3, 1]}})}, data, algorithm="datafly")

    assert lines == ["zip", "109**", "109**", "109**", "120**", "120**", "121**", "121**"]
    assert record.recoding.levels == {"zip": 1}


def test_dates_become_intervals_of_dates(write_policy: Write) -> None:
    data = "born\n1990-05-01\n1970-12-31\n1971-01-01\n1990-04-30\n"

    for asked in (quasi_identifier(hierarchy={"interval": {}}), quasi_identifier(publish="interval")):
        lines, _ = released(write_policy, {"born": asked}, data)
        assert lines == ["born", *['"[1970-12-31, 1971-01-01]"'] * 2, *['"[1990-04-30, 1990-05-01]"'] * 2]


def test_dates_become_nodes_of_the_calendar(write_policy: Write) -> None:
    data = "born\n1990-05-01\n1970-12-31\n1971-01-01\n1990-04-30\n"

    lines, _ = released(write_policy, {"born": quasi_identifier()}, data)

    assert lines == ["born", "1970s", "1970s", "1990-Q2", "1990-Q2"]


def test_addresses_become_networks(write_policy: Write) -> None:
    data = "client\n10.1.2.3\n10.1.2.77\n10.9.0.1\n10.8.0.1\n2001:db8::1\n2001:db8::2\n"

    lines, _ = released(write_policy, {"client": quasi_identifier()}, data)

    assert lines == ["client", "10.1.2.0/24", "10.1.2.0/24", "10.0.0.0/8", "10.0.0.0/8", "2001:db8::/64", "2001:db8::/64"]


def test_a_subject_is_one_person_however_many_rows_it_has(write_policy: Write) -> None:
    # three rows at 20 are one person's: as rows they would be a class, as people they are not
    data = "person,age\n1,20\n1,20\n1,20\n2,30\n3,31\n"
    columns = {"person": {"role": "identifier"}, "age": quasi_identifier()}

    by_rows, _ = released(write_policy, columns, data)
    by_people, record = released(write_policy, columns, data, subject="person")

    assert by_rows == ["age", "20", "20", "20", '"[30, 31]"', '"[30, 31]"']
    assert by_people == ["age", *['"[20, 31]"'] * 5]
    assert record.promises[0].measured == 3


def test_one_person_with_two_values_does_not_make_a_class_diverse_in_people(write_policy: Write) -> None:
    # k counts people, l values: the class of 20 has two people and two illnesses
    data = "person,age,illness\n1,20,flu\n1,20,gout\n2,20,flu\n3,40,flu\n4,40,gout\n"
    columns = {"person": {"role": "identifier"}, "age": quasi_identifier(), "illness": {"role": "sensitive"}}
    promises = [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 2}}]

    lines, record = released(write_policy, columns, data, subject="person", promises=promises)

    assert sorted(lines[1:]) == ["20,flu", "20,flu", "20,gout", "40,flu", "40,gout"]
    assert [result.measured for result in record.promises] == [2, 2]


def test_a_class_that_would_show_one_illness_is_not_parted(write_policy: Write) -> None:
    data = "age,illness\n20,flu\n21,flu\n40,gout\n41,flu\n"
    columns = {"age": quasi_identifier(), "illness": {"role": "sensitive"}}
    promises = [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 2}}]

    lines, _ = released(write_policy, columns, data, promises=promises)

    assert sorted(lines[1:]) == ['"[20, 41]",flu'] * 3 + ['"[20, 41]",gout']


def test_a_least_level_is_the_finest_that_is_published(write_policy: Write) -> None:
    # all four jobs have two rows, and could be published as they are
    data = "job\nsmith\nwelder\ncook\nbaker\nsmith\nwelder\ncook\nbaker\n"

    lines, _ = released(write_policy, {"job": quasi_identifier(JOBS, level={"minimum": 1})}, data)

    assert lines == ["job", *["craft"] * 4, *["food"] * 4]


def test_a_greatest_level_leaves_out_what_would_need_a_higher_one(write_policy: Write) -> None:
    # one cook is alone below food: it could only be published as everything
    data = "job\nsmith\nwelder\ncook\nsmith\nwelder\n"

    lines, record = released(write_policy, {"job": quasi_identifier(JOBS, level={"maximum": 1})}, data, suppression_limit=0.2)

    assert lines == ["job", "smith", "smith", "welder", "welder"]
    assert record.rows.suppressed == "< 2"


def test_a_value_outside_its_hierarchy_is_left_out_where_the_policy_says_so(write_policy: Write) -> None:
    data = "job\nsmith\nsmith\npilot\ncook\ncook\n"

    lines, _ = released(write_policy, {"job": quasi_identifier(JOBS, on_unknown="suppress")}, data, suppression_limit=0.2)

    assert lines == ["job", "smith", "smith", "cook", "cook"]


def test_a_value_outside_its_hierarchy_is_published_as_everything_where_the_policy_says_so(write_policy: Write) -> None:
    # one pilot is no class: the first of the smallest children keeps it company below the root
    data = "job\nsmith\nsmith\npilot\ncook\ncook\n"

    lines, _ = released(write_policy, {"job": quasi_identifier(JOBS, on_unknown="generalise")}, data)

    assert lines == ["job", "*", "*", "*", "cook", "cook"]
