"""One call of one package on Adult, in the environment of that package: writes the release as CSV and prints how long the call took.

``python peer_calls.py anjana '{"k": 10, "l": null, "t": null, "limit": 0.05}' adult_folder release.csv``. Only the call itself is timed for the
packages beside sfumato, not reading and writing; for sfumato it is the whole road: reading, search, writing, reading again and verifying.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

QUASI_IDENTIFIERS = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country", "occupation"]
SENSITIVE = "salary-class"


class CannotError(Exception):
    """The package has no such call."""


def main() -> None:
    name, asked, adult, release = sys.argv[1:]
    settings = json.loads(asked)
    try:
        seconds, note = CALLS[name](Path(adult), Path(release), settings)
        print(json.dumps({"seconds": seconds, "note": note}))
    except CannotError as reason:
        print(json.dumps({"cannot": str(reason)}))


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def ladder(adult: Path, name: str) -> list[list[str]]:
    with (adult / f"adult_hierarchy_{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=";"))


def frame(adult: Path) -> Any:
    import pandas

    return pandas.read_csv(adult / "adult.csv", sep=";")[[*QUASI_IDENTIFIERS, SENSITIVE]]


def categories(adult: Path) -> Any:
    table = frame(adult)
    for name in [*QUASI_IDENTIFIERS[1:], SENSITIVE]:
        table[name] = table[name].astype("category")
    return table


def write(rows: Iterable[Iterable[Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*QUASI_IDENTIFIERS, SENSITIVE])
        writer.writerows(["*" if value is None or value != value else value for value in row] for row in rows)


def write_frame(table: Any, path: Path) -> None:
    if not len(table):
        raise CannotError("returns an empty table")
    write(table[[*QUASI_IDENTIFIERS, SENSITIVE]].itertuples(index=False), path)


# --- sfumato ------------------------------------------------------------------------------------------------------------


def sfumato(algorithm: str) -> Callable[[Path, Path, dict[str, Any]], tuple[float, str]]:
    def call(adult: Path, release: Path, asked: dict[str, Any]) -> tuple[float, str]:
        from sfumato import run

        sensitive = asked.get("sensitive", SENSITIVE)
        names = [name for name in QUASI_IDENTIFIERS if name != sensitive]
        columns = {
            name: {"role": "quasi_identifier", "hierarchy": {"table": {"path": str(adult / f"adult_hierarchy_{name}.csv"), "delimiter": ";"}}}
            for name in names
        }
        # Mondrian cuts ages as numbers; its peers do so too
        if algorithm == "mondrian":
            columns["age"] = {"role": "quasi_identifier", "hierarchy": {"interval": {}}}
        promises: list[Any] = [{"k_anonymity": {"k": asked["k"]}}]
        if asked.get("l"):
            promises.append({"l_diversity": {"column": sensitive, "l": asked["l"], **asked.get("diversity", {})}})
        if asked.get("t"):
            promises.append({"t_closeness": {"column": sensitive, "t": asked["t"]}})
        policy = {
            "source": {"delimited": {"path": str(adult / "adult.csv"), "delimiter": ";"}},
            "columns": columns | {sensitive: {"role": "sensitive"}},
            "unnamed": "remove",
            "promises": promises,
            "algorithm": algorithm,
            "suppression_limit": asked["limit"],
            "sink": str(release),
        }
        # compiled kernels and loaded libraries, once
        run({**policy, "sink": str(release.with_suffix(".first.csv"))})
        seconds, _ = timed(lambda: run(policy))
        return seconds, "the whole road, verified"

    return call


# --- the others ---------------------------------------------------------------------------------------------------------


def anjana(adult: Path, release: Path, asked: dict[str, Any]) -> tuple[float, str]:
    import numpy
    from anjana.anonymity import k_anonymity, l_diversity, t_closeness

    table = frame(adult)
    hierarchies = {}
    for name in QUASI_IDENTIFIERS:
        levels = list(zip(*ladder(adult, name), strict=True))
        hierarchies[name] = {level: numpy.array(values) for level, values in enumerate(levels)}
    hierarchies["age"][0] = numpy.array([int(value) for value in hierarchies["age"][0]])
    common = (asked["k"],)
    per_cent = asked["limit"] * 100
    if asked.get("l"):
        call = lambda: l_diversity(table, [], QUASI_IDENTIFIERS, SENSITIVE, *common, asked["l"], per_cent, hierarchies)  # noqa: E731 - one of three, timed below
    elif asked.get("t"):
        call = lambda: t_closeness(table, [], QUASI_IDENTIFIERS, SENSITIVE, *common, asked["t"], per_cent, hierarchies)  # noqa: E731 - one of three, timed below
    else:
        call = lambda: k_anonymity(table, [], QUASI_IDENTIFIERS, *common, per_cent, hierarchies)  # noqa: E731 - one of three, timed below
    seconds, found = timed(call)
    write_frame(found, release)
    return seconds, "publishes the source's row numbers" if "index" in found.columns else ""


def anonypy(adult: Path, release: Path, asked: dict[str, Any]) -> tuple[float, str]:
    from anonypy import Preserver

    table = categories(adult)

    def call() -> Any:
        preserver = Preserver(table, QUASI_IDENTIFIERS, SENSITIVE)
        if asked.get("l"):
            return preserver.anonymize_l_diversity(asked["k"], asked["l"])
        if asked.get("t"):
            return preserver.anonymize_t_closeness(asked["k"], asked["t"])
        return preserver.anonymize_k_anonymity(asked["k"])

    seconds, found = timed(call)
    write(_repeated(found), release)
    return seconds, "no hierarchies: sets of values"


def anonypyx(adult: Path, release: Path, asked: dict[str, Any]) -> tuple[float, str]:
    from anonypyx import Anonymiser

    table = categories(adult)
    further = {name: asked[name] for name in ("l", "t") if asked.get(name)}

    def call() -> Any:
        return Anonymiser(
            table,
            feature_columns=QUASI_IDENTIFIERS,
            sensitive_column=SENSITIVE,
            generalisation_strategy="human-readable",
            k=asked["k"],
            algorithm="Mondrian",
            **further,
        ).anonymise()

    seconds, found = timed(call)
    write(_repeated(found.to_dict("records")), release)
    return seconds, "no hierarchies: sets of values"


def python_anonymity(adult: Path, release: Path, asked: dict[str, Any]) -> tuple[float, str]:
    from anonymity.tools import data_fly, l_diversity

    if asked.get("t"):
        raise CannotError("t only without k")
    table = frame(adult)
    table["age"] = table["age"].astype(str)
    hierarchies = {name: ladder(adult, name) for name in QUASI_IDENTIFIERS}
    if asked.get("l"):
        # it raises k by one before each attempt
        further = ("data_fly", asked["l"], [], 0, hierarchies, asked["k"] - 1)
        seconds, (_, found, _) = timed(lambda: l_diversity(table, [SENSITIVE], QUASI_IDENTIFIERS, *further))
    else:
        seconds, found = timed(lambda: data_fly(table, [], QUASI_IDENTIFIERS, asked["k"], 0, hierarchies))
    write_frame(found, release)
    return seconds, ""


def crowds(adult: Path, release: Path, asked: dict[str, Any]) -> tuple[float, str]:
    from crowds.kanonymity.generalizations import GenRule
    from crowds.kanonymity.ola import anonymize

    if asked.get("l") or asked.get("t"):
        raise CannotError("k-anonymity only")
    table = frame(adult)
    table["age"] = table["age"].astype(str)
    rules = {}
    for name in QUASI_IDENTIFIERS:
        paths = ladder(adult, name)
        maps = [{path[0]: path[level] for path in paths} for level in range(1, len(paths[0]) - 1)]
        rules[name] = GenRule([found.get for found in maps])
    seconds, found = timed(lambda: anonymize(table, rules, k=asked["k"]))
    write_frame(found[0], release)
    return seconds, ""


def anonymity_api(adult: Path, release: Path, asked: dict[str, Any]) -> tuple[float, str]:
    from anonymity_api.anonymity import k_anonymity

    if asked.get("l") or asked.get("t"):
        raise CannotError("l and t only without k")
    table = frame(adult)
    files = {name: str(adult / f"adult_hierarchy_{name}.csv") for name in QUASI_IDENTIFIERS[1:]}
    seconds, found = timed(lambda: k_anonymity(table, list(QUASI_IDENTIFIERS), asked["k"], taxonomies=files))
    write_frame(found, release)
    return seconds, "cuts numbers only"


def _repeated(found: Iterable[dict[str, Any]]) -> Iterable[list[Any]]:
    """Yield rows that were returned with how often they occur."""
    for row in found:
        values = [row[name][0] if isinstance(row[name], list) else row[name] for name in [*QUASI_IDENTIFIERS, SENSITIVE]]
        for _ in range(int(row["count"])):
            yield values


CALLS = {
    "sfumato mondrian": sfumato("mondrian"),
    "sfumato datafly": sfumato("datafly"),
    "anjana": anjana,
    "anonypy": anonypy,
    "anonypyx": anonypyx,
    "python-anonymity": python_anonymity,
    "crowds": crowds,
    "anonymity-api": anonymity_api,
}

if __name__ == "__main__":
    main()
