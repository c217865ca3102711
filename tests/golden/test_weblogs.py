"""Web logs as JSON lines: instants, addresses, sizes and countries generalised, hosts and requests protected."""

from __future__ import annotations

import gzip
import ipaddress
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato
from sfumato.sources.json_lines import JsonLines

WEBLOGS = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "weblogs.json.gz"
PUBLISHED = ("timestamp", "clientip", "bytes")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_ten_people_share_every_combination_of_the_web_logs(algorithm: str, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    if not WEBLOGS.exists():
        pytest.skip(f"needs the web logs; put weblogs.json.gz there: {WEBLOGS}")
    with gzip.open(WEBLOGS, "rt", encoding="utf-8") as file:
        logs = [json.loads(line) for line in file]
    countries = sorted({log["geo"]["dest"] for log in logs})
    tree = {"Root": sorted({country[0] for country in countries})}
    tree |= {letter: [country for country in countries if country[0] == letter] for letter in tree["Root"]}
    source = {"json_lines": {"path": str(WEBLOGS)}}
    columns = {name: {"role": "identifier"} for name in JsonLines(path=str(WEBLOGS)).describe().names}
    columns |= {
        "timestamp": {"role": "quasi_identifier", "hierarchy": {"calendar": {"levels": ["hour", "day", "week"]}}},
        "clientip": {"role": "quasi_identifier", "hierarchy": "network"},
        "bytes": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 1000}}},
        "geo.dest": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": tree}}},
        "host": {"role": "sensitive"},
        "request": {"role": "sensitive"},
    }
    policy = {
        "source": source,
        "columns": columns,
        "promises": [{"k_anonymity": {"k": 10}}],
        "algorithm": algorithm,
        "suppression_limit": 0.05,
        "sink": "release.jsonl",
    }

    record = sfumato.run(write_policy(policy)).record

    released = [json.loads(line) for line in (tmp_path / "release.jsonl").read_text(encoding="utf-8").splitlines()]
    classes = Counter((*(row[name] for name in PUBLISHED), row["geo"]["dest"]) for row in released)
    assert min(classes.values()) >= 10
    assert len(released) == record.rows.out
    assert {*released[0]} == {*PUBLISHED, "geo", "host", "request"}
    for address in {row["clientip"] for row in released} - {"*"}:
        ipaddress.ip_network(address)
    if algorithm == "mondrian":
        assert len(released) == len(logs)
        assert Counter(row["host"] for row in released) == Counter(log["host"] for log in logs)
        assert Counter(row["request"] for row in released) == Counter(log["request"] for log in logs)
