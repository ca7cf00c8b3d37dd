"""What an attempt left on a worker that does not see the directory of the run, until the client has fetched it."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from workbench.config.locations import private_directory
from workbench.lazy_pattern import lazy_pattern

PART: Final = 4 << 20
"""Bytes of a file in one message. The scheduler, which passes them on, never has more of it in its memory."""
_TOKEN: Final = lazy_pattern(r"[0-9a-f]{12}")


class StoredResult(msgspec.Struct, frozen=True):
    """Files on a worker: their sizes by their names, which are relative to the directory of the run, in their order."""

    token: str
    """The name of their directory."""
    sizes: Mapping[str, int]


def store_result(run: Path, files: Mapping[str, Path]) -> StoredResult:
    """Move files to where they stay until they are fetched; `run` is the worker's directory for the run.

    Raises OSError.
    """
    token = secrets.token_hex(6)
    directory = private_directory(_directory(run, token))
    sizes = {}
    for number, (name, path) in enumerate(files.items()):
        sizes[name] = path.stat().st_size
        shutil.move(path, directory / str(number))
    return StoredResult(token, sizes)


def part_of_result(run: Path, token: str, number: int, offset: int) -> bytes:
    """Return the next part of a file of a result, from 0; empty at its end. Raises OSError or ValueError."""
    with (_directory(run, token) / str(int(number))).open("rb") as file:
        file.seek(offset)
        return file.read(PART)


def delete_result(run: Path, token: str) -> None:
    """Delete a result that was fetched."""
    shutil.rmtree(_directory(run, token), ignore_errors=True)


def _directory(run: Path, token: str) -> Path:
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"{token!r} is not the name of a result")
    return run / "results" / token
