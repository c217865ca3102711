"""Compressed files: read and written in a stream, by the ending of their name or as the policy says."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, Any, Literal

from sfumato.core.files import file_errors
from sfumato.errors import DataError

Compression = Literal["infer", "none", "gzip", "bzip2", "xz", "zstd"]
ENDINGS: dict[str, Compression] = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {"bzip2": bz2.BZ2Decompressor, "xz": lzma.LZMADecompressor}
_PIECE = 1 << 18


def compression_of(path: str, asked: Compression = "infer") -> Compression:
    """Return how a file is compressed: as it is said, or by its name.

    >>> compression_of("a.csv.gz"), compression_of("a.csv"), compression_of("a.gz", "none")
    ('gzip', 'none', 'none')
    """
    return ENDINGS.get(PurePath(path).suffix.lower(), "none") if asked == "infer" else asked


def plain_name(path: str) -> str:
    """Return the name without the ending that says how the file is compressed.

    >>> plain_name("a.csv.gz"), plain_name("a.csv")
    ('a.csv', 'a.csv')
    """
    return path[: -len(PurePath(path).suffix)] if PurePath(path).suffix.lower() in ENDINGS else path


@contextmanager
def opened(path: str, compression: Compression) -> Iterator[Any]:
    """Open a file to be read; what is damaged or cut off is said in one sentence."""
    try:
        with file_errors(path), Path(path).open("rb", buffering=0) as file, _reader(file, compression) as content:
            yield content
    except (EOFError, zlib.error, lzma.LZMAError, _DamagedError):
        raise DataError(
            f"{path} is damaged or cut off, or not compressed as {compression}",
            code="file-compression",
            hint="compress it again, or say compression: none",
        ) from None


@contextmanager
def _reader(file: IO[bytes], compression: Compression) -> Iterator[Any]:
    if compression == "none":
        yield file
        return
    # the libraries say what is damaged as an error of the system, without a number
    try:
        if compression == "zstd":
            import pyarrow as pa

            with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as content:
                yield content
        else:
            with gzip.open(file, "rb") if compression == "gzip" else _Members(file, _DECOMPRESSORS[compression], compression == "xz") as content:
                yield content
    except OSError as error:
        if error.errno is None:
            raise _DamagedError from None
        raise


class _DamagedError(Exception):
    """A compressed file that is none."""


class _Members(io.RawIOBase):
    """The content of all members of a compressed file, one after the other.

    Python's own files end where a further member is damaged, as if nothing were lost. Here that is an error, and so is anything else behind the
    last member; only xz may be filled up with zeros.
    """

    def __init__(self, file: IO[bytes], new: Callable[[], Any], padded: bool) -> None:
        self._file, self._new, self._padded = file, new, padded
        self._member, self._rest = new(), b""

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer."""
        while True:
            if self._member.eof and not self._next_member():
                return 0
            if self._member.needs_input and not self._rest:
                self._rest = self._file.read(_PIECE) or b""
                if not self._rest:
                    raise EOFError
            given, self._rest = self._rest, b""
            content = self._member.decompress(given, len(buffer))
            if content:
                buffer[: len(content)] = content
                return len(content)

    def _next_member(self) -> bool:
        """Begin a further member; return False at the end."""
        self._rest = self._member.unused_data or self._file.read(_PIECE) or b""
        while self._padded and self._rest and not self._rest.strip(b"\0"):
            self._rest = self._file.read(_PIECE) or b""
        if self._padded:
            self._rest = self._rest.lstrip(b"\0")
        self._member = self._new() if self._rest else self._member
        return bool(self._rest)


def compressing(file: IO[bytes], compression: Compression) -> Any:
    """Return what compresses all that is written to it into a file, which stays open when it is closed."""
    if compression == "gzip":
        # without the time: the same release is the same file
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0)
    if compression == "zstd":
        import pyarrow as pa

        return pa.CompressedOutputStream(pa.PythonFile(_Kept(file), "w"), "zstd")
    return {"bzip2": bz2.BZ2File, "xz": lzma.LZMAFile}[compression](file, "wb")


class _Kept:
    """A file that is not closed by those who only write to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.closed = False

    def write(self, data: Any) -> int:
        """Write further bytes."""
        return self._file.write(data)

    def flush(self) -> None:
        """Do nothing: the file's owner does."""

    def close(self) -> None:
        """Close nothing."""
        self.closed = True


def buffered(content: Any) -> io.BufferedReader:
    """Return anything that fills a buffer as a file of Python's own, which has lines."""
    return io.BufferedReader(_Raw(content), 1 << 18)


class _Raw(io.RawIOBase):
    """Anything that fills a buffer, as Python's own files are."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        """Fill a buffer."""
        filled: int | None = self._file.readinto(buffer)
        return filled
