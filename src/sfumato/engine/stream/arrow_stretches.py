"""Arrow streams as they grow: whole messages of Arrow's interprocess format, of files and of streams."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sfumato.core.decoded import Decoded
from sfumato.core.followed_files import Stretch
from sfumato.errors import DataError

_MAGIC = b"ARROW1\0\0"
_ENDS = (b"\xff\xff\xff\xff\0\0\0\0", b"")


class ArrowStretches:
    """Finds whole messages, and reads the batches in them; ``again`` returns the beginning of a file, which has the schema."""

    def __init__(self, again: Callable[[str, int, int], bytes]) -> None:
        self._again = again
        self._heads: dict[str, bytes] = {}

    def whole(self, block: bytes, ended: bool) -> int:
        """Return how many bytes of a block are whole messages; what follows the last batch of a file belongs to it."""
        start = len(_MAGIC) if block.startswith(_MAGIC) else 0
        end = _messages_end(block, start)
        return len(block) if ended or block[end : end + 8] == _ENDS[0] else end

    def whole_at_end(self, block: bytes, is_quiet: bool) -> int:  # noqa: ARG002 - a message says itself how long it is
        """Return how many bytes at the end of a file are whole messages: half of one is never read."""
        return self.whole(block, False)

    def decode(self, stretch: Stretch) -> Decoded:
        """Return the rows of a stretch."""
        head = self._head(stretch)
        content = stretch.content
        if stretch.start == 0:
            content = content.removeprefix(_MAGIC)[len(head) :]
        try:
            with pa.ipc.open_stream(pa.BufferReader(head + content[: _messages_end(content, 0)])) as reader:
                table = reader.read_all().combine_chunks()
                table.validate(full=True)
        except pa.ArrowException:
            hint = "look at what writes it; a stream of Arrow has one schema, and no dictionaries that change"
            raise DataError("the stream of Arrow is damaged", code="arrow-damaged", hint=hint) from None
        rows = table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema=table.schema)
        return Decoded(rows, np.arange(table.num_rows), table.num_rows)

    def _head(self, stretch: Stretch) -> bytes:
        """Return the message of the schema, with which the file begins."""
        if stretch.place not in self._heads:
            beginning = stretch.content if stretch.start == 0 else self._again(stretch.place, 0, min(stretch.start, 1 << 20))
            beginning = beginning.removeprefix(_MAGIC)
            self._heads[stretch.place] = beginning[: _messages_end(beginning, 0, most=1)]
        return self._heads[stretch.place]


def _messages_end(block: bytes, start: int, most: int | None = None) -> int:
    """Return where the whole messages of a block end."""
    end, number = start, 0
    reader = pa.BufferReader(block)
    reader.seek(start)
    while most is None or number < most:
        try:
            message = pa.ipc.read_message(reader)
        except (EOFError, pa.ArrowException, OSError):
            break
        del message
        end, number = reader.tell(), number + 1
    return end
