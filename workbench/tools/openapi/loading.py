"""Gets OpenAPI documents: from files, or from the network with a copy that is kept for when it cannot be reached."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workbench.tools.openapi.documents import MOST_BYTES, BadDocument
from workbench.tools.openapi.pinned import Pinned
from workbench.tools.openapi.source import Source

_SECONDS = 10.0
"""For fetching a document; a session waits for it."""
_FRESH = 86_400
"""Seconds in which a copy is as good as the document."""
_CHANGED = (
    "it has changed since it was agreed to; what was agreed to is used until you have looked at the difference: "
    "ohw openapi changes {name}"
)


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
        return self.is_own or self.is_of(base_url)

    def is_of(self, base_url: str) -> bool:
        """Whether that is the server the document was fetched from, which the person named."""
        return bool(self.address) and urlsplit(self.address)[:2] == urlsplit(base_url)[:2]


def load(source: Source, workspace: Path) -> Loaded:
    """The document; raises BadDocument."""
    if source.is_remote:
        return _remote(source)
    try:
        path = (workspace / Path(source.document).expanduser()).resolve()
        if path.stat().st_size > MOST_BYTES:
            raise BadDocument(f"it is larger than {MOST_BYTES // 1_000_000} MB")
        is_own = not path.is_relative_to(workspace.resolve())
        return Loaded(path.read_bytes(), path.as_uri(), path.parent, is_own=is_own)
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else ""
        raise BadDocument(why or str(error)) from error


def _remote(source: Source) -> Loaded:
    address, pinned = source.document, Pinned(source.document)
    agreed, notice = pinned.agreed, ""
    if agreed is None or time.time() - pinned.checked_at >= _FRESH:
        try:
            agreed = pinned.fetched(_fetched(address))
        except BadDocument as error:
            if agreed is None:
                raise
            notice = f"it could not be fetched ({error}); the copy of an earlier day is used"
    if pinned.waiting is not None:
        notice = _CHANGED.format(name=source.name)
    return Loaded(agreed, address, address=address, notice=notice)


def _fetched(address: str) -> bytes:
    from workbench.web.addresses import Addresses, AddressRefused
    from workbench.web.calls import Calls, OutOfTime
    from workbench.web.fetch import FetchLimits, Unreachable, fetch

    limits = FetchLimits(MOST_BYTES, _SECONDS)
    try:
        got = Calls().run(lambda: fetch(address, Addresses(True), limits), _SECONDS + 1)
    except (AddressRefused, Unreachable) as error:
        raise BadDocument(str(error).rstrip(".")) from error
    except OutOfTime as error:
        raise BadDocument(f"no answer within {_SECONDS:g} seconds") from error
    if not got.is_good or got.cut:
        raise BadDocument(f"the server answered {got.said}" if not got.is_good else "it did not come whole")
    return got.content
