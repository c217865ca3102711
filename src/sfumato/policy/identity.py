"""What tells one policy from another: its name, else the file it stands in, else all that it says.

Pseudonyms that name no domain are made for one view of one policy, so that readers of two policies cannot link them.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sfumato.policy.model import Policy


def policy_hash(policy: Policy) -> str:
    """Return a hash of the policy: it is not secret and may be compared by readers."""
    text = json.dumps(policy.model_dump(mode="json"), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def identity_of(policy: Policy, path: Path | None = None) -> str:
    """Return what a policy is called among all policies; one that was built in Python and has no name is another whenever it says something else.

    >>> identity_of(Policy(columns={}, name="ward 3"))
    'name "ward 3"'
    """
    if policy.name is not None:
        return f"name {json.dumps(policy.name)}"
    return f"file {json.dumps(str(path))}" if path is not None else f"hash {policy_hash(policy)}"


def own_domain(identity: str, view: str) -> str:
    """Return the domain that one view of one policy has for itself.

    >>> own_domain('name "ward 3"', "research")
    '"research" of name "ward 3"'
    """
    return f"{json.dumps(view or 'default')} of {identity}"
