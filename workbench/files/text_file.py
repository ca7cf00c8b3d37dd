"""Reading, decoding and encoding text files without loss; used by the editor's commands."""

from __future__ import annotations

import hashlib
import os
import stat
from functools import lru_cache
from pathlib import Path

from workbench.files.digests import sha256
from workbench.files.encodings import UTF_8, Coding, has_binary_data, reading_as, readings
from workbench.files.root_directory import SYSTEM, Root

MAX_BYTES = 10_000_000
_REMEMBERED = 256
_HIGH = bytes(range(0x80, 0x100))


class EditorError(Exception):
    """A command of the editor cannot be executed; the message tells the model why and what to do."""


def why_unusable(path: str, error: OSError | ValueError) -> str:
    """Return the model's message for a failed read or write of the file."""
    if isinstance(error, FileExistsError):
        return f"{path} exists already; `create` never replaces anything. Nothing was changed."
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{path} could not be used: {reason}. Nothing was changed."


def digest(raw: bytes) -> str:
    """Return the SHA-256 digest of a content, in hexadecimal."""
    return sha256(raw).hex()


@lru_cache(maxsize=_REMEMBERED)
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
        info = os.fstat(file.fileno())
        _check_regular(path, info)
        size = info.st_size
        # A buffer for the largest size would cost more than the rest.
        raw: bytes | None = file.read(size + 1)
        if raw is not None and len(raw) > size:
            raw += file.read(MAX_BYTES + 1 - len(raw)) or b""
    if raw is None:  # a file of the kernel's, with no data available now
        raise EditorError(f"{path} is not an ordinary file: there is nothing to read in it now.")
    if len(raw) > MAX_BYTES:
        raise EditorError(_too_large(path))
    return raw


def _check_regular(path: Path, info: os.stat_result) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise EditorError(f"{path} is a directory; only the command `view` works on directories.")
    if not stat.S_ISREG(info.st_mode):
        raise EditorError(f"{path} is {_kind(info.st_mode)}, not a regular file; this tool does not touch it.")
    if info.st_size > MAX_BYTES:
        raise EditorError(_too_large(path))


def _too_large(path: Path) -> str:
    limit = f"{MAX_BYTES // 1_000_000} MB"
    return f"{path} is larger than {limit}; this tool does not open it. Use execute_bash (head, grep, sed) instead."


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    return next((name for is_kind, name in kinds if is_kind(mode)), "a device")


def decoded(path: Path, raw: bytes, remembered: Coding | None = None) -> tuple[Coding, str]:
    """Return the encoding and the text; the `remembered` encoding is used if it converts the bytes without loss.

    Raises EditorError if no known encoding converts the bytes without loss.
    """
    text = remembered.reading(raw) if remembered is not None else None
    if remembered is not None and text is not None:
        return remembered, text
    for coding, text in readings(raw):
        return coding, text
    if has_binary_data(raw):
        raise EditorError(f"{path} is a binary file; this tool works on text only.")
    raise EditorError(f"{path} cannot be read without loss: it is neither UTF-8 nor another known encoding.")


def decoded_versions(path: Path, before: bytes | None, after: bytes | None) -> tuple[str | None, str | None]:
    """Return the texts of two versions of a file; None where the file does not exist.

    If the encodings differ, that of the version with more non-ASCII bytes replaces a guessed one of the other version.
    Raises EditorError if a version cannot be read without loss.
    """
    if before is None or after is None:
        return tuple(None if raw is None else decoded(path, raw)[1] for raw in (before, after))  # type: ignore[return-value]
    versions = [decoded(path, before), decoded(path, after)]
    codings = [coding for coding, _ in versions]
    if codings[0] != codings[1]:
        shows_more = int(_high_bytes(after) > _high_bytes(before))
        for index, raw in enumerate((before, after)):
            if index != shows_more and codings[index].source == "guessed":
                text = codings[shows_more].reading(raw)
                versions[index] = (codings[shows_more], text) if text is not None else versions[index]
    return versions[0][1], versions[1][1]


def reading_of(path: Path, raw: bytes, text: str) -> tuple[Coding, str]:
    """Return the encoding in which the bytes are this text; if there is none, the most likely encoding and the text in
    it.

    Raises EditorError if no known encoding converts the bytes without loss.
    """
    coding = reading_as(raw, text)
    return (coding, text) if coding is not None else decoded(path, raw)


def encoded(path: Path, text: str, coding: Coding = UTF_8) -> bytes:
    """Return the bytes to write. Raises EditorError if the encoding lacks a character, for a NUL, and above 10 MB."""
    try:
        raw = coding.encode(text)
    except UnicodeEncodeError as error:
        raise EditorError(_not_in(coding, text[error.start])) from error
    if coding.source and coding.decode(raw) != text:
        raise EditorError(_not_in(coding, _changed_character(text, coding.decode(raw))))
    if len(raw) > MAX_BYTES:
        raise EditorError(f"{path} would become larger than {MAX_BYTES // 1_000_000} MB; write it in parts.")
    if b"\0" in raw and not coding.encoding.startswith(("utf-16", "utf-32")):
        raise EditorError("The text contains a NUL character, which would make the file a binary one.")
    return raw


def _not_in(coding: Coding, character: str) -> str:
    """Return the message about a character that the encoding lacks."""
    label = f"{character} (U+{ord(character):04X})" if character.isprintable() else f"U+{ord(character):04X}"
    return (
        f"The character {label} cannot be written in this file: its encoding is {coding.encoding}. Nothing was "
        "changed. There are two choices: write the text without that character, or ask the user whether the file may "
        "get another encoding, which affects every program that reads it."
    )


def _changed_character(text: str, result: str) -> str:
    """Return the first character of `text` that is another one in `result`."""
    return next((was for was, now in zip(text, result, strict=False) if was != now), text[-1])


def _high_bytes(raw: bytes) -> int:
    return len(raw) - len(raw.translate(None, _HIGH))
