"""z-anonymity: events a second of processor time, tuning, memory, beside the package zanon; and the tables of its literature on generated streams.

``make benchmark-events`` prints and writes all of it: docs/z_anonymity_results.md and the pictures there. ``--records`` makes the streams shorter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from curves import Panel, draw

from sfumato.algorithms._z_tuning import Trial, grid
from sfumato.algorithms.z_anonymity import ZAnonymity
from sfumato.core.durations import SECOND
from sfumato.core.events import Events
from sfumato.registry import find

Z_ROW = "z that was found, in the middle (least to most)"
HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
BATCH = 1000
HOUR = 3600 * SECOND
FEWEST_HOURS = 3
ZANON = HERE / "environments" / "zanon"


@dataclass(frozen=True, eq=False)
class Stream:
    """A generated stream: how its columns are called, and what the literature tried on it."""

    name: str
    person: str
    attribute: str
    separator: str
    levels: tuple[str, ...]
    thresholds: tuple[int, ...]
    fixed: int
    records: int
    published: dict[int, tuple[float, ...]]


# per cent of tuples at each level and not published, by z: tables 4.1 to 4.3
SHOP = {
    3: (64.2, 35.2, 0.1, 0, 0.5), 5: (51.5, 47.1, 0.3, 0, 1.1), 10: (37.5, 58.6, 0.8, 0.1, 3), 20: (27, 64, 2.3, 0.3, 6.4),
}  # fmt: skip
DOMAINS = {5: (88.9, 11, 0.1), 20: (82, 17.2, 0.8), 100: (72.1, 23.2, 4.7), 900: (46.7, 28.6, 24.7)}
POSITIONS = {
    2: (88.3, 10.1, 1.3, 0.2, 0.1, 0), 5: (70.6, 24.8, 3.7, 0.6, 0.2, 0.1),
    50: (19.8, 51.7, 22.5, 3.2, 2.5, 0.3), 150: (5.4, 48.7, 34, 8, 3.5, 0.4),
}  # fmt: skip
STREAMS = (
    Stream("shop", "user", "product", ".", ("product", "1 up", "2 up", "3 up"), (3, 5, 10, 20), 10, 3_000_000, SHOP),
    Stream("domains", "user", "domain", "*", ("domain", "category"), (5, 20, 100, 900), 900, 4_000_000, DOMAINS),
    Stream("positions", "device", "address", "*", ("street", "town", "province", "region", "country"), (2, 5, 50, 150), 60, 1_800_000, POSITIONS),
)
# per cent not published, volume increase, residual information, by diffmax: tables 6.1 to 6.5
NOISE = {"shop": ((84, 81, 79.8, 76.6), (-84, -57, -35.3, 50)), "domains": ((46.3, 39.9, 38.8, 36.7), (-46.3, 494, 704, 1313)),
         "positions": ((85, 80.8, 78.9, 73.9), (-85, -34.6, 12.8, 192))}  # fmt: skip
BOTH = {"shop": ((11.9,) * 4, (-11.9, -3.6, 0.1, 9.2), (61.3, 63.2, 63.6, 64.4)),
        "domains": ((31,) * 4, (-31, 177, 296, 558), (89.2, 92.5, 93.3, 94.1)),
        "positions": ((0.3,) * 4, (-0.3, 18.6, 28.3, 48), (81.9, 84.4, 84.9, 85.8))}  # fmt: skip


def events_of(stream: Stream, records: int) -> Events:
    """Return a generated stream as events."""
    table = find("generators", stream.name)().table(records, seed=1)
    instants = pc.strptime(pc.utf8_slice_codeunits(table["at"], 0, 19), format="%Y-%m-%dT%H:%M:%S", unit="us").combine_chunks()
    fractions = pc.cast(pc.utf8_slice_codeunits(table["at"], 20, 23), pa.int64()).combine_chunks().to_numpy() * 1000
    person = table[stream.person].combine_chunks()
    people = person.to_numpy() if pa.types.is_integer(person.type) else person.dictionary_encode().indices.to_numpy()
    times = instants.cast(pa.int64()).to_numpy() + fractions
    return Events(np.arange(records), times, people.astype(np.int64), table[stream.attribute].combine_chunks())


def search(stream: Stream, z: int, **further: Any) -> ZAnonymity:
    return ZAnonymity(z=z, time="at", path=stream.attribute, separator=stream.separator, **further)


# --- speed --------------------------------------------------------------------------------------------------------------


def five_levels(records: int) -> Events:
    """Return a stream of paths of five parts, a thousand of them frequent."""
    random = np.random.default_rng(2026)
    leaf = np.minimum((random.pareto(0.6, records) * 3).astype(np.int64), 20_000)
    texts = [f"c{one % 3}.d{one % 7}.e{one % 31}.f{one % 211}.g{one}" for one in leaf.tolist()]
    times = np.cumsum(random.integers(0, 72_000, records)).astype(np.int64)
    return Events(np.arange(records), times, random.integers(0, 5000, records), pa.array(texts))


def speed(records: int) -> Iterator[str]:
    events = five_levels(records)
    yield "Paths of five levels, in batches of 1,000 records.\n"
    yield "| what | events a second of processor time | records in the window | MB |\n|---|---|---|---|"
    ways: dict[str, dict[str, Any]] = {
        "count: rest": {}, "count: all": {"count": "all"}, "noise of a quarter": {"noise": {"diffmax": 0.25}},
        "search every 30 minutes": {"tuning": {"by": "search"}},
    }  # fmt: skip
    for name, further in ways.items():
        best, session = 0.0, None
        for _ in range(3):
            session = ZAnonymity(z=20, time="at", path="p", **further).start()
            session.push(events.part(0, BATCH))
            taken = seconds(lambda session=session: [session.push(events.part(first, first + BATCH)) for first in range(BATCH, records, BATCH)])
            best = max(best, (records - BATCH) / taken)
        yield f"| {name} | {best / 1e6:.2f} million | {session.window.entries['records']:,} | {session.window.size / 1e6:.0f} |"
    kept = session.window.kept(session.window.newest)
    trial = Trial.of(kept, True, True)
    tries = grid(2, min(2000, trial.people + 1))
    trial.shares(tries, 2)
    taken = min(seconds(lambda: Trial.of(kept, True, True).shares(tries, 2)) for _ in range(3))
    yield f"\nTuning on a window of {len(kept.people):,} records, {len(tries)} thresholds: {taken:.3f} s of processor time.\n"


def peer(records: int) -> str:
    """Return the rate of zanon from the package index, in an environment of its own."""
    if not (ZANON / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", ZANON], check=True)
        done = subprocess.run(
            [ZANON / "bin" / "pip", "install", "--quiet", "zanon==0.3.4", "numpy", "matplotlib", "pandas"], check=False, capture_output=True
        )
        if done.returncode:
            return "zanon 0.3.4 does not install."
    done = subprocess.run([ZANON / "bin" / "python", HERE / "zanon_call.py", str(records)], check=False, capture_output=True, text=True, cwd=ZANON)
    if done.returncode:
        return "zanon 0.3.4 installs, and fails when it is called: " + (done.stderr.strip().splitlines() or ["no message"])[-1]
    return f"zanon 0.3.4 on {records:,} records of the same shape: {float(done.stdout.split()[-1]):,.0f} events a second of processor time."


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return max(1e-9, time.process_time() - started)


# --- tables -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What a session did with a stream: shares, how much left, and measures by the hour of the stream."""

    levels: dict[int, float]
    suppressed: float
    increase: float
    residual: float
    hours: list[tuple[float, Any]]

    @property
    def z(self) -> str:
        """The z of the hours after the first: in the middle, the least and the most."""
        found = [one.z for _, one in self.hours[1:]]
        return f"{int(np.median(found)):,} ({min(found):,} to {max(found):,})" if found else ""


