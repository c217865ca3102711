"""Under which account servers run: never root, which they refuse."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import NamedTuple

UNPRIVILEGED = ("postgres", "mysql", "nobody")


class Account(NamedTuple):
    """The numbers of a user and of its group; None for whoever we are."""

    user: int | None = None
    group: int | None = None

    @classmethod
    def unprivileged(cls) -> Account:
        """Return ourselves, or if we are root an account that may do little."""
        if os.geteuid() != 0:
            return cls()
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        chosen = next(known[name] for name in UNPRIVILEGED if name in known)
        return cls(chosen.pw_uid, chosen.pw_gid)

    def give(self, path: Path) -> None:
        """Make it the owner."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)

    def reaches(self, path: Path) -> bool:
        """Whether it may enter a folder, and all folders above."""
        return self.user is None or all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))
