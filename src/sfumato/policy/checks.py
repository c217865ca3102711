"""What must be true between the parts of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.condition import means_the_same
from sfumato.core.keys import looks_like_a_key
from sfumato.core.mask import Counting, Operation
from sfumato.core.mistakes import key_text
from sfumato.core.publication import IN_TWO_COLUMNS, published_names
from sfumato.core.relaxed_search import deals_out
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import Mistake, suggestion
from sfumato.key_material import could_be_a_key
from sfumato.policy.load import Loaded
from sfumato.policy.mask_checks import mask_mistakes
from sfumato.policy.mask_circles import mask_circles
from sfumato.policy.model import Column
from sfumato.policy.stream_checks import StreamChecks, decides_of_events, is_stream
from sfumato.policy.told_ways import ReadView, told_in_several_ways

if TYPE_CHECKING:
    from sfumato.core.interfaces import Promise
    from sfumato.core.masked_column import MaskedColumn


PROMISE_OF_A_VIEW = "a promise is kept by the rows of a release, and those of a live view change"
NO_PROMISE_OF_A_VIEW = "publish a copy, sink: {sql: ...}; a live view is access control, without promises"
"""What is wrong with a live view of which something is promised, and what is tried."""


class Checks:
    """What must be true between the parts of a policy."""

    def __init__(
        self,
        loaded: Loaded,
        promises: Mapping[int, Promise | None],
        masks: Mapping[str, MaskedColumn | None],
        mistakes: list[Mistake],
        algorithm: Any = None,
    ) -> None:
        self._policy = loaded.policy
        self._lines = loaded.lines
        self._unknown = loaded.unknown
        self._promises = promises
        self._masks = masks
        self._mistakes = mistakes
        self._algorithm = algorithm
        self._relaxed = deals_out(algorithm)
        self._is_stream = is_stream(loaded.policy)

    def run(self, needs: Sequence[str]) -> None:
        """Collect what is wrong; what follows only from another mistake is left out."""
        self._keys()
        self._columns()
        self._mistakes += mask_mistakes(self._policy, self._masks, self._lines, self._unknown)
        self._mistakes += mask_circles(self._masks, self._lines)
        alone = {"": ReadView(self._policy, self._masks, self._lines)}
        self._mistakes += [mistake for _, mistake in told_in_several_ways(alone, [""])]
        self._promised_columns()
        self._roles()
        self._subject()
        self._formats()
        self._counted_up()
        self._not_built()
        if self._is_stream:
            checks = StreamChecks(self._policy, self._lines, self._unknown, self._algorithm, self._promises, self._masks)
            self._mistakes += checks.mistakes()
        self._needs(needs)

    def _say(self, path: tuple[str | int, ...], message: str, code: str, hint: str | None = None) -> None:
        self._mistakes.append(Mistake(key_text(path), message, code, hint, self._lines.at(path)))

    def _role(self, name: str) -> str | None:
        """Return the role of a column; None where what was written is none."""
        return None if self._unknown & {("columns", name), ("columns", name, "role")} else self._policy.columns[name].role

    def _keys(self) -> None:
        if any(looks_like_a_key(name) or could_be_a_key(name) for name in self._policy.keys):
            words = "what looks like a key stands where the name of one should"
            self._say(("keys",), words, "policy-key-pasted", "put the key into a file that only you may read, and name the file here")

    def _columns(self) -> None:
        if not self._policy.columns and ("columns",) not in self._unknown:
            self._say(("columns",), "names no column", "policy-no-columns", "name every column of the source and its role")
        for name, column in self._policy.columns.items():
            if self._role(name) is not None:
                self._role_keys(name, column)
            self._column(name, column)

    def _role_keys(self, name: str, column: Column) -> None:
        place = ("columns", name)
        if column.role != "quasi_identifier":
            given = column.model_fields_set & {"weight", "level", "publish", "on_unknown"}
            for key in sorted(given):
                self._say(
                    (*place, key),
                    "says something only of a quasi_identifier",
                    "policy-role-key",
                    "leave it out, or change the role",
                )
            if column.missing and column.role != "sensitive":
                self._say((*place, "missing"), f"is of no use in a column of role {column.role}", "policy-role-key", "leave it out")
            mask = self._masks.get(name)
            of_use = name in getattr(self._algorithm, "attribute_columns", ()) or (mask is not None and mask.needs_ladder)
            if column.hierarchy is not None and column.role != "sensitive" and not of_use:
                self._say(
                    (*place, "hierarchy"),
                    f"is of no use in a column of role {column.role}",
                    "policy-role-key",
                    "leave it out, or change the role",
                )

    def _column(self, name: str, column: Column) -> None:
        place = ("columns", name)
        if column.publish in IN_TWO_COLUMNS:
            for other in published_names(name, column.publish):
                if other in self._policy.columns:
                    self._say((*place, "publish"), f"would publish a second column called {other}", "policy-bounds-clash", f"rename {other}")
        if column.level.maximum is not None and column.level.maximum < column.level.minimum:
            self._say((*place, "level"), "has a minimum above its maximum", "policy-level-range", "exchange them")

    def _need_ladders(self, place: int, promise: Promise | None) -> None:
        for name, scale in promise.scales.items() if promise is not None else ():
            column = self._policy.columns.get(name)
            told = self._unknown & {("columns", name), ("columns", name, "hierarchy")}
            if scale == "hierarchical" and column is not None and column.hierarchy is None and not told:
                self._say(
                    ("promises", place),
                    f"measures distances by the hierarchy of the column {name}, which has none",
                    "policy-hierarchy-missing",
                    f"{name}: {{role: sensitive, hierarchy: {{taxonomy: {{path: ...}}}}}}",
                )

    def _promised_columns(self) -> None:
        for place, promise in self._promises.items():
            given = getattr(promise, "given", ())
            for name in promise.reads if promise is not None else ():
                self._promised_column(("promises", place), name, name in given)
            self._need_ladders(place, promise)

    def _promised_column(self, path: tuple[str | int, ...], name: str, is_given: bool) -> None:
        columns = self._policy.columns
        if name not in columns:
            if ("columns",) not in self._unknown:
                self._say(
                    path,
                    f"speaks of the column {name}, which the policy does not name",
                    "policy-unknown-column",
                    suggestion(name, columns),
                )
            return
        if self._role(name) not in (None, "sensitive") and is_given:
            words = f"is given {name}, whose role is {columns[name].role}, and a given column must be a sensitive one"
            known = f"leave {name} out of given: it is a quasi_identifier, and the promise is made for each of their classes"
            self._say(path, words, "policy-role", known if columns[name].role == "quasi_identifier" else _with_role(name, "sensitive"))
        elif self._role(name) not in (None, "sensitive"):
            self._say(path, f"protects the column {name}, whose role is {columns[name].role}", "policy-role", self._protected_instead(name))

    def _protected_instead(self, name: str) -> str:
        """Return what to do about a promise over a column that is not sensitive; a quasi-identifier must go on being generalised."""
        if self._policy.columns[name].role != "quasi_identifier":
            return _with_role(name, "sensitive")
        sensitive = [other for other in self._policy.columns if self._role(other) == "sensitive"]
        if not sensitive:
            return f"name a column of role sensitive; {name} is generalised, and k_anonymity protects it"
        return f"{' or '.join(map(yaml_text, sensitive))} in place of {yaml_text(name)}"

    def _leaves(self, name: str) -> bool:
        """Return whether a column is published, masked or not; one whose mask is wrong would be."""
        if self._policy.columns[name].mask is None and ("columns", name, "mask") not in self._unknown:
            return self._role(name) != "identifier"
        mask = self._masks.get(name)
        return mask is None or not mask.drops

    def _roles(self) -> None:
        roles = {self._role(name) for name in self._policy.columns}
        promised = self._policy.promises or any(path[:1] == ("promises",) for path in self._unknown)
        if roles and not any(map(self._leaves, self._policy.columns)):
            self._say(
                ("columns",), "every column is removed: nothing would be published", "policy-no-columns", "give a column another role, or a mask"
            )
        if "quasi_identifier" in roles and not promised and not decides_of_events(self._policy.algorithm):
            self._say(
                ("promises",),
                "there are quasi-identifiers, but nothing is promised",
                "policy-no-promise",
                "promises: [{k_anonymity: {k: 5}}]",
            )
        if self._policy.promises and not roles & {"quasi_identifier", None} and self._policy.columns:
            self._promised_of_nobody()
        if self._policy.order == "source" and self._policy.promises:
            self._say(
                ("order",),
                "source order would void every promise: row i of the release would be row i of the source",
                "policy-order",
                "leave it out",
            )

    def _promised_of_nobody(self) -> None:
        if self._policy.sink is not None and self._policy.sink.name == "live_view":
            # whoever gave columns the role would be told next that a view generalises none
            self._say(("promises",), PROMISE_OF_A_VIEW, "policy-live-view", NO_PROMISE_OF_A_VIEW)
            return
        self._say(
            ("promises",),
            "something is promised, but there is no quasi_identifier",
            "policy-no-quasi-identifier",
            "give the columns by which people can be known that role",
        )

    def _subject(self) -> None:
        subject = self._policy.subject
        if subject is None:
            return
        if subject not in self._policy.columns:
            if ("columns",) in self._unknown:
                return
            self._say(
                ("subject",),
                f"the column {subject} is not among the columns",
                "policy-unknown-column",
                suggestion(subject, self._policy.columns),
            )
            return
        if self._relaxed:
            words = "deals out rows that are alike, and with a subject these may be one person's"
            self._say(("algorithm",), words, "policy-relaxed", "leave relaxed out, or subject where everybody has one row")
        mask = self._masks.get(subject)
        if self._role(subject) is None:
            return
        if self._policy.promises and (self._role(subject) != "identifier" or (mask is not None and not mask.says_nothing)):
            self._say(
                ("subject",),
                f"the column {subject} would be published and show which rows are one person's",
                "policy-subject-published",
                _with_role(subject, "identifier"),
            )

    def _counted_up(self) -> None:
        """Refuse what is counted up as it comes in the source beside a promise, which chance must keep from that order.

        Whoever else shares the numbers, another column, view or table or an earlier run, may have counted first.
        """
        if not self._policy.promises and not any(column.role == "quasi_identifier" for column in self._policy.columns.values()):
            return
        for name, mask in self._masks.items():
            if mask is not None and any(isinstance(step, Counting) and step.counts_up for step in mask.operations):
                words = "has tokens in sequence, which tell in which order values came in the source, or in an earlier run: rows could be found again"
                self._say(("columns", name, "mask"), f"{words} beside what is promised", "policy-token-order", "order: random")

    def _formats(self) -> None:
        for name in self._policy.formats if ("columns",) not in self._unknown else ():
            if name not in self._policy.columns:
                self._say(
                    ("formats", name), "is a column that the policy does not name", "policy-unknown-column", suggestion(name, self._policy.columns)
                )
        forms = {name: given.form() for name, given in self._policy.formats.items()}
        for name, mask in self._masks.items():
            step = next((step for step in mask.operations if isinstance(step, Operation) and step.keeps_decimals), None) if mask is not None else None
            if step is not None and name in forms and forms[name].point:
                # 12,00 is read as 12, and noise on it would be none
                words = f"{step.component_name()} gives a number as many decimals as it has, which are not known once its format has been read"
                self._say(("columns", name, "mask"), words, "policy-format", "decimals: 2, or however many there shall be")
        conditions = [(("columns", name, "when"), mask.when) for name, mask in self._masks.items() if mask is not None and mask.when is not None]
        window = self._policy.window
        starts = [(("window", "starts"), window.starts)] if window is not None and window.starts is not None else []
        for key, condition in [*conditions, *starts]:
            for column, text in condition.texts:
                read = forms[column].read(text) if column in forms else None
                if read is not None and not means_the_same(read, text):
                    words = f"compares the column {column} with a value as the source writes it, which no value equals once it is read"
                    self._say(key, words, "policy-condition", f"'{read}' in its place")

    def _not_built(self) -> None:
        if self._policy.order == "source" and not self._policy.promises and not self._is_stream:
            self._say(("order",), "releases in source order are not built yet", "policy-not-built", "leave it out")

    def _needs(self, keys: Sequence[str]) -> None:
        lacking = {key for key in keys if getattr(self._policy, key) is None and (key,) not in self._unknown}
        if "source" in lacking:
            self._say(("source",), "the policy names no source", "policy-no-source", "source: data.csv")
        if "sink" in lacking:
            self._say(("sink",), "the policy names no sink", "policy-no-sink", "sink: release.csv")


def _with_role(name: str, role: str) -> str:
    return f"columns: {yaml_text({name: {'role': role}})}"