def run(chosen: ZAnonymity, events: Events) -> Run:
    """Go through a stream, and measure once an hour."""
    session, left, hours, next_hour = chosen.start(), 0, [], int(events.times[0]) + HOUR
    for first in range(0, len(events), BATCH):
        piece = events.part(first, first + BATCH)
        left += len(session.push(piece).places)
        if piece.times[-1] >= next_hour:
            hours.append(((int(piece.times[-1]) - int(events.times[0])) / HOUR, session.measured()))
            next_hour += HOUR
    total = session.measured()
    # the first hour fills the window
    residual = [one.residual_information for _, one in hours[1:]]
    return Run(total.shares(), total.suppressed / total.records, left / total.records - 1, float(np.nanmean(residual)) if residual else np.nan, hours)


def table_4(stream: Stream, events: Events, number: int) -> Iterator[str]:
    """Shares by level and z."""
    yield f"\n### Table 4.{number}: {stream.name}, share of records by level, Δt = 1 hour\n"
    runs = {(z, way): run(search(stream, z, count=way), events) for z in stream.thresholds for way in ("all", "rest")}
    yield "| | " + " | ".join(f"z = {z}" for z in stream.thresholds) + " |\n|---|" + "---|" * len(stream.thresholds)
    names = [*stream.levels, "not published"]
    for place, name in enumerate(names):
        cells = []
        for z in stream.thresholds:
            found = [_share(runs[z, way], place, len(stream.levels)) for way in ("all", "rest")]
            cells.append(f"{found[0]:.1%} · {found[1]:.1%} ({stream.published[z][place]}%)")
        yield f"| {name} | " + " | ".join(cells) + " |"


