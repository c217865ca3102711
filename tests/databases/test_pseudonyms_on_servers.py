"""Pseudonyms that servers compute: held to the known answers of every type; and keys that leave no trace on a server."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from services.state import STATE, read
from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.pseudonym import key_text, pads
from sfumato.databases.address import SPARK, Address, parsed
from sfumato.databases.connection import connected
from sfumato.databases.dialects import Engine
from sfumato.databases.expressions import expressed
from sfumato.databases.key_servers import PolicyKey, allowed_on
from sfumato.databases.pads import Pads
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import PolicyError
from sfumato.registry import find
from tests.servers import SERVER_FIXTURES, ask, component, connect

pytestmark = pytest.mark.slow

VECTORS: list[dict[str, str]] = json.loads((Path(__file__).parents[1] / "vectors" / "pseudonyms.json").read_text(encoding="utf-8"))
SERVERS: dict[str, Engine] = {"postgresql": "postgresql", "postgresql18": "postgresql", "mariadb": "mysql", "mysql": "mysql"}
TYPES: dict[str, Callable[[str], tuple[str, str, pa.DataType, Any]]] = {
    "text": lambda text: ("text", "text", pa.string(), text),
    "integer": lambda text: ("bigint", "bigint", pa.int64(), int(text)),
    "decimal": lambda text: (*[f"decimal(38, {scale_of(text)})"] * 2, pa.decimal128(38, scale_of(text)), Decimal(text)),  # type: ignore[return-value]
    "date": lambda text: ("date", "date", pa.date32(), date.fromisoformat(text)),
    "timestamp": lambda text: ("timestamp", "datetime(6)", pa.timestamp("us"), datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)),
    "boolean": lambda text: ("boolean", "text", pa.bool_(), text == "true"),
}


def scale_of(text: str) -> int:
    return -int(Decimal(text).as_tuple().exponent)


def masked_by(vector: dict[str, str]) -> tuple[MaskedColumn, MaskContext]:
    keys = Keys({"main": (Key("k", bytes.fromhex(vector["key"])),)})
    return MaskedColumn("v", [find("masking", "hash")(key="main", domain=vector["domain"])]), MaskContext("v", keys=keys)


def query_of(vector: dict[str, str], engine: Engine, column: TableColumn, table: str, bring: Callable[[Pads], str]) -> str:
    masked, context = masked_by(vector)
    pads = Pads.of([(masked, context)], ["main"])
    found = expressed(masked, context, {"v": column}, engine, str, pads)
    assert found is not None
    assert found.joins
    return f"SELECT {found.value} AS made FROM {table} CROSS JOIN {bring(pads)}"


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(SERVER_FIXTURES[request.param]))


def opened(url: str) -> Any:
    address = parsed(component(url, "x")["url"])
    return connected(address, urlsplit(url).password)


def placed(connection: Any, table: str) -> str:
    return str(connection.quoted(connection.placed(TableName(table))))


def engine_of(url: str) -> Engine:
    return "postgresql" if url.startswith("postgresql:") else "mysql"


def test_a_server_makes_every_known_pseudonym(url: str) -> None:
    engine, wrong = engine_of(url), []
    with opened(url) as connection, closing(connect(url)) as loader, loader.cursor() as cursor:
        for number, vector in enumerate(VECTORS):
            on_postgresql, on_mysql, _, value = TYPES[vector["type"]](vector["value"])
            table = f"vector_{secrets.token_hex(4)}_{number}"
            kind = on_postgresql if engine == "postgresql" else f"{on_mysql}{' CHARACTER SET utf8mb4' if on_mysql == 'text' else ''}"
            # MariaDB has no truth values: where they are kept as text it is the text that must be right
            value = vector["value"] if vector["type"] == "boolean" and engine == "mysql" else value
            if engine == "mysql":
                cursor.execute("SET NAMES utf8mb4")
            cursor.execute(f"CREATE TABLE {table} (v {kind})")
            cursor.execute(f"INSERT INTO {table} VALUES (%s)", [value])
            (column,) = connection.columns(TableName(table))
            query = query_of(vector, engine, column, placed(connection, table), lambda pads: pads.brought_to(connection))
            (batch,) = connection.select(query, [TableColumn("made", "text", pa.string())])
            if batch.column(0).to_pylist() != [vector["hmac"]]:
                wrong.append((number, vector["type"]))
    assert wrong == []


def test_duckdb_makes_every_known_pseudonym(duckdb_url: str) -> None:
    wrong = []
    with opened(duckdb_url) as connection:
        for number, vector in enumerate(VECTORS):
            _, _, kind, value = TYPES[vector["type"]](vector["value"])
            table = connection.staged_name(TableName("x"))
            connection.create(table, pa.schema([("v", kind)]))
            connection.load(table, pa.RecordBatch.from_arrays([pa.array([value], kind)], names=["v"]))
            (column,) = connection.columns(table)
            query = query_of(vector, "duckdb", column, connection.quoted(table), partial(Pads.brought_to, connection=connection))
            (batch,) = connection.select(query, [TableColumn("made", "VARCHAR", pa.string())])
            if batch.column(0).to_pylist() != [vector["hmac"]]:
                wrong.append((number, vector["type"]))
    assert wrong == []


def test_spark_makes_every_known_pseudonym(spark_session: Any) -> None:
    from sfumato.databases.spark_connection import SparkConnection
    from sfumato.databases.spark_types import column_of

    def views() -> set[str]:
        return {table.name for table in spark_session.catalog.listTables() if table.name.startswith("sfumato_")}

    # tests that let a run die in this session leave views behind
    wrong, seen, before = [], b"", views()
    with SparkConnection(None, None) as connection:
        for number, vector in enumerate(VECTORS):
            _, _, kind, value = TYPES[vector["type"]](vector["value"])
            if vector["type"] == "timestamp":
                # instants are in the zone of its session there, and go through Arrow
                continue
            frame = spark_session.createDataFrame(pa.table({"v": pa.array([value], kind)}))
            frame.createOrReplaceTempView("vector")
            query = query_of(vector, "spark", column_of(frame.schema.fields[0]), "vector", partial(Pads.brought_to, connection=connection))
            found = spark_session.sql(query)
            if [tuple(row) for row in found.collect()] != [(vector["hmac"],)]:
                wrong.append((number, vector["type"]))
            # all plans, as logs and pages of Spark show them
            seen += query.encode() + found._jdf.queryExecution().toString().encode()
            assert [trace for secret in secrets_of(vector) for trace in traces(secret) if trace in seen] == []
    assert wrong == []
    assert b"inner0" in seen
    assert views() == before


def traces(secret: bytes) -> Iterator[bytes]:
    """Yield the ways in which a log or a catalogue might write some bytes."""
    text = secret.hex()
    yield secret
    yield text.encode()
    yield text.upper().encode()
    yield base64.b64encode(secret).rstrip(b"=")[:40]
    yield "".join(f"\\x{text[place : place + 2]}" for place in range(0, 24, 2)).encode()
    yield "".join(f"\\{byte:03o}" for byte in secret[:12]).encode()
    yield repr(secret)[2:40].encode()


def secrets_of(vector: dict[str, str]) -> list[bytes]:
    derived = bytes.fromhex(vector["derived"])
    return [bytes.fromhex(vector["key"]), derived, key_text(derived).encode(), *pads(derived)]


SEEN = {
    "postgresql": [
        ("SELECT * FROM", f"pg_{name}")
        for name in ("stat_activity", "stats", "class", "attribute", "description", "prepared_statements", "settings", "statistic")
    ],
    "mysql": [
        *(("SHOW", name) for name in ("FULL PROCESSLIST", "SESSION STATUS", "GLOBAL VARIABLES")),
        *(("SELECT * FROM", f"information_schema.{name}") for name in ("processlist", "tables", "columns")),
    ],
}


def seen_on(url: str, connection: Any, query: str) -> bytes:
    """Return all that others could see of a session while it holds a key: lists of what runs, catalogues, statistics and plans."""
    found = "".join(str(ask(url, f"{verb} {what}")) for verb, what in SEEN[engine_of(url)])
    with connection._connection.cursor() as cursor:  # a plan is no rows that could be copied
        if engine_of(url) == "postgresql":
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
        cursor.execute(f"{'EXPLAIN (VERBOSE)' if engine_of(url) == 'postgresql' else 'EXPLAIN FORMAT=JSON'} {query}")
        plan = cursor.fetchall()
    assert "inner0" in str(plan) or "sfumato_pads" in str(plan)
    return (found + str(plan)).encode()


@pytest.mark.parametrize("name", ["postgresql", "postgresql18", "mariadb", "mysql"])
def test_no_key_is_seen_in_logs_statements_catalogues_or_plans(name: str, request: pytest.FixtureRequest) -> None:
    url = str(request.getfixturevalue(SERVER_FIXTURES[name]))
    vector = replaced_key(VECTORS[0])
    canary = f"canary {secrets.token_hex(8)}"
    with logged(name, url) as log:
        ask(url, f"SELECT '{canary}'", "CREATE TABLE secret_people (v text)", "INSERT INTO secret_people VALUES ('Ann')")
        with opened(url) as connection:
            (column,) = connection.columns(TableName("secret_people"))
            query = query_of(vector, engine_of(url), column, placed(connection, "secret_people"), lambda pads: pads.brought_to(connection))
            (batch,) = connection.select(query, [TableColumn("made", "text", pa.string())])
            assert batch.column(0).to_pylist() == [vector["hmac"]]
            seen = seen_on(url, connection, query)
        everything = seen + query.encode() + log()
    assert canary.encode() in everything
    assert b"COPY" in everything or b"LOAD DATA" in everything
    assert [place for place, secret in enumerate(secrets_of(vector)) for trace in traces(secret) if trace in everything] == []


def replaced_key(vector: dict[str, str]) -> dict[str, str]:
    """Return a vector with a key of its own, of which no other test could have left a trace."""
    import hmac

    key = secrets.token_bytes(32)
    derived = Key("k", key).derived(f"domain:{vector['domain']}")
    made = hmac.digest(key_text(derived).encode(), b"Ann", "sha256").hex()
    return {**vector, "value": "Ann", "key": key.hex(), "derived": derived.hex(), "hmac": made}


class logged:  # noqa: N801 - reads as a verb
    """Lets a server log every statement with its parameters meanwhile, and returns what reads its log."""

    def __init__(self, name: str, url: str) -> None:
        running = read(STATE).get(name)
        if running is None:
            pytest.skip("the log of a server that somebody else started cannot be read; run: make services")
        self.url, self.log, self.general = url, running.log, running.folder / f"general-{secrets.token_hex(4)}.log"

    def __enter__(self) -> Callable[[], bytes]:
        if engine_of(self.url) == "postgresql":
            name = urlsplit(self.url).path[1:]
            for setting in ("log_statement = 'all'", "log_parameter_max_length = -1", "log_parameter_max_length_on_error = -1", "log_duration = on",
                            "log_min_duration_statement = 0", "debug_print_plan = on", "log_error_verbosity = verbose"):  # fmt: skip
                ask(self.url, f"ALTER DATABASE {name} SET {setting}")
            return self.log.read_bytes
        ((self.before,),) = ask(self.url, "SELECT @@general_log_file")
        ask(self.url, f"SET GLOBAL general_log_file = '{self.general}'", "SET GLOBAL general_log = 1")
        return self.general.read_bytes

    def __exit__(self, *_: object) -> None:
        if engine_of(self.url) == "mysql":
            ask(self.url, "SET GLOBAL general_log = 0", f"SET GLOBAL general_log_file = '{self.before}'")


def test_a_key_is_on_no_server_unless_the_policy_names_it() -> None:
    here, elsewhere = parsed("postgresql://reader@db.example.org/hospital"), parsed("postgresql://db.example.org:5433/hospital")
    keys = {
        "silent": PolicyKey(environment="X"),
        "named": PolicyKey(environment="X", servers=["postgresql://DB.example.org:5432/hospital"]),
        "other": PolicyKey(environment="X", servers=["mariadb://db.example.org/hospital", "postgresql://db.example.org/other"]),
    }
    assert allowed_on(keys, here) == {"named"}
    assert allowed_on(keys, elsewhere) == set()
    assert allowed_on(keys, Address("mysql", "db.example.org", 3306, "x", "hospital")) == {"other"}
    assert allowed_on({**keys, "workers": PolicyKey(environment="X", servers=["spark"])}, SPARK) == {"workers"}
    # a file is worked on in this process, where the keys are
    assert allowed_on(keys, parsed("duckdb:///hospital.duckdb")) == set(keys)


@pytest.mark.parametrize("server", ["postgresql://me@host/db", "postgresql://me:pw@host/db", "postgresql://host", "sqlite://x/y", "host/db"])
def test_a_server_of_a_key_is_a_database_and_nobody(server: str) -> None:
    with pytest.raises(PolicyError):
        PolicyKey(environment="X", servers=[server])


def test_a_keyed_mask_has_no_expression_where_its_key_may_not_be() -> None:
    masked, context = masked_by(VECTORS[0])
    column = {"v": TableColumn("v", "text", pa.string())}
    for held in (None, Pads.of([(masked, context)], []), Pads.of([(masked, replace(context, view="other"))], ["another"])):
        assert expressed(masked, context, column, "postgresql", str, held) is None


def test_pads_show_nothing_of_themselves() -> None:
    masked, context = masked_by(VECTORS[0])
    held = Pads.of([(masked, context)], ["main"])
    assert repr(held) == "Pads(1)"
    assert held.__reduce__()[1] == ({},)
