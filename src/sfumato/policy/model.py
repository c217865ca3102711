"""A policy as frozen typed values: what the columns are, what must hold, and what each audience may see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.condition import Condition
from sfumato.core.formats import ENDINGS, format_of, is_read_alone
from sfumato.core.masked_column import OnInvalid, OnNull
from sfumato.core.periods import AGE, PeriodLength
from sfumato.core.publication import Style
from sfumato.core.settings import Settings
from sfumato.core.written_forms import WrittenForm
from sfumato.databases.key_servers import PolicyKey
from sfumato.policy.seed import Seed
from sfumato.policy.windows import StreamSettings, Window

Role = Literal["identifier", "quasi_identifier", "sensitive", "other"]


class Component(Settings):
    """A component as a policy writes it: its name and its settings, or, built in Python, the settings class itself."""

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    instance: Any = None


def _component(value: Any) -> Any:
    if isinstance(value, Component):
        return value
    if isinstance(value, Settings):
        return Component(name=value.component_name(), instance=value)
    if isinstance(value, str):
        return Component(name=value)
    if isinstance(value, Mapping) and len(value) == 1:
        name, settings = next(iter(value.items()))
        if isinstance(name, str) and (settings is None or (isinstance(settings, Mapping) and all(isinstance(key, str) for key in settings))):
            return Component(name=name, settings=dict(settings or {}))
    raise ValueError("must be a name, or {name: {settings}}")


def _sink(value: Any) -> Any:
    if isinstance(value, str) and is_read_alone(value):
        raise ValueError("has the ending of a stream of Arrow, which is read and not written: Arrow is written as a file")
    return Component(name="standard_output") if value == "-" else _file_or_component(value)


def _file_or_component(value: Any) -> Any:
    if not isinstance(value, str):
        return _component(value)
    known = format_of(value)
    if known is None:
        raise ValueError(f"has an ending that says no format; known: {ENDINGS}; or write {{format: {{path: ...}}}}")
    return Component(name=known[0], settings={"path": value, **known[1]})


def _source(value: Any) -> Any:
    if value == "-":
        return Component(name="standard_input")
    return Component(name="folder", settings={"path": value}) if isinstance(value, str) and value.endswith("/") else _file_or_component(value)


def _steps(value: Any) -> Any:
    return value if isinstance(value, list) else [_component(value)]


def _pattern_alone(value: Any) -> Any:
    return {"pattern": value} if isinstance(value, str) else value


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


AnyComponent = Annotated[Component, BeforeValidator(_component)]
FileComponent = Annotated[Component, BeforeValidator(_sink)]
SourceComponent = Annotated[Component, BeforeValidator(_source)]
Texts = Annotated[list[str], BeforeValidator(_one_or_many, json_schema_input_type=str | list[str])]
_Known = Literal["singling_out", "inference"]
_KnownOfColumn = Literal["singling_out", "inference", "warnings"]
_KnownOfTable = Literal["singling_out", "inference", "broken_key"]
Steps = Annotated[list[AnyComponent], BeforeValidator(_steps), Field(min_length=1)]
Acceptance = Annotated[list[_Known], BeforeValidator(_one_or_many, json_schema_input_type=_Known | list[_Known])]
TableAcceptance = Annotated[list[_KnownOfTable], BeforeValidator(_one_or_many, json_schema_input_type=_KnownOfTable | list[_KnownOfTable])]
ColumnAcceptance = Annotated[list[_KnownOfColumn], BeforeValidator(_one_or_many, json_schema_input_type=_KnownOfColumn | list[_KnownOfColumn])]


class SourceFormat(Settings):
    """How a source writes dates, instants or numbers in one column."""

    pattern: Annotated[str, Field(description="a pattern such as %d.%m.%Y %H:%M, or the number 1234.56 as it stands there, 1.234,56")]
    time_zone: Annotated[str | None, Field(description="the zone whose clocks are meant, such as Europe/Berlin; UTC where none is given")] = None

    @model_validator(mode="after")
    def _known(self) -> SourceFormat:
        # made once to be checked, and again where it is used: a form is small
        self.form()
        return self

    def form(self) -> WrittenForm:
        """Return what reads it."""
        return WrittenForm.of(self.pattern, self.time_zone)


Format = Annotated[SourceFormat, BeforeValidator(_pattern_alone, json_schema_input_type=str | SourceFormat)]


class LevelRange(Settings):
    """How far a column may be generalised."""

    minimum: Annotated[int, Field(ge=0, description="at least this level")] = 0
    maximum: Annotated[int | None, Field(ge=0, description="at most this level")] = None


class Column(Settings):
    """What one column is and how it is treated."""

    role: Annotated[
        Role,
        Field(description="identifier: removed or masked; quasi_identifier: generalised; sensitive: protected; other: kept as it is, and measured"),
    ]
    type: Annotated[
        ValueType | None,
        Field(description="the type of its values; inferred over the whole column where it is not given"),
    ] = None
    hierarchy: Annotated[AnyComponent | None, Field(description="the ladder of its values; made automatically where it is not given")] = None
    mask: Annotated[Steps | None, Field(description="how its values are changed: an operation, or several one after the other")] = None
    when: Annotated[Condition | None, Field(description="the rows whose values the mask changes; all where it is not given")] = None
    otherwise: Annotated[Steps | None, Field(description="how the values of all other rows are changed; they are kept where it is not given")] = None
    on_null: Annotated[
        OnNull | None,
        Field(description="what a mask does with a missing value: keep it, generate one, or stop; as its card says where it is not given"),
    ] = None
    on_invalid: Annotated[OnInvalid, Field(description="what becomes of a value that a mask cannot take: the run stops, or it is removed")] = "error"
    unique: Annotated[bool, Field(description="whether masked values must be as many as there were before")] = False
    weight: Annotated[float, Field(gt=0, le=1e9, description="how much its detail matters, beside that of other columns")] = 1.0
    level: Annotated[LevelRange, Field(description="how far it may be generalised")] = LevelRange()
    publish: Annotated[Style | None, Field(description="how a generalised value is written")] = None
    on_unknown: Annotated[Literal["error", "suppress", "generalise"], Field(description="what a value outside the hierarchy does")] = "error"
    missing: Annotated[Texts, Field(description="texts that stand for a missing value")] = []
    accept: Annotated[ColumnAcceptance, Field(description="what is known of the column and taken into account")] = []

    @field_validator("mask", "otherwise", mode="before")
    @classmethod
    def _is_there(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("is null, which means no mask; `empty` makes values missing, and to have no mask leave the key out")
        return value


class Retention(Settings):
    """Which rows are anonymised into an archive and then deleted."""

    column: Annotated[str, Field(description="the column that says when a row was made: a day or an instant")]
    older_than: Annotated[str, Field(pattern=AGE, description="how old rows must be: a number and h, d or w, such as 90d")]
    period: Annotated[PeriodLength, Field(description="what a batch holds: rows of a day, week, month, quarter or year that is over")] = "month"
    key: Annotated[list[str], Field(description="the columns that tell the rows of the source apart; its primary key where none are given")] = []
    too_small: Annotated[
        Literal["wait", "delete"],
        Field(description="what becomes of rows of a period in which the promises cannot be kept: they wait for the next one, or are deleted"),
    ] = "wait"
    chunk: Annotated[int, Field(ge=1, le=1_000_000, description="how many rows are deleted in one transaction")] = 10_000
    cascade: Annotated[
        Literal["refuse", "accept"],
        Field(description="whether rows of other tables may go with those that are deleted, or be changed, by foreign keys; they are counted"),
    ] = "refuse"


class View(Settings):
    """What one audience sees; what it does not say is that of the whole policy."""

    columns: Annotated[dict[str, Column], Field(description="columns that differ; an entry replaces the whole entry")] = {}
    promises: Annotated[list[AnyComponent] | None, Field(description="what must hold in this view")] = None
    algorithm: Annotated[AnyComponent | None, Field(description="the search for this view")] = None
    suppression_limit: Annotated[float | None, Field(ge=0, le=1, description="the part of the rows that may be left out")] = None
    derived_from: Annotated[str | None, Field(description="the view of whose classes this one's are unions")] = None
    window: Annotated[Window | None, Field(description="the stretch of a stream that is anonymised together in this view")] = None
    sink: Annotated[FileComponent | None, Field(description="where this view goes")] = None


class Table(Settings):
    """One table of several of a database; what it does not say is that of the whole policy."""

    table: Annotated[str | None, Field(min_length=1, description="what the table or view is called; as its entry where it is not given")] = None
    schema_: Annotated[
        str | None, Field(alias="schema", min_length=1, description="the schema it is in; that of the source where it is not given")
    ] = None
    into: Annotated[
        str | None, Field(min_length=1, description="what the table that it goes to is called; as the table itself where it is not given")
    ] = None
    subject: Annotated[str | None, Field(description="the column that says which person a row is about")] = None
    columns: Annotated[dict[str, Column], Field(description="every column of the table")]
    unnamed: Annotated[Literal["refuse", "remove"] | None, Field(description="what becomes of columns of the table that are not named")] = None
    formats: Annotated[dict[str, Format] | None, Field(description="how the table writes dates and numbers")] = None
    promises: Annotated[list[AnyComponent] | None, Field(description="what must hold in this table")] = None
    algorithm: Annotated[AnyComponent | None, Field(description="the search for this table")] = None
    suppression_limit: Annotated[float | None, Field(ge=0, le=1, description="the part of the rows that may be left out")] = None
    accept: Annotated[TableAcceptance | None, Field(description="what is known of the table and taken into account")] = None


class Policy(Settings):
    """What the columns of a source are, what must hold of what is released, and where it goes."""

    name: Annotated[
        str | None,
        Field(
            min_length=1,
            description="what tells it from other policies: pseudonyms without a domain are made for it alone; its file where it has none",
        ),
    ] = None
    source: Annotated[SourceComponent | None, Field(description="where rows come from")] = None
    subject: Annotated[str | None, Field(description="the column that says which person a row is about")] = None
    columns: Annotated[dict[str, Column], Field(description="every column of the source")]
    unnamed: Annotated[
        Literal["refuse", "remove"], Field(description="what becomes of columns of the source that are not named: the run stops, or they are removed")
    ] = "refuse"
    formats: Annotated[
        dict[str, Format],
        Field(description="how the source writes dates and numbers: %d.%m.%Y, or the number 1234.56 as it stands there, 1.234,56"),
    ] = {}
    keys: Annotated[dict[str, PolicyKey], Field(description="the keys that masks use, by name, and where each is read from; never a key itself")] = {}
    promises: Annotated[list[AnyComponent], Field(description="what must hold of the release")] = []
    algorithm: Annotated[AnyComponent, Field(description="the search for a recoding that keeps the promises")] = Component(name="mondrian")
    suppression_limit: Annotated[float, Field(ge=0, le=1, description="the part of the rows that may be left out")] = 0.0
    sink: Annotated[FileComponent | None, Field(description="where the release goes")] = None
    order: Annotated[Literal["published", "source"], Field(description="the order of the release; source order voids promises")] = "published"
    accept: Annotated[Acceptance, Field(description="what is known of the release and taken into account")] = []
    views: Annotated[dict[str, View], Field(description="several audiences of one source")] = {}
    readers: Annotated[dict[str, Texts], Field(description="who sees which views")] = {}
    retention: Annotated[Retention | None, Field(description="which rows of a table are archived and then deleted, by sfumato retain")] = None
    tables: Annotated[dict[str, Table], Field(description="several tables of one database, published together; in place of columns")] = {}
    window: Annotated[Window | None, Field(description="the stretch of a stream that is anonymised together")] = None
    stream: Annotated[StreamSettings | None, Field(description="how a stream is taken; a policy that has it is one of a stream")] = None
    seed: Annotated[Seed | None, Field(description="what all chance comes from, for tests alone: two runs give the same bytes")] = None

    @model_validator(mode="before")
    @classmethod
    def _columns_of_tables(cls, value: Any) -> Any:
        """Let a policy with tables have no columns of its own."""
        return {**value, "columns": {}} if isinstance(value, Mapping) and "tables" in value and "columns" not in value else value