def _share(done: Run, place: int, levels: int) -> float:
    return done.suppressed if place == levels else done.levels.get(place, 0.0)


def table_6(stream: Stream, events: Events) -> Iterator[str]:
    """What noise does, alone and with generalisation, at the z that a search finds."""
    tuning = {"by": "search", "k": 3, "p": 0.8, "every": "1h"}
    parts = (0, 0.25, 1 / 3, 0.5)
    alone = [run(search(stream, stream.fixed, original=True, generalise=False, tuning=tuning, **_noise(part)), events) for part in parts]
    yield f"\n### Tables 6.1 and 6.2: {stream.name}, noise without generalisation\n"
    yield "| diffmax | 0 | z/4 | z/3 | z/2 |\n|---|---|---|---|---|"
    yield _row(Z_ROW, [done.z for done in alone])
    yield _row("not published", [f"{done.suppressed:.1%} ({seen}%)" for done, seen in zip(alone, NOISE[stream.name][0], strict=True)])
    yield _row("volume increase", [f"{done.increase:+.1%} ({seen:+}%)" for done, seen in zip(alone, NOISE[stream.name][1], strict=True)])
    for way, title in (({"original": True}, "as published"), ({}, "as sfumato does it")):
        parts = (0, 1 / 6, 0.2, 0.25)
        both = [run(search(stream, stream.fixed, tuning=tuning, **way, **_noise(part)), events) for part in parts]
        yield f"\n### Tables 6.3 to 6.5: {stream.name}, noise with generalisation, {title}\n"
        yield "| diffmax | 0 | z/6 | z/5 | z/4 |\n|---|---|---|---|---|"
        seen = BOTH[stream.name]
        yield _row(Z_ROW, [done.z for done in both])
        yield _row("not published", [f"{done.suppressed:.1%} ({was}%)" for done, was in zip(both, seen[0], strict=True)])
        yield _row("volume increase", [f"{done.increase:+.1%} ({was:+}%)" for done, was in zip(both, seen[1], strict=True)])
        yield _row("residual information", [f"{done.residual:.1%} ({was}%)" for done, was in zip(both, seen[2], strict=True)])


