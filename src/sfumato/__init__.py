"""sfumato: releases tables in which nobody can be singled out, and checks it on what it wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.engine.assess import Assessment, assess
    from sfumato.engine.estimator import Anonymiser
    from sfumato.engine.ladder_view import hierarchy
    from sfumato.engine.plan_view import PlanView, plan
    from sfumato.engine.release import Release, Releases
    from sfumato.engine.run import run
    from sfumato.engine.stream.check import StreamCheck, check_stream
    from sfumato.engine.stream.session import Session, stream
    from sfumato.policy.model import Column, Policy

__all__ = [
    "Anonymiser",
    "Assessment",
    "Column",
    "PlanView",
    "Policy",
    "Release",
    "Releases",
    "Session",
    "StreamCheck",
    "assess",
    "check_stream",
    "hierarchy",
    "plan",
    "run",
    "stream",
]

_HOMES = {
    "Anonymiser": "sfumato.engine.estimator",
    "Assessment": "sfumato.engine.assess",
    "Column": "sfumato.policy.model",
    "PlanView": "sfumato.engine.plan_view",
    "Policy": "sfumato.policy.model",
    "Release": "sfumato.engine.release",
    "Releases": "sfumato.engine.release",
    "Session": "sfumato.engine.stream.session",
    "StreamCheck": "sfumato.engine.stream.check",
    "assess": "sfumato.engine.assess",
    "check_stream": "sfumato.engine.stream.check",
    "hierarchy": "sfumato.engine.ladder_view",
    "plan": "sfumato.engine.plan_view",
    "run": "sfumato.engine.run",
    "stream": "sfumato.engine.stream.session",
}


def __dir__() -> list[str]:
    """Name what there is, though it is not imported yet."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: ``sfumato --help`` needs none of it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("sfumato")
    if name not in _HOMES:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
