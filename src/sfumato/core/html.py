"""Small tables, lists and trees for notebooks, in the colours of the page they stand on. Everything in them is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_NUMBER = re.compile(r"[<>≥≤ ]*[-0-9.,]+ ?%?")
_TABLE = "border-collapse:collapse;margin:.4em 0 .8em"
_CELL = "padding:.15em .9em .15em 0;text-align:left;vertical-align:top"
_RIGHT = "padding:.15em .9em .15em 0;text-align:right;vertical-align:top;font-variant-numeric:tabular-nums"
_HEAD = ";border-bottom:1px solid;font-weight:600"
_BAR = "display:inline-block;height:.55em;background:currentColor;opacity:.35;margin-left:.6em"


def html_table(rows: Iterable[Sequence[object]], head: Sequence[str] = (), title: str = "") -> str:
    """Return a table of HTML; columns of numbers stand on the right.

    >>> re.sub(" style='[^']*'", "", html_table([("<k>", 5000)]))
    '<table><tbody><tr><td>&lt;k&gt;</td><td>5,000</td></tr></tbody></table>'
    """
    texts = [[_text(cell) for cell in row] for row in rows]
    right = [all(_NUMBER.fullmatch(text) for text in column if text) for column in zip(*texts, strict=True)] or [False] * len(head)
    styles = [_RIGHT if number else _CELL for number in right]
    named = "".join(f"<th style='{style}{_HEAD}'>{escape(name)}</th>" for name, style in zip(head, styles, strict=False))
    lines = "".join(f"<tr>{''.join(_cells(row, styles))}</tr>" for row in texts)
    told = f"<caption style='text-align:left;font-weight:600;white-space:nowrap'>{escape(title)}</caption>" if title else ""
    return f"<table style='{_TABLE}'>{told}{f'<thead><tr>{named}</tr></thead>' if head else ''}<tbody>{lines}</tbody></table>"


def html_sentence(text: str) -> str:
    """Return a sentence that stands above what it is about."""
    return f"<p style='margin:.3em 0;font-weight:600'>{escape(text)}</p>"


def html_list(sentences: Iterable[str], kind: str = "ul") -> str:
    """Return sentences one below the other; nothing where there are none."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<{kind}>{items}</{kind}>" if items else ""


def html_folded(title: str, content: str) -> str:
    """Return something that is shown when its title is clicked; what is wide can be scrolled."""
    return f"<details><summary style='cursor:pointer'>{escape(title)}</summary><div style='overflow-x:auto'>{content}</div></details>"


def html_bar(share: float) -> str:
    """Return a bar as long as a share of the whole."""
    return f"<span style='{_BAR};width:{max(1, round(160 * share))}px'></span>"


def _cells(row: Sequence[str], styles: Sequence[str]) -> Iterable[str]:
    return (f"<td style='{style}'>{escape(text)}</td>" for text, style in zip(row, styles, strict=True))


def _text(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