def _noise(part: float) -> dict[str, Any]:
    return {"noise": {"diffmax": float(part)}} if part else {}


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def figures(streams: dict[Stream, Events]) -> None:
    """Draw figures 4.4 (a fixed z), 5.5 (a z that is searched for) and 5.8 (entropy before and after)."""
    volume, tuned, entropies = [], [], []
    for stream, events in streams.items():
        done = run(search(stream, stream.fixed, count="all"), events)
        volume += [_by_level(stream, done, f"{stream.name}: records an hour, z = {stream.fixed}"), _p(done, f"{stream.name}: p_kanon, k = 2")]
        done = run(search(stream, stream.fixed, count="all", tuning={"k": 2, "p": 0.8, "every": "30m"}), events)
        z = {"z": [(hour, float(one.z)) for hour, one in done.hours[1:]]}
        tuned += [Panel(f"{stream.name}: z that is searched for", "hours", z), _p(done, f"{stream.name}: p_kanon, goal 0.8, k = 2")]
        done = run(search(stream, stream.fixed, count="all", tuning={"k": 3, "p": 0.8, "every": "30m"}), events)
        bits = {
            "before": [(hour, one.entropy_before) for hour, one in done.hours[1:]],
            "after": [(hour, one.entropy_after) for hour, one in done.hours[1:]],
        }
        entropies.append(Panel(f"{stream.name}: entropy in bits", "hours", bits))
    for name, panels in {"z_volume": volume, "z_tuned": tuned, "z_entropy": entropies}.items():
        # entropy has a panel a stream, the others have two
        columns = len(STREAMS) if len(panels) == len(STREAMS) else 2
        (DOCS / "pictures" / f"{name}.svg").write_text(draw(panels, columns), encoding="utf-8")


def _p(done: Run, title: str) -> Panel:
    return Panel(title, "hours", {"p_kanon": [(hour, one.p_kanon) for hour, one in done.hours[1:] if one.p_kanon == one.p_kanon] or [(0.0, 0.0)]})


def _by_level(stream: Stream, done: Run, title: str) -> Panel:
    series: dict[str, list[tuple[float, float]]] = {}
    for (_, before), (hour, one) in zip(done.hours, done.hours[1:], strict=False):
        for level in range(len(stream.levels)):
            series.setdefault(_level(level), []).append((hour, float(one.by_level.get(level, 0) - before.by_level.get(level, 0))))
        series.setdefault("not published", []).append((hour, float(one.suppressed - before.suppressed)))
    return Panel(title, "hours", series, stacked=True)


def _level(level: int) -> str:
    """Return what a level is called in each stream that has it; bands of one colour are those of one level."""
    return " · ".join(dict.fromkeys(stream.levels[level] for stream in STREAMS if level < len(stream.levels)))


def main() -> None:
    """Print the speed, and write the page of results."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--records", type=float, default=1.0, help="the share of each stream's records that is gone through")
    arguments.add_argument("--only-speed", action="store_true")
    arguments.add_argument("--only-figures", action="store_true")
    given = arguments.parse_args()
    # tables and figures go by the hour, of which the first is not whole
    streams = {} if given.only_speed else {stream: events_of(stream, int(stream.records * given.records)) for stream in STREAMS}
    short = [stream.name for stream, events in streams.items() if np.ptp(events.times) < FEWEST_HOURS * HOUR]
    if short:
        arguments.error(
            f"so small a share of {', '.join(short)} is less than {FEWEST_HOURS} hours, and tables go by the hour; try a larger one, or --only-speed"
        )
    if given.only_figures:
        figures(streams)
        return
    lines = [*speed(1_000_000), peer(30_000)]
    print("\n".join(lines), flush=True)
    if given.only_speed:
        return
    for number, (stream, events) in enumerate(streams.items(), start=1):
        for line in table_4(stream, events, number):
            lines.append(line)
            print(line, flush=True)
    for stream, events in streams.items():
        for line in table_6(stream, events):
            lines.append(line)
            print(line, flush=True)
    figures(streams)
    page = DOCS / "z_anonymity_results.md"
    before, _, rest = page.read_text(encoding="utf-8").partition("<!-- results -->")
    after = rest.partition("<!-- end of results -->")[2]
    page.write_text(before + "<!-- results -->\n" + "\n".join(lines) + "\n<!-- end of results -->" + after, encoding="utf-8")


if __name__ == "__main__":
    main()
