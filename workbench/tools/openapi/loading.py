"""Gets OpenAPI documents: from files, or from the network with a copy that is kept for when it cannot be reached."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workbench.config import Locations, private_folder
from workbench.errors import UsageError
from workbench.tools.openapi.documents import MOST_BYTES, BadDocument
from workbench.tools.openapi.source import Source

_SECONDS = 10.0
"""For fetching a document; a session waits for it."""
_FRESH = 86_400
"""Seconds in which a copy is as good as the document."""


@dataclass(frozen=True)
class Loaded:
    """A document's bytes, its place as references begin there, and what is to be said about it."""

    content: bytes
    uri: str
    folder: Path | None = None
    address: str = ""
    notice: str = ""
    is_own: bool = False
    """Whether it is a file of the person's, outside the folder that the agent works in: nobody else writes it."""

    def settles(self, base_url: str) -> bool:
        """Whether the document may say that calls go there: its own server, or any where the person wrote the file."""
        return self.is_own or (bool(self.address) and urlsplit(self.address)[:2] == urlsplit(base_url)[:2])


def load(source: Source, workspace: Path) -> Loaded:
    """The document; raises BadDocument."""
    if source.is_remote:
        return _remote(source.document)
    try:
        path = (workspace / Path(source.document).expanduser()).resolve()
        if path.stat().st_size > MOST_BYTES:
            raise BadDocument(f"it is larger than {MOST_BYTES // 1_000_000} MB")
        is_own = not path.is_relative_to(workspace.resolve())
        return Loaded(path.read_bytes(), path.as_uri(), path.parent, is_own=is_own)
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else ""
        raise BadDocument(why or str(error)) from error


def _remote(address: str) -> Loaded:
    copy = _copy_of(address)
    kept = _read(copy)
    if kept is not None and time.time() - copy.stat().st_mtime < _FRESH:
        return Loaded(kept, address, address=address)
    try:
        content = _fetched(address)
    except BadDocument as error:
        if kept is None:
            raise
        notice = f"it could not be fetched ({error}); the copy of an earlier day is used"
        return Loaded(kept, address, address=address, notice=notice)
    _keep(copy, content)
    return Loaded(content, address, address=address)


def _fetched(address: str) -> bytes:
    from workbench.tools.web.addresses import Addresses, Refused
    from workbench.tools.web.calls import Calls, OutOfTime
    from workbench.tools.web.fetching import Limits, Unreachable, fetch

    limits = Limits(MOST_BYTES, _SECONDS)
    try:
        got = Calls().run(lambda: fetch(address, Addresses(True), limits), _SECONDS + 1)
    except (Refused, Unreachable) as error:
        raise BadDocument(str(error).rstrip(".")) from error
    except OutOfTime as error:
        raise BadDocument(f"no answer within {_SECONDS:g} seconds") from error
    if not got.is_good or got.cut:
        raise BadDocument(f"the server answered {got.said}" if not got.is_good else "it did not come whole")
    return got.content


def _copy_of(address: str) -> Path:
    name = hashlib.sha256(address.encode(errors="replace")).hexdigest()[:32]
    return Locations.from_environment().data / "openapi" / name


def _read(copy: Path) -> bytes | None:
    try:
        return copy.read_bytes()
    except OSError:
        return None


def _keep(copy: Path, content: bytes) -> None:
    """Keep a copy for later; where that fails there is none."""
    try:
        with tempfile.NamedTemporaryFile(dir=private_folder(copy.parent), delete=False) as file:
            file.write(content)
        os.replace(file.name, copy)  # noqa: PTH105
    except (OSError, UsageError):
        return
