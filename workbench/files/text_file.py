"""Reading, decoding and encoding text files without loss; used by the editor's commands."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.files.root_directory import SYSTEM, Root

MAX_BYTES = 10_000_000
_BOMS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(sign for sign in range(32) if sign not in b"\t\n\v\f\r\b\x1b")


class EditorError(Exception):
    """A command cannot be executed; the message tells the model why and what to do."""


@dataclass(frozen=True)
class Coding:
    """The encoding of a text file and its byte order mark."""

    encoding: str = "utf-8"
    bom: bytes = b""

    def decode(self, raw: bytes) -> str:
        """Return the text of the bytes, with its line ends unchanged."""
        return raw[len(self.bom) :].decode(self.encoding)

    def encode(self, text: str) -> bytes:
        """Return the bytes of the text. Raises EditorError for a character that the encoding lacks."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            sign = f"U+{ord(text[error.start]):04X}"
            raise EditorError(
                f"The character {sign} cannot be written in this file: its encoding is {self.encoding}. "
                "Leave that character out, or convert the file to UTF-8 first."
            ) from error


def why_unusable(path: str, error: OSError | ValueError) -> str:
    """Return the model's message for a failed read or write of the file."""
    if isinstance(error, FileExistsError):
        return f"{path} exists already; `create` never replaces anything. Nothing was changed."
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} could not be used: {reason}. Nothing was changed."


def digest(raw: bytes) -> str:
    """Return the SHA-256 of a content, in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def name_of(path: Path) -> str:
    """Return a short name without slashes for a file, the same in every run."""
    return hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()


def read_bytes(path: Path, root: Root = SYSTEM) -> bytes:
    """Return the content of a regular file of at most 10 MB, by its real path.

    Raises EditorError if it is not such a file, and OSError if it cannot be read.
    """
    with root.entry(path) as entry:
        _check_regular(path, entry.stat())
        opened = entry.open(os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(opened, "rb") as file:
        _check_regular(path, os.fstat(file.fileno()))
        raw: bytes | None = file.read(MAX_BYTES + 1)
    if raw is None:  # a file of the kernel's, with no data available now
        raise EditorError(f"{path} is no ordinary file: there is nothing to read in it now.")
    if len(raw) > MAX_BYTES:
        raise EditorError(_too_large(path))
    return raw


def _check_regular(path: Path, info: os.stat_result) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise EditorError(f"{path} is a folder; only the command `view` works on folders.")
    if not stat.S_ISREG(info.st_mode):
        raise EditorError(f"{path} is {_kind(info.st_mode)}, not a regular file; this tool leaves it alone.")
    if info.st_size > MAX_BYTES:
        raise EditorError(_too_large(path))


def _too_large(path: Path) -> str:
    limit = f"{MAX_BYTES // 1_000_000} MB"
    return f"{path} is larger than {limit}; this tool does not open it. Use execute_bash (head, grep, sed) instead."


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    return next((name for is_kind, name in kinds if is_kind(mode)), "a device")


def decoded(path: Path, raw: bytes) -> tuple[Coding, str]:
    """Return the encoding and the text. Raises EditorError if no known encoding converts the bytes without loss."""
    for coding in _codings(raw):
        text = _decode(coding, raw)
        if text is not None:
            return coding, text
    if b"\0" in raw or len(raw.translate(None, _CONTROLS)) < len(raw):
        raise EditorError(f"{path} is a binary file; this tool works on text only.")
    raise EditorError(f"{path} cannot be read without loss: it is neither UTF-8 nor another known encoding.")


def encoded(path: Path, text: str, coding: Coding = Coding()) -> bytes:
    """Return the bytes to write. Raises EditorError for a text that the file cannot hold or `decoded` cannot read."""
    raw = coding.encode(text)
    if len(raw) > MAX_BYTES:
        raise EditorError(f"{path} would become larger than {MAX_BYTES // 1_000_000} MB; write it in parts.")
    if b"\0" in raw and not coding.encoding.startswith(("utf-16", "utf-32")):
        raise EditorError("The text holds a NUL character, which would make the file a binary one.")
    return raw


def _codings(raw: bytes) -> Iterator[Coding]:
    """Yield the possible encodings, the most likely first.

    One-byte encodings are tried only if the bytes contain neither UTF-8 sequences (they would be damaged UTF-8) nor
    binary data.
    """
    yield from (Coding(encoding, bom) for bom, encoding in _BOMS if raw.startswith(bom))
    if b"\0" in raw:
        return
    yield Coding()
    if len(raw.translate(None, _CONTROLS)) < len(raw):
        return
    if all(sign.isascii() or sign == "\ufffd" for sign in raw.decode("utf-8", "replace")):
        has_c1 = any(0x80 <= sign <= 0x9F for sign in raw.translate(None, bytes(range(0x80))))
        yield Coding("cp1252" if has_c1 else "latin-1")


def _decode(coding: Coding, raw: bytes) -> str | None:
    try:
        text = coding.decode(raw)
        # Strict UTF-8 always survives a round trip; for other encodings it is checked.
        return text if coding.encoding == "utf-8" or coding.encode(text) == raw else None
    except (UnicodeDecodeError, EditorError):
        return None
