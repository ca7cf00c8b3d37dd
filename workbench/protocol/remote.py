"""The first line from each side of a connection to a session on another machine, before the engine's own lines.

The two machines may have different versions, so both lines are read leniently: unknown fields are ignored.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from workbench import __version__
from workbench.protocol.commands import VERSION

LINE_LIMIT = 64 * 1024
"""The maximum number of bytes of the first line, and of what a login may print before it."""


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A request to open a session: a new one with the ID `session`, the last one of `directory`, or the existing
    `session`.
    """

    ohw: str = __version__
    protocol: int = VERSION
    screen: str
    """An ID of the screen: when it connects again, its earlier connection is closed."""
    directory: str = ""
    open: Literal["new", "last", "named"] = "named"
    session: str = ""
    flags: dict[str, str] = {}
    """The settings that the user gave as flags; all others are those of the other machine."""
    last_seq: int = 0
    """The last event that the screen has."""
    has_user: bool = True
    """Whether a user is there to answer what a running call asks; `ohw run` has none."""


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag_field="remote", tag="opened"):
    """The session is open; the engine's lines follow, starting with the events after the requested `last_seq`."""

    ohw: str = __version__
    session: str
    workspace: str
    last_seq: int
    notices: tuple[str, ...] = ()


class NotOpened(msgspec.Struct, frozen=True, kw_only=True, tag_field="remote", tag="refused"):
    """The session was not opened; `reason` is one line."""

    ohw: str = __version__
    reason: str


def version_problem(request: OpenRequest) -> str:
    """Return why the screen and this engine cannot communicate, and what to do about it; empty if they can."""
    if request.protocol == VERSION:
        return ""
    return (
        f"the screen is ohw {request.ohw} with protocol {request.protocol}, this is ohw {__version__} with protocol "
        f"{VERSION}; install the same version on both machines"
    )


def read_request(line: bytes) -> OpenRequest:
    """Decode the request from a screen. Raises ValueError if it is invalid."""
    return msgspec.json.decode(line, type=OpenRequest)


def read_answer(line: bytes) -> Opened | NotOpened:
    """Decode the answer from the other machine. Raises ValueError if it is invalid."""
    return msgspec.json.decode(line, type=Opened | NotOpened)


def is_answer(line: bytes) -> bool:
    """Return whether a line is an answer, rather than something that a login printed."""
    return line.startswith(b'{"remote":')
