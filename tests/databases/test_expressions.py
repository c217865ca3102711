"""Masks as SQL: on every engine the same bytes as the mask itself, for the values that engines do not agree on; or no expression."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.core.condition import Condition
from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.mask_effect import Made
from sfumato.core.masked_column import MaskedColumn
from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.dialects import Engine
from sfumato.databases.expressions import Expressed, expressed
from sfumato.databases.pads import Pads
from sfumato.databases.policy_texts import PolicyTexts
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError
from sfumato.registry import find
from tests.databases.corpus import COLUMNS, VALUE
from tests.servers import SERVER_FIXTURES, component, connect

pytestmark = pytest.mark.slow

ENGINES = ["duckdb", "postgresql", "postgresql18", "mariadb", "mysql", "spark"]
SERVED: dict[str, Engine] = {"postgresql": "postgresql", "postgresql18": "postgresql", "mariadb": "mysql", "mysql": "mysql"}
KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})


class Place:
    """Where expressions are computed: a table of the corpus, and what a query over it gives."""

    def __init__(
        self, engine: Engine, table: str, columns: dict[str, TableColumn], batch: pa.RecordBatch, ask: Callable[..., pa.Table], connection: Any = None
    ) -> None:
        self.engine, self.table, self.columns, self.batch, self.ask, self.connection = engine, table, columns, batch, ask, connection


@pytest.fixture(scope="module")
def place_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Place]:
    """Return what makes a table of a column of the corpus on an engine, once: tests come in random order, and each engine has its turn many times."""

    @cache
    def on(engine: str) -> Callable[[str], Place]:
        if engine == "duckdb":
            return partial(in_duckdb, opened(duckdb.connect()))
        if engine == "spark":
            return partial(in_spark, request.getfixturevalue("spark_session"), tmp_path_factory.mktemp("corpus"))
        url = request.getfixturevalue(SERVER_FIXTURES[engine])
        password = component(url, "x") and url.split("@")[0].rsplit(":", 1)[1]
        return partial(on_server, SERVED[engine], url, opened(connected(parsed(component(url, "x")["url"]), password)))

    def opened(session: Any) -> Any:
        # ends before the database is dropped, which the module has known longer
        request.node.addfinalizer(lambda: session.__exit__(None, None, None))
        return session.__enter__()

    return cache(lambda engine, column: on(engine)(column))


def corpus(name: str) -> pa.RecordBatch:
    column = COLUMNS[name]
    numbers = pa.array(range(len(column.values)), pa.int32())
    return pa.RecordBatch.from_arrays([numbers, pa.array(column.values, column.kind)], names=["id", VALUE])


def in_duckdb(connection: Any, name: str) -> Place:
    batch = corpus(name)
    connection.register("given", pa.Table.from_batches([batch]))
    connection.execute(f"CREATE TABLE corpus_{name} AS SELECT * FROM given")
    columns = {field.name: TableColumn(field.name, str(field.type), field.type) for field in batch.schema}

    def ask(query: str, kinds: pa.Schema) -> pa.Table:
        connection.execute(f"CREATE OR REPLACE TABLE made AS {query}")
        return connection.sql("SELECT * FROM made ORDER BY id").to_arrow_table().cast(pa.schema([("id", pa.int32()), *kinds]))

    return Place("duckdb", f"corpus_{name}", columns, batch, ask)


def in_spark(session: Any, folder: Any, name: str) -> Place:
    from sfumato.databases.spark_types import column_of

    batch = corpus(name)
    pq.write_table(pa.Table.from_batches([batch]), folder / f"{name}.parquet")
    frame = session.read.parquet(f"file:{folder}/{name}.parquet")
    frame.createOrReplaceTempView(f"corpus_{name}")
    columns = {field.name: column_of(field) for field in frame.schema.fields}

    def ask(query: str, kinds: pa.Schema) -> pa.Table:
        return session.sql(f"SELECT * FROM ({query}) ORDER BY id").toArrow().cast(pa.schema([("id", pa.int32()), *kinds]))

    return Place("spark", f"corpus_{name}", columns, batch, ask)


def on_server(engine: Engine, url: str, connection: Any, name: str) -> Place:
    column, table = COLUMNS[name], f"corpus_{name}"
    value = connection.quoted_name(VALUE)
    kind = column.postgresql if engine == "postgresql" else column.mysql or column.postgresql
    with connect(url) as loader, loader.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {table} (id int, {value} {kind})" + (" CHARACTER SET utf8mb4" if engine == "mysql" else ""))
        cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", list(enumerate(column.values)))
        loader.commit()
    columns = connection.columns(TableName(table))
    (batch,) = connection.read(TableName(table), columns, order="id")

    def ask(query: str, kinds: pa.Schema) -> pa.Table:
        made = connection.placed(TableName(f"made_{secrets.token_hex(4)}"))
        connection.do(f"CREATE TABLE {connection.quoted(made)} AS {query}")
        wanted = [TableColumn("id", "int", pa.int32())]
        wanted += [TableColumn(field.name, "", field.type, as_text=pa.types.is_decimal(field.type) and engine == "postgresql") for field in kinds]
        batches = list(connection.read(made, wanted, order="id"))
        connection.do(f"DROP TABLE {connection.quoted(made)}")
        return pa.Table.from_batches(batches)

    placed = connection.quoted(connection.placed(TableName(table)))
    return Place(engine, placed, {column.name: column for column in columns}, batch, ask, connection)


def mask(name: str, **settings: Any) -> MaskedColumn:
    return MaskedColumn(VALUE, [find("masking", name)(**settings)])


def when(masked: MaskedColumn, otherwise: Sequence[Any] = (), **test: Any) -> MaskedColumn:
    joined = {key: value for key, value in test.items() if key in ("and", "or", "not")}
    condition = Condition.model_validate(joined or {"column": VALUE, **test})
    return MaskedColumn(VALUE, masked.steps, condition, list(otherwise), masked.on_null, masked.on_invalid)


NASTY = "it's \\ a \"q\" `b` \n ü 🙂 %s {0} -- /* \\' \\n \\0 $1 ; \t\r"
STAR = find("masking", "constant")(value="*")
CASES: list[tuple[str, str, MaskedColumn]] = [
    *((f"{name} of {column}", column, mask(name)) for name in ("keep", "empty", "constant") for column in COLUMNS),
    *((f"constant nasty of {column}", column, mask("constant", value=NASTY)) for column in ("text", "day")),
    *(
        (f"{name} {settings} of {column}", column, mask(name, **settings))
        for column in ("text", "short", "small", "wide", "money", "round", "day", "instant", "truth")
        for name, settings in (
            ("character_mask", {}),
            ("character_mask", {"keep_first": 1, "keep_last": 2}),
            ("character_mask", {"keep_first": 2, "character": "█"}),
            ("character_mask", {"keep_last": 3, "length": 4, "character": "\\"}),
            ("shorten", {"length": 2}),
            ("shorten", {"length": 2, "ellipsis": "…'\\"}),
            ("shorten", {"length": 3, "side": "end", "ellipsis": "."}),
            ("hash", {"unkeyed": "sha256"}),
            ("hash", {"unkeyed": "sha512", "length": 20}),
            ("hash", {"unkeyed": "sha256", "output": "integer"}),
            ("hash", {"key": "main", "domain": "people"}),
            ("hash", {"key": "main", "length": 16}),
            ("hash", {"key": "main", "output": "integer"}),
            ("map_values", {"mapping": {"a": "1", "A": "2", "Müller": "3", "": "none", "\\": "'\\", "a\nb": NASTY, "5": "five", "true": "yes"}}),
            ("map_values", {"mapping": {"a ": "1", "🙂": "2", "2020-01-31": "3", "0.05": "4"}, "default": "other's"}),
        )
    ),
    *(
        (f"email {settings}", "email", mask("email_mask", **settings))
        for settings in (
            {},
            {"keep_first": 1},
            {"keep_first": 2, "keep_domain": False},
            {"keep_domain": False, "character": "█"},
            {"character": "\\"},
        )
    ),
    *(
        (f"{name} {settings}", "number", mask(name, **settings))
        for name, settings in (
            ("card_mask", {}),
            ("card_mask", {"keep_first": 6, "keep_last": 4, "character": "█"}),
            ("card_mask", {"keep_last": 0}),
            ("phone_mask", {}),
            ("phone_mask", {"keep_last": 2}),
            ("phone_mask", {"keep_last": 9, "character": "🙂"}),
            ("phone_mask", {"keep_country": True}),
            ("uuid_mask", {}),
            ("uuid_mask", {"keep_first": 2, "keep_last": 8, "character": "\\"}),
            ("postcode_mask", {}),
            ("postcode_mask", {"keep_first": 0}),
            ("postcode_mask", {"keep_first": 4, "character": "#"}),
            ("postcode_mask", {"outward": True}),
        )
    ),
    *(
        (f"{name} {settings} of {column}", column, mask(name, **settings))
        for column in ("small", "integer", "wide", "money", "fine", "round", "float", "text")
        for name, settings in (
            *(("round_number", {"base": base, "mode": mode}) for base in (10, 7, 10**15) for mode in ("nearest", "down", "up")),
            ("round_number", {"decimals": 0}),
            ("round_number", {"decimals": 1}),
            ("top_bottom_code", {"bottom": 5, "top": 90}),
            ("top_bottom_code", {"bottom": -5, "beyond": "label"}),
            ("top_bottom_code", {"top": 18, "beyond": "label"}),
            ("top_bottom_code", {"top": 10**15}),
            ("generalise", {"size": 10}),
            ("generalise", {"size": 7, "minimum": -4, "maximum": 90}),
            ("generalise", {"size": 1}),
            ("generalise", {"size": 10, "decimals": 2}),
            ("generalise", {"intervals": 7, "minimum": 0, "maximum": 100}),
            ("generalise", {"bins": [18, 65]}),
            ("generalise", {"bins": [18, 65], "labels": ["young", "it's \\", "ält"], "minimum": 0}),
            ("generalise", {"prefix": 1}),
        )
    ),
    *(
        (f"{name} {settings} of {column}", column, mask(name, **settings))
        for column in ("money", "fine")
        for name, settings in (
            ("round_number", {"base": 0.05}),
            ("round_number", {"base": 0.25, "mode": "down"}),
            ("top_bottom_code", {"bottom": 0.05, "top": 17.5}),
            ("top_bottom_code", {"bottom": 0.05, "top": 17.5, "beyond": "label"}),
            ("generalise", {"size": 0.5}),
            ("generalise", {"size": 2.5, "minimum": -5.25}),
            ("generalise", {"bins": [0.05, 17.5]}),
            ("generalise", {"size": 1, "decimals": 6}),
        )
    ),
    *(
        (f"{name} {settings} of {column}", column, mask(name, **settings))
        for column in ("day", "instant")
        for name, settings in (
            *(("generalise", {"keep": stretch}) for stretch in ("year", "quarter", "month", "week", "day")),
            ("generalise", {"size": 30, "minimum": "1900-01-01"}),
            ("generalise", {"size": 3650, "minimum": "0001-01-01", "maximum": "9999-12-31"}),
            ("generalise", {"bins": ["1970-01-01", "2000-02-29"]}),
            ("generalise", {"intervals": 4, "minimum": "1900-01-01", "maximum": "2024-12-31"}),
            ("top_bottom_code", {"bottom": "1970-01-01", "top": "2020-12-31"}),
            ("top_bottom_code", {"bottom": "1970-01-01", "beyond": "label"}),
            ("top_bottom_code", {"bottom": "1970-01-01T12:00:00Z", "top": "2020-12-31T12:30:00Z"}),
        )
    ),
    *(
        (f"when {test} of {column}", column, when(mask("constant"), **test))
        for column, test in (
            *(("text", {"equals": value}) for value in ("a", "", "\\", "a ", "Müller", "5", "🙂", "a\nb", True)),
            *(("text", {"one_of": value}) for value in (["a", "A"], ["'", '"'], ["x", True])),
            ("text", {"missing": True}),
            ("text", {"missing": False}),
            ("text", {"equals": "a", "missing": False}),
            *(("text", {"matches": value}) for value in ("^a", "b$", "^.$", "[0-9]+", r"\d", "(?i)müller", "ü", r"a.b", r"\bmu", "^$", r"\s")),
            ("text", {"not": {"column": VALUE, "equals": "a"}}),
            ("text", {"or": [{"column": VALUE, "equals": "a"}, {"column": VALUE, "missing": True}]}),
            ("text", {"and": [{"column": VALUE, "missing": False}, {"not": {"column": VALUE, "one_of": ["a", "ab"]}}]}),
            *((column, {name: 17}) for column in ("small", "large") for name in ("at_least", "at_most", "above", "below", "equals")),
            *((column, {name: 16.5}) for column in ("small", "large") for name in ("at_least", "at_most", "above", "below", "equals")),
            ("wide", {"equals": 2**53 + 1}),
            ("small", {"one_of": [5, "17", -1.0]}),
            ("small", {"equals": "5"}),
            ("money", {"at_least": 18}),
            ("money", {"equals": 5}),
            ("money", {"missing": True}),
            *(
                (column, {name: bound})
                for column in ("day", "instant")
                for name in ("at_least", "at_most", "above", "below")
                for bound in ("2000-01-01", "2000-01-01T12:30:00Z")
            ),
            ("day", {"equals": "2020-01-31"}),
            ("truth", {"equals": True}),
            ("truth", {"equals": "false"}),
            ("float", {"at_least": 0}),
        )
    ),
    ("chain", "text", MaskedColumn(VALUE, [find("masking", "shorten")(length=5), find("masking", "character_mask")(keep_first=2)])),
    ("chain of numbers", "integer", MaskedColumn(VALUE, [find("masking", "round_number")(base=5), find("masking", "generalise")(size=20)])),
    ("chain that fails twice", "number", MaskedColumn(VALUE, [find("masking", "uuid_mask")(), find("masking", "map_values")(mapping={"*": "?"})])),
    ("chain on constant", "text", MaskedColumn(VALUE, [STAR, find("masking", "hash")(unkeyed="sha256")])),
    ("constant, nulls kept", "text", MaskedColumn(VALUE, [STAR], on_null="keep")),
    ("shorten, nulls refused", "text", MaskedColumn(VALUE, [find("masking", "shorten")(length=2)], on_null="error")),
    ("constant, nulls generated", "small", MaskedColumn(VALUE, [STAR], on_null="generate")),
    ("otherwise", "large", when(mask("round_number", base=100), [find("masking", "generalise")(size=10)], at_least=50)),
    ("otherwise of one type", "large", when(mask("round_number", base=100), [find("masking", "empty")()], at_least=50)),
    ("two types", "money", when(mask("constant"), [find("masking", "round_number")(base=1)], missing=True)),
    ("emptied where", "text", when(mask("empty"), equals="a")),
]
CASES = [case for case in CASES if case[2].misfit(COLUMNS[case[1]].kind, None) is None]


def made_by(place: Place, masked: MaskedColumn, context: MaskContext) -> tuple[Expressed | None, pa.Table | None]:
    pads = Pads.of([(masked, context)], {"main"})
    # servers have what the policy says in a table, as in a run; that a statement can have it too is what a live view needs, and is tested there
    texts = PolicyTexts() if place.connection is not None else None
    found = expressed(masked, context, place.columns, place.engine, lambda name: quoted(place, name), pads, texts)
    if found is None:
        return None, None
    parts = {"v": found.value, "h": found.held, "m": found.missing, **{f"i {name}": text for name, text in found.invalid.items()}}
    parts |= {f"u{number}": text for number, text in enumerate([*found.unreadable, *found.unplaced])}
    listed = [f"{text if name == 'v' else truth(place, text)} AS {quoted(place, name)}" for name, text in parts.items() if text is not None]
    kinds = [
        ("v", masked.output_type(place.columns[VALUE].kind)),
        *((name, pa.int32()) for name, text in parts.items() if text is not None and name != "v"),
    ]
    joined = f" CROSS JOIN {padding(place, pads)}" if found.joins else ""
    joined += f" CROSS JOIN {texts.brought_to(place.connection)}" if texts else ""
    return found, place.ask(f"SELECT id, {', '.join(listed)} FROM {place.table}{joined}", pa.schema(kinds))


def quoted(place: Place, name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if place.engine in ("duckdb", "postgresql") else "`" + name.replace("`", "``") + "`"


def truth(place: Place, text: str) -> str:
    return f"CAST(CASE WHEN {text} THEN 1 ELSE 0 END AS {'SIGNED' if place.engine == 'mysql' else 'INT'})"


def padding(place: Place, pads: Pads) -> str:
    """Return the pads as literals: what brings them to a server is tested elsewhere."""
    literal = {"postgresql": "'\\x{}'::bytea", "mysql": "x'{}'", "duckdb": "unhex('{}')", "spark": "X'{}'"}[place.engine]
    columns = zip(pads.columns, (pad for both in pads.held.values() for pad in both), strict=True)
    return f"(SELECT {', '.join(f'{literal.format(pad.hex())} AS {name}' for name, pad in columns)}) sfumato_pads"


def applied(place: Place, masked: MaskedColumn, context: MaskContext) -> Made:
    order = place.batch.sort_by("id")
    return masked.made(pa.RecordBatch.from_arrays([order.column(VALUE)], names=[VALUE]), context)


def bytes_of(values: list[Any]) -> list[Any]:
    return [value.encode() if isinstance(value, str) else (str(value), value) if isinstance(value, float | Decimal) else value for value in values]


# a query of Spark takes long, and two versions of PostgreSQL share their functions: every fourth case tells whether they still fit
STEPS = {"spark": 4, "postgresql18": 4}
TRIED = [(engine, *case) for engine in ENGINES for case in CASES[:: STEPS.get(engine, 1)]]


@pytest.mark.parametrize(
    ("engine", "column", "masked"),
    [(engine, column, masked) for engine, _, column, masked in TRIED],
    ids=[f"{engine}-{name}" for engine, name, _, _ in TRIED],
)
def test_an_engine_makes_the_same_bytes_as_the_mask_or_has_no_expression(place_of: Any, engine: str, column: str, masked: MaskedColumn) -> None:
    place = place_of(engine, column)
    context = MaskContext(VALUE, keys=KEYS)
    found, table = made_by(place, masked, context)
    if found is None or table is None:
        return
    made = applied(place, masked, context)
    assert bytes_of(table.column("v").to_pylist()) == bytes_of(made.values.to_pylist())
    told = {
        "h": made.held if found.held else None,
        "m": made.missing if found.missing else None,
        **{f"i {name}": made.invalid.get(name) for name in found.invalid},
    }
    for name, rows in told.items():
        if name in table.column_names:
            assert table.column(name).to_pylist() == ([0] * len(made.values) if rows is None else [int(row) for row in rows]), name
    assert set(made.invalid) <= set(found.invalid)
    assert all(not any(table.column(name).to_pylist()) for name in table.column_names if name.startswith("u"))


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_too_long_to_be_compared_are_told_of_and_not_compared(place_of: Any, engine: str) -> None:
    place, masked = place_of(engine, "wide"), when(mask("constant"), at_least=17)
    with pytest.raises(DataError) as refused:
        applied(place, masked, MaskContext(VALUE))
    found = expressed(masked, MaskContext(VALUE), place.columns, place.engine, lambda name: quoted(place, name))
    assert found is not None
    assert len(found.unplaced) == 1
    query = f"SELECT id, {truth(place, found.unplaced[0])} AS {quoted(place, 'n')} FROM {place.table}"
    assert refused.value.code == "mask-condition"
    assert sum(place.ask(query, pa.schema([("n", pa.int32())])).column("n").to_pylist()) == 4


@pytest.mark.parametrize("engine", ["postgresql", "mysql", "duckdb"])
def test_masks_that_were_expressed_once_still_are(engine: Engine) -> None:
    context, without = MaskContext(VALUE, keys=KEYS), []
    for name, column, masked in CASES:
        given = COLUMNS[column]
        known = {VALUE: TableColumn(VALUE, given.mysql or given.postgresql, given.kind)}
        if expressed(masked, context, known, engine, str, Pads.of([(masked, context)], {"main"})) is None:
            without.append(name)
    assert len(without) <= WITHOUT[engine]


# intervals of decimals are among them: whether one holds a value depends on its row
WITHOUT = {"postgresql": 101, "mysql": 101, "duckdb": 99}
"""How many of the cases go through Arrow: numbers in text, binary fractions, limits that a type does not hold, expressions of another language."""
