"""Small tables for notebooks. Everything in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Return a table of HTML.

    >>> html_table([("<k>", 5)])
    '<table><tbody><tr><td>&lt;k&gt;</td><td>5</td></tr></tbody></table>'
    """
    above = f"<thead><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr></thead>" if head else ""
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{above}<tbody>{lines}</tbody></table>"
