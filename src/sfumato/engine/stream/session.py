"""A session: one view of a stream as it goes, from Python or inside any consumer. It reads and writes nothing itself.

All chance of a push comes from the session's secret and from the number of its first record, and everything else from the records and the state: the
same records, pushed in the same pieces, give the same bytes again. A push that raises leaves the state as it was.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.chance import derived_chance
from sfumato.core.stream import Accounts
from sfumato.engine.broken_release import as_said_of_stream
from sfumato.engine.in_view import in_view
from sfumato.engine.plan import AnyPolicy
from sfumato.engine.stream import session_state
from sfumato.engine.stream.closing import Learnt
from sfumato.engine.stream.cluster_ledger import Ledger
from sfumato.engine.stream.cluster_work import ClusterWork
from sfumato.engine.stream.depended_on import ladders_as_bytes
from sfumato.engine.stream.event_work import EventWork
from sfumato.engine.stream.forming import Clock
from sfumato.engine.stream.incoming import schema_of, take
from sfumato.engine.stream.lately import Lately
from sfumato.engine.stream.measures import Measures
from sfumato.engine.stream.names import Names
from sfumato.engine.stream.opted_out import OptedOut
from sfumato.engine.stream.people import People
from sfumato.engine.stream.plan import StreamPlan, plan_stream, resolve_stream, way_of_view
from sfumato.engine.stream.release import Pushed
from sfumato.engine.stream.retracing import Retraced
from sfumato.engine.stream.sensitive import Known
from sfumato.engine.stream.used_keys import marks_of, refuse_other_keys
from sfumato.engine.stream.window_work import WindowWork
from sfumato.engine.stream.work import State, Work
from sfumato.errors import DataError, PromiseError, UsageError
from sfumato.policy.identity import policy_hash
from sfumato.policy.resolve import Resolved

_SHORTEST_SECRET = 16
_WORK = {"rows": Work, "windows": WindowWork, "clusters": ClusterWork, "events": EventWork}


class Session:
    """Takes the records of a stream and hands out what may be seen of them, one view of a policy.

    ``push`` takes an Arrow batch or table, a data frame of pandas or polars, or a list of mappings, and returns releases; records get numbers from 0,
    in the order in which they come. ``flush`` ends what waits. ``snapshot`` and ``restore`` carry the state elsewhere; it holds records: keep it
    as private as they are. Not for two threads at once.
    """

    def __init__(
        self,
        policy: AnyPolicy,
        view: str | None = None,
        secret: bytes | None = None,
        schema: pa.Schema | None = None,
        opted_out: OptedOut | None = None,
    ) -> None:
        if secret is not None and (not isinstance(secret, bytes) or len(secret) < _SHORTEST_SECRET):
            raise UsageError(f"a secret has {_SHORTEST_SECRET} bytes at least", code="stream-secret", hint="secret=os.urandom(32), kept for a replay")
        self._resolved, self.view = resolve_stream(policy, view)
        self._secret = os.urandom(32) if secret is None else secret
        whose = self._resolved.subject
        self._people = People(self._secret, None if whose is None else whose.kind)
        self._opted_out = opted_out or OptedOut()
        self._state = State()
        self._search: Retraced | None = None
        self._plan: StreamPlan | None = None if schema is None else self._planned(schema, False)

    @property
    def accounts(self) -> Accounts:
        """What became of the records so far: each is counted once."""
        return self._state.accounts

    @property
    def next_number(self) -> int:
        """The number that the next record will have: how many have come."""
        return self._state.next_number

    @property
    def time(self) -> int | None:
        """How far the stream's own time has come, in microseconds since 1970; None where nothing asks for it."""
        return self._state.clock.time

    @property
    def looks_at_times(self) -> bool:
        """Whether records have a time here, also where none has come yet."""
        way, window = way_of_view(self._resolved), self._resolved.policy.window
        return way == "events" or (way == "windows" and window is not None and window.column is not None)

    @property
    def began(self) -> int | None:
        """The time of the first record, as ``time`` tells it."""
        return self._state.clock.began

    @property
    def resolved(self) -> Resolved:
        """The policy of the view."""
        return self._resolved

    @property
    def plan(self) -> StreamPlan | None:
        """The plan of the view; None before the first records, where no schema was declared."""
        return self._plan

    def push(self, records: Any, unreadable: Sequence[int] = (), remains: pa.RecordBatch | None = None) -> Pushed:
        """Take further records and return what can be released now, with the records that were set aside, late or left out.

        ``unreadable`` are the places, among all records that came, of those that whoever reads them could not read: they have numbers too, and count
        as dead letters. ``remains`` has what could be read of some of them all the same, in columns like those of the records.
        """
        plan, taken = self._plan, take(records, self._resolved.policy, None if self._plan is None else self._plan.plan.schema)
        unread = np.asarray(unreadable, np.int64)
        if not taken.rows and remains is None:
            added = Accounts(dead=len(unread))
            self._state = replace(self._state, next_number=self.next_number + len(unread), accounts=self.accounts + added)
            return Pushed(accounts=added)
        if plan is None:
            schema = schema_of(taken, self._resolved.policy)
            with in_view(self.view, self._resolved.own):
                plan = self._planned(schema, taken.loose)
            # records that name their own columns are read again as the schema has them
            taken = take(records, self._resolved.policy, schema)
        work = self._work(plan, self._state, self._search)
        left = None if remains is None else take(remains, self._resolved.policy, plan.plan.schema)
        return self._done(plan, work, str(self.next_number), lambda: work.push(taken, unread, left))

    def flush(self) -> Pushed:
        """Release what still can be and leave out the rest: afterwards nothing waits."""
        if self._plan is None:
            return Pushed()
        work = self._work(self._plan, self._state, self._search)
        return self._done(self._plan, work, f"{self.next_number}:flush", work.flush)

    def measured(self) -> dict[str, Any]:
        """Return how the stream is doing: delays in records, loss, how many records are late, and what the search itself measures, such as z."""
        found = self._state.measures.as_mapping() | self._state.lately.told(self.time) | {"accounts": self.accounts.as_mapping()}
        if self._plan is not None and (removed := self._state.measures.removed_of(self._plan.plan.threshold)):
            found["removed"] = removed
        if self._search is not None and hasattr(self._search.search, "measured"):
            measures = self._search.search.measured()
            told = {name: getattr(measures, name) for name in measures.__dataclass_fields__}
            found["search"] = told | {"residual_information": measures.residual_information, "shares": measures.shares()}
        return found

    def snapshot(self) -> bytes:
        """Return the state, with which a session of the same policy, view and secret goes on as if nothing had happened."""
        state = self._state
        head = {
            "policy": self._fingerprint(),
            "view": self.view,
            "secret": self._mark(),
            "keys": {} if self._plan is None else marks_of(self._plan.plan.keys, self._secret),
            "schema": session_state.schema_as_text(None if self._plan is None else self._plan.plan.schema),
            "loose": self._plan is not None and self._plan.loose,
            "next_number": state.next_number,
            "accounts": state.accounts.as_mapping(),
            "clock": [state.clock.latest, state.clock.over, state.clock.began, state.clock.doubted],
            "scales": {name: session_state.scale_as_json(scale) for name, scale in state.learnt.scales.items()},
            "kinds": dict(state.learnt.kinds),
            "looked": state.learnt.looked,
            "known": {name: list(values) for name, values in state.known.values.items()},
            "time_kind": state.time_kind,
            "next_cluster": state.next_cluster,
            "measures": state.measures.as_state(),
            "searches": self._search is not None,
        }
        parts = {"waiting": session_state.rows_as_bytes(state.waiting), "carried": session_state.rows_as_bytes(state.carried)}
        parts["lately"] = state.lately.as_bytes()
        parts["names"] = session_state.names_as_bytes(self._names())
        parts["ledger"] = state.ledger.as_bytes()
        parts["search"] = self._search.search.snapshot() if self._search is not None else b""
        return session_state.written(head, parts)

    def restore(self, state: bytes) -> None:
        """Go on from a state. Raises an error, and changes nothing, where it is of another policy, view, secret or version, or damaged."""
        head, parts = session_state.read(state, self._fingerprint(), self.view)
        if not hmac.compare_digest(head["secret"], self._mark()):
            words, hint = "what was given to be restored was written under another secret", "the secret with which the session began"
            raise DataError(words, code="stream-state", hint=hint)
        schema = session_state.schema_of_text(head["schema"])
        plan = None if schema is None else self._planned(schema, head["loose"])
        if plan is not None:
            refuse_other_keys(marks_of(plan.plan.keys, self._secret), head.get("keys", {}), "what is restored was written under")
        ladders = self._resolved.ladders
        scales = {name: session_state.scale_of_json(told, ladders.get(name)) for name, told in head["scales"].items()}
        latest, over, began, doubted = head["clock"]
        restored = State(
            next_number=head["next_number"],
            accounts=Accounts(**head["accounts"]),
            clock=Clock(latest, over, began, tuple((when, whose) for when, whose in doubted)),
            lately=Lately.of_bytes(parts["lately"]),
            waiting=session_state.rows_of_bytes(parts["waiting"]),
            carried=session_state.rows_of_bytes(parts["carried"]),
            learnt=Learnt(scales, head["kinds"], head["looked"]),
            known=Known({name: {text: code for code, text in enumerate(values, start=1)} for name, values in head["known"].items()}),
            time_kind=head["time_kind"],
            next_cluster=head["next_cluster"],
            names=Names().later(session_state.names_of_bytes(parts["names"])),
            measures=Measures.of_state(head["measures"]),
            ledger=Ledger.of_bytes(parts["ledger"]),
            heeded=head["next_number"],
        )
        search = None
        if head["searches"] and plan is not None:
            search = self._work(plan, restored, None).started(parts["search"])
            # a state that does not fit is refused now, not with the next records
            _ = search.search
        self._plan, self._state, self._search = plan, restored, search

    def _planned(self, schema: pa.Schema, loose: bool) -> StreamPlan:
        """Return the plan of the view, and take note of who is listed as having opted out."""
        plan = plan_stream(self._resolved, self.view, schema, loose)
        listed = plan.opted_out_people
        if listed is not None:
            self._opted_out.learn(self._people.numbers(listed))
        return plan

    def _work(self, plan: StreamPlan, state: State, search: Retraced | None) -> Work:
        return _WORK[plan.way](plan, state, search, self._people, self._opted_out)

    def _done(self, plan: StreamPlan, work: Work, purpose: str, what: Any) -> Pushed:
        before = 0 if self._search is None else self._search.steps
        try:
            with derived_chance(self._secret, f"{self.view}:{purpose}"):
                pushed: Pushed = what()
        except BaseException as error:
            if self._search is not None:
                self._search.put_back(before)
            if isinstance(error, PromiseError) and (said := as_said_of_stream(error, self.view)) is not error:
                raise said from None
            with in_view(self.view, self._resolved.own):
                raise
        self._plan, self._state, self._search = plan, work.state, work.search
        if self._search is not None:
            self._search.settle()
        return pushed

    def _names(self) -> dict[int, Any]:
        return {} if self._search is None or not self._state.names.layers else self._state.names.as_mapping(self._search.search.people())

    def _fingerprint(self) -> str:
        """Return what tells a policy, with the hierarchies that it has written down, from all others."""
        digest = hashlib.sha256(policy_hash(self._resolved.policy).encode())
        for told in ladders_as_bytes(self._resolved):
            digest.update(told)
        return digest.hexdigest()

    def _mark(self) -> str:
        return hmac.digest(self._secret, b"state", "sha256").hex()


def stream(policy: AnyPolicy, view: str | None = None, secret: bytes | None = None, schema: pa.Schema | None = None) -> Session:
    """Begin a session of a policy, or of one of its views.

    Under a ``secret`` that is kept, the same records pushed in the same pieces give the same bytes; without one it is made up and forgotten.
    ``schema`` says which columns come; without it the first records do.
    """
    return Session(policy, view, secret, schema)
