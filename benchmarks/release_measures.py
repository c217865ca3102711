"""Measures a release of Adult from its text: rows, classes, loss, and the k, l and t that hold. Uses no code of sfumato or of any other package.

``python release_measures.py adult_folder release.csv salary-class 10`` prints one JSON object. A label is a value, a node of the column's
hierarchy file, a range (``17-25``, ``[17, 25]``, ``[17, 25)``) or a set of values with commas, in braces or not.

GCP: the mean over all cells of the width of a range over that of its column, of a category of its leaves over those that occur, 0 for one;
a row that was left out counts 1. DM: the squares of the class sizes, and for each row left out the rows of the table. CAVG: the rows
released over the classes and k. t: the largest distance, half the sum of differences, of a class from the source.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

RANGE = re.compile(r"^\[?(-?\d+)(?: ?- ?|, )(-?\d+)([\])]?)$")


def main() -> None:
    folder, release, sensitive, k = sys.argv[1:]
    print(json.dumps(measures(Path(folder), Path(release), sensitive, int(k))))


def measures(folder: Path, release: Path, sensitive: str, k: int) -> dict[str, float]:
    source = rows_of(folder / "adult.csv", ";")
    released = rows_of(release, ",")
    names = [name for name in released[0] if name != sensitive]
    classes: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in released:
        classes[tuple(row[name] for name in names)].append(row[sensitive])
    whole = Counter(row[sensitive] for row in source)
    values = sorted(whole)
    shares = np.array([whole[value] for value in values]) / len(source)
    counts = np.array([[Counter(members)[value] for value in values] for members in classes.values()])
    sizes = counts.sum(axis=1)
    lost = len(source) - len(released)
    penalties = sum(penalty(folder, name, source, Counter(row[name] for row in released)) for name in names)
    return {
        "lost": lost,
        "classes": len(classes),
        "gcp": (penalties + lost * len(names)) / (len(source) * len(names)),
        "dm": int((sizes**2).sum() + lost * len(source)),
        "cavg": len(released) / len(classes) / k,
        "k": int(sizes.min()),
        "l": int((counts > 0).sum(axis=1).min()),
        "t": float((abs(counts / sizes[:, None] - shares).sum(axis=1) / 2).max()),
    }


def rows_of(path: Path, delimiter: str) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def penalty(folder: Path, name: str, source: list[dict[str, str]], labels: Counter[str]) -> float:
    """Return the penalties of a column, added up over the rows."""
    known = {row[name] for row in source}
    if all(re.fullmatch(r"-?\d+", value) for value in known):
        numbers = [int(value) for value in known]
        return sum(rows * width(label, min(numbers), max(numbers)) for label, rows in labels.items())
    below: defaultdict[str, set[str]] = defaultdict(set)
    with (folder / f"adult_hierarchy_{name}.csv").open(encoding="utf-8", newline="") as file:
        for leaf, *above in csv.reader(file, delimiter=";"):
            if leaf in known:
                for node in above:
                    below[node].add(leaf)
    return sum(rows * share(label, known, below) for label, rows in labels.items())


def width(label: str, low: int, high: int) -> float:
    if label == "*":
        return 1.0
    found = RANGE.match(label)
    if not found:
        int(label)
        return 0.0
    last = int(found[2]) - (1 if found[3] == ")" else 0)
    return min(1.0, (last - int(found[1])) / (high - low))


def share(label: str, known: set[str], below: dict[str, set[str]]) -> float:
    if label in known:
        return 0.0
    if label == "*":
        return 1.0
    leaves = below.get(label) or {part.strip() for part in label.strip("{}[]").split(",")}
    if not leaves <= known:
        raise SystemExit("a label means nothing: " + ", ".join(sorted(leaves - known)))
    return 0.0 if len(leaves) == 1 else len(leaves) / len(known)


if __name__ == "__main__":
    main()
