"""sfumato beside other Python packages on Adult: one run, one table, all releases measured by one script that belongs to none of them.

``make benchmark-peers ADULT=folder`` or ``python benchmarks/peers.py --adult folder [--write]``. The folder holds ``adult.csv`` and its
hierarchies. Each package gets an environment of its own in ``benchmarks/environments``; one that cannot be installed, has no such call or
does not end within the limit gets a line that says so. ``--write`` puts the tables and curves into ``docs``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from curves import Panel, draw

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
ENVIRONMENTS = HERE / "environments"
ADULT = HERE.parent.parent / "shared" / "data" / "adult"

# what some packages import without asking for it stands behind them
PACKAGES = {
    "anjana": ["anjana==1.2.3"],
    "anonypy": ["anonypy==0.2.1", "pandas"],
    "anonypyx": ["anonypyx==0.2.11"],
    "python-anonymity": ["python-anonymity==0.0.1.post1", "numpy", "pandas", "pycanon", "beartype", "psutil"],
    "crowds": ["crowds==0.0.1", "pandas"],
    "anonymity-api": ["anonymity-api==1.0.4", "numpy", "pandas"],
    "pyARXaaS": ["pyARXaaS==0.5.7"],
}
ALGORITHMS = {
    "sfumato mondrian": "Mondrian",
    "sfumato datafly": "Datafly",
    "anjana": "greedy full-domain",
    "anonypy": "Mondrian",
    "anonypyx": "Mondrian",
    "python-anonymity": "Datafly",
    "crowds": "OLA",
    "anonymity-api": "Mondrian",
    "pyARXaaS": "client of a server",
}
SUPPRESS = ("sfumato datafly", "anjana")
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("k = 10", {"k": 10}),
    ("k = 10, l = 2", {"k": 10, "l": 2}),
    ("k = 10, t = 0.2", {"k": 10, "t": 0.2}),
]
HEAD = ("package", "algorithm", "asked", "wall s", "rows lost", "classes", "GCP", "DM", "CAVG", "k", "l", "t", "remark")
KS = (2, 5, 10, 20, 50, 100)
LS = (2, 3, 4, 5, 6)
KINDS: dict[str, dict[str, Any]] = {"distinct": {}, "entropy": {"kind": "entropy"}, "recursive, c = 4": {"kind": "recursive", "c": 4}}
MEASURES = {"GCP": ("gcp", ""), "CAVG": ("cavg", "y"), "DM": ("dm", "y"), "wall s": ("seconds", "")}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--adult", type=Path, default=ADULT, help="the folder of adult.csv and its hierarchies")
    arguments.add_argument("--limit", type=int, default=600, help="seconds that a call may take")
    arguments.add_argument("--write", action="store_true", help="put tables and curves into docs")
    asked = arguments.parse_args()
    if not (asked.adult / "adult.csv").exists():
        raise SystemExit(f"{asked.adult} holds no adult.csv; name its folder with --adult")
    broken = {name: reason for name in PACKAGES if (reason := install(name)) is not None}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(asked.adult, Path(folder), asked.limit, broken)
        print_line(HEAD)
        table = [line for name in ALGORITHMS for line in bench.lines(name)]
        pictures = {"adult_k.svg": bench.over_k(), "adult_l_mondrian.svg": bench.over_l("mondrian"), "adult_l_datafly.svg": bench.over_l("datafly")}
    if asked.write:
        (DOCS / "pictures").mkdir(exist_ok=True)
        for name, text in pictures.items():
            (DOCS / "pictures" / name).write_text(text, encoding="utf-8")
        put(markdown(table))


def install(name: str) -> str | None:
    """Make the environment of a package; return why that cannot be done."""
    place = ENVIRONMENTS / name
    if (place / ".ready").exists():
        return None
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        raise SystemExit("uv is needed to make the environments of the other packages: pip install uv")
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place)], check=True)
    done = subprocess.run(
        [uv, "pip", "install", "--quiet", "--python", str(place / "bin" / "python"), *PACKAGES[name]], capture_output=True, text=True
    )
    if done.returncode:
        hints = re.findall(r"[`(]?(\w+)`? \((v[\d.]+)\) was included because", done.stderr)
        return "does not install" + (f": {' '.join(hints[0])}, which it asks for, cannot be built" if hints else "")
    (place / ".ready").touch()
    return None


class Bench:
    """Calls packages one after the other and measures what they release."""

    def __init__(self, adult: Path, folder: Path, limit: int, broken: dict[str, str]) -> None:
        self._adult, self._folder, self._limit, self._broken = adult, folder, limit, broken

    def lines(self, name: str) -> list[list[str]]:
        """Return the lines of one package, and print them as they come."""
        found = []
        for words, asked in [(words, asked) for words, asked in ASKED if name not in self._broken] or [("", {})]:
            for share in (0.0, 0.05) if name in SUPPRESS and "k" in asked else (0.0,):
                told = words + (f", up to {share:.0%} left out" if share else "")
                found.append([name.split()[0], ALGORITHMS[name], told, *self._cells(name, {**asked, "limit": share})])
                print_line(found[-1])
        return found

    def _cells(self, name: str, asked: dict[str, Any]) -> list[str]:
        measured = {"cannot": self._broken[name]} if name in self._broken else self.call(name, asked)
        if "cannot" in measured:
            return ["–"] * 9 + [measured["cannot"]]
        missed = [key for key in ("k", "l") if asked.get(key, 0) > measured[key]]
        missed += ["t"] if asked.get("t", 1) < measured["t"] - 1e-9 else []
        remarks = [measured["note"], *(f"**asked for {key} = {asked[key]}, not kept**" for key in missed)]
        return [
            f"{measured['seconds']:.2f}",
            f"{measured['lost']}",
            f"{measured['classes']}",
            f"{measured['gcp']:.4f}",
            f"{measured['dm']:.3g}",
            f"{measured['cavg']:.2f}",
            f"{measured['k']}",
            f"{measured['l']}",
            f"{measured['t']:.3f}",
            "; ".join(filter(None, remarks)),
        ]

    def call(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Return seconds and measures of one call, or why there are none."""
        interpreter = sys.executable if name.startswith("sfumato") else str(ENVIRONMENTS / name / "bin" / "python")
        release = self._folder / "release.csv"
        release.unlink(missing_ok=True)
        command = [interpreter, str(HERE / "peer_calls.py"), name, json.dumps(asked), str(self._adult), str(release)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self._limit)
        except subprocess.TimeoutExpired:
            return {"cannot": f"not done after {self._limit} s"}
        if done.returncode:
            return {"cannot": f"crashes: {done.stderr.strip().splitlines()[-1].split(':')[0]}"}
        told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        if "cannot" in told:
            return told
        sensitive = asked.get("sensitive", "salary-class")
        checker = [sys.executable, str(HERE / "release_measures.py"), str(self._adult), str(release), sensitive, str(asked["k"])]
        checked = subprocess.run(checker, capture_output=True, text=True)
        if checked.returncode:
            return {"cannot": "its labels cannot be read back"}
        return told | json.loads(checked.stdout)

    def over_k(self) -> str:
        """Draw the measures of both searches over k."""
        found = {
            name: [(float(k), self.call(f"sfumato {name}", {"k": k, "limit": limit})) for k in KS]
            for name, limit in (("mondrian", 0.0), ("datafly", 0.05))
        }
        return panels(found, "k", "x", KS)

    def over_l(self, algorithm: str) -> str:
        """Draw the measures of one search over l, for each kind of l-diversity; k is 10 and the sensitive column is the occupation."""
        limit = 0.05 if algorithm == "datafly" else 0.0
        common = {"k": 10, "limit": limit, "sensitive": "occupation"}
        found = {
            kind: [(float(least), self.call(f"sfumato {algorithm}", {**common, "l": least, "diversity": settings})) for least in LS]
            for kind, settings in KINDS.items()
        }
        return panels(found, "l", "", LS)


def panels(found: dict[str, list[tuple[float, dict[str, Any]]]], across: str, logarithmic: str, ticks: tuple[int, ...]) -> str:
    """Return one panel a measure; what could not be done has no point."""
    pictures = []
    for title, (key, scale) in MEASURES.items():
        series = {name: [(x, float(measured[key])) for x, measured in points if key in measured] for name, points in found.items()}
        pictures.append(Panel(title, across, series, logarithmic + scale, ticks))
    return draw(pictures)


def print_line(cells: Any) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def markdown(table: list[list[str]]) -> str:
    about = f"Python {platform.python_version()}, {os.cpu_count()} cores; " + ", ".join(
        [f"sfumato {version('sfumato')}", *(packages[0].replace("==", " ") for packages in PACKAGES.values())]
    )
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD), *(f"| {' | '.join(line)} |" for line in table)]
    return "\n".join([*lines, "", f"{about}."])


def put(text: str) -> None:
    """Put the table into its page, between its marks."""
    page = DOCS / "benchmarks.md"
    before, mark, rest = page.read_text(encoding="utf-8").partition("<!-- peers -->\n")
    _, end, after = rest.partition("<!-- end of peers -->")
    page.write_text(before + mark + text + "\n" + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
