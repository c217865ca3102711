"""People who are written in several ways, beside made-up records: these are in the latest name of when they leave, and hang on nothing later."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import sfumato
from sfumato.engine.stream.running import Running, run_stream

POLICY = """
source: events.csv
subject: user
columns:
  user: {{role: other, type: {kind}}}
  at:   {{role: identifier, type: timestamp}}
  item: {{role: sensitive}}
algorithm: {{z_anonymity: {{z: 3, window: 60s, time: at, path: item, noise: {{diffmax: 1}}}}}}
stream: {{state: state, batch: {batch}}}
sink: release.csv
"""


@pytest.mark.parametrize("batch", [7, 5_000])
@pytest.mark.parametrize(("kind", "early"), [("integer", "+{}"), ("decimal", "{}.00")])
def test_made_up_records_are_in_the_latest_name(tmp_path: Path, kind: str, early: str, batch: int) -> None:
    chance, lines = random.Random(5), ["user,at,item"]
    for second in range(300):
        user = chance.randint(1, 9)
        told = early.format(user) if second < 150 else str(user)
        lines.append(
            f"{told},2026-01-01T00:{second // 60:02}:{second % 60:02}Z,{chance.choice('ab')}.{chance.choice('xyzuvw')}{chance.randint(0, 9)}"
        )
    (tmp_path / "events.csv").write_text("\n".join([*lines, ""]))
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.format(kind=kind, batch=batch))
    run_stream(path, Running(once=True))

    found = sfumato.check_stream(path)
    assert found.sentences() == []
    assert found.views[""].measured["made-up records"] > 20
    # the first record that is written in the new way is number 150: no row before it may be
    plain = [line.split(",")[0].isdigit() for line in (tmp_path / "release.csv").read_text().splitlines()[1:]]
    links = (tmp_path / "state" / "links" / "release.rows").read_bytes()
    left_with = [int.from_bytes(links[start + 8 : start + 16], "little", signed=True) for start in range(0, len(links), 16)]
    assert all(number >= 150 for number, is_plain in zip(left_with, plain, strict=True) if is_plain)
