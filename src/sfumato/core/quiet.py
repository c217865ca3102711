"""Progress that shows nothing: for libraries, pipelines and tests."""

from __future__ import annotations


class Quiet:
    """Takes every message and shows none."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Show nothing."""

    def advance(self, rows: int) -> None:
        """Show nothing."""
