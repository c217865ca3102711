"""An anonymiser in the manner of scikit-learn, for pipelines that learn from generalised data within one process.

Row i of what comes out is row i of what went in, as pipelines need it. So it is no publication: who knows the order of the source knows whose
row is whose, and every promise is void. What others may see is made by ``sfumato.run``, whose order says nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.record import RunRecord
from sfumato.engine.fitted import Fitted, fit, transform
from sfumato.engine.frames import as_frame, kind_of_frame
from sfumato.engine.plan import AnyPolicy
from sfumato.errors import UsageError, suggestion
from sfumato.policy.load import load
from sfumato.policy.model import Policy

_BROKEN = ("raise", "suppress")
_FRAMES = ("default", "pandas", "polars", "arrow")


class Anonymiser:
    """Generalises rows as a policy says. ``fit`` searches the recoding and verifies it as a run does; ``transform`` applies it to any rows.

    Rows of another table do not have the promises by themselves: every ``transform`` measures them anew, on the text of what it returns. With
    ``on_broken="raise"`` it raises an error where they do not hold or a row fits into no class; with ``"suppress"`` such rows are left out.
    A row that is left out, there or by the suppression limit of the policy, is still in its place and says nothing: ``*`` in every generalised
    column, a missing value in every other.

    The source and the sink of the policy are not touched. A fitted anonymiser holds values of the table, and is as private as it.

    >>> policy = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    >>> Anonymiser(policy).fit_transform(pa.table({"age": [30, 70, 31, 71]})).to_pydict()
    {'age': ['[30, 31]', '[70, 71]', '[30, 31]', '[70, 71]']}
    """

    _fitted: Fitted | None = None
    _output: str = "default"

    def __init__(self, policy: AnyPolicy, on_broken: str = "raise") -> None:
        # as scikit-learn has it: parameters are kept as they are, and looked at when something is fitted
        self.policy = policy
        self.on_broken = on_broken

    def __repr__(self) -> str:
        """Say whether it is fitted, and nothing of what is in it."""
        return f"Anonymiser(on_broken={self.on_broken!r}{', fitted' if self._fitted else ''})"

    def fit(self, X: Any, y: Any = None) -> Anonymiser:  # noqa: N803 - the name by which scikit-learn gives it
        """Search the recoding on these rows and verify it; ``y`` is not looked at."""
        del y
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803 - as scikit-learn calls it
        """Fit, and return what the rows become: the verified release, in the order of the rows."""
        del y
        return self._framed(self._fit(X), X)

    def transform(self, X: Any) -> Any:  # noqa: N803 - as scikit-learn calls it
        """Return what these rows become by the recoding that was fitted; their promises are measured on it."""
        return self._framed(transform(self._known(), X, self._suppresses()), X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the published columns."""
        del input_features
        return np.array(self._known().published, object)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the columns that were fitted."""
        return np.array(self._known().columns, object)

    @property
    def n_features_in_(self) -> int:
        """The number of columns that were fitted."""
        return len(self._known().columns)

    @property
    def record_(self) -> RunRecord:
        """What was promised, measured and lost on the rows that were fitted."""
        return self._known().record

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        del deep
        return {"policy": self.policy, "on_broken": self.on_broken}

    def set_params(self, **parameters: Any) -> Anonymiser:
        """Change parameters; what was fitted stays until ``fit`` is called again."""
        for name, value in parameters.items():
            if name not in self.get_params():
                raise UsageError(f"an anonymiser has no parameter {name}", code="parameter-unknown", hint=suggestion(name, self.get_params()))
            setattr(self, name, value)
        return self

    def set_output(self, *, transform: str | None = None) -> Anonymiser:
        """Choose what comes out: ``pandas``, ``polars``, ``arrow``, or ``default``, which is what goes in."""
        if transform is not None:
            self._output = _one_of("transform", transform, _FRAMES)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Answer scikit-learn."""
        return self._fitted is not None

    def __sklearn_tags__(self) -> Any:
        """Answer scikit-learn, which alone asks."""
        told = importlib.import_module("sklearn.utils")
        accepted = told.InputTags(string=True, categorical=True, allow_nan=True)
        return told.Tags(
            estimator_type="transformer", target_tags=told.TargetTags(required=False), transformer_tags=told.TransformerTags(), input_tags=accepted
        )

    def _fit(self, rows: Any) -> pa.Table:
        self._suppresses()
        loaded = load(self.policy)
        _refuse_what_is_not_fitted(loaded.policy)
        self._fitted, table = fit(loaded, rows)
        return table

    def _known(self) -> Fitted:
        if self._fitted is None:
            raise UsageError("nothing has been fitted yet", code="not-fitted", hint="anonymiser.fit(table)")
        return self._fitted

    def _suppresses(self) -> bool:
        return _one_of("on_broken", self.on_broken, _BROKEN) == "suppress"

    def _framed(self, table: pa.Table, rows: Any) -> Any:
        given = kind_of_frame(rows)
        frame = as_frame(table, given if self._output == "default" else self._output)
        if given == "pandas" and kind_of_frame(frame) == "pandas":
            frame.index = rows.index
        return frame


def _refuse_what_is_not_fitted(policy: Policy) -> None:
    if policy.views or policy.tables:
        several = "views" if policy.views else "tables"
        raise UsageError(f"an anonymiser has one output, and the policy has {several}", code="parameter-value", hint=f"a policy without {several}")
    masked = [name for name, column in policy.columns.items() if column.mask is not None and column.role in ("quasi_identifier", "sensitive")]
    if masked:
        words = f"an anonymiser masks no column that promises speak of: {', '.join(masked)}"
        raise UsageError(words, code="parameter-value", hint="leave the mask out, or mask the column before")


def _one_of(name: str, value: Any, known: Sequence[str]) -> str:
    if value not in known:
        raise UsageError(f"{name} is none of {', '.join(known)}", code="parameter-value", hint=suggestion(str(value), known))
    return str(value)
