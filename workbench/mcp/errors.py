"""Errors of servers, with messages for the user and the model."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import WorkbenchError
from workbench.text import first_line


class ServerFailed(WorkbenchError):
    """The server cannot be started or reached; nothing was sent to it."""


class ProgramMissing(ServerFailed):
    """The program that the server's command names is not installed."""


class OtherTransport(ServerFailed):
    """The server at the URL seems to speak the older HTTP transport (SSE), not the newer one (streamable HTTP)."""


class StartChanged(ServerFailed):
    """The start files of the server differ from the approved ones; a retry does not help."""


class ServerGone(WorkbenchError):
    """The server ended or its connection broke during a call, so the outcome of the call is unknown."""


class SignInNeeded(ServerFailed):
    """The server requires a sign-in; a retry does not help."""


class SessionLost(ServerGone):
    """The server lost the session before it read the call, so the call can be sent again."""


class CallTimedOut(WorkbenchError):
    """The server did not respond in time; the call was canceled."""


class CallRefused(WorkbenchError):
    """The call was refused before it was sent, or the server responded with an error or an invalid response."""


def cause_of(error: BaseException) -> BaseException:
    """Return the error, or the first member of an exception group, if possible one that is not a cancellation."""
    while isinstance(error, BaseExceptionGroup):
        causes = [each for each in error.exceptions if type(each).__name__ != "CancelledError"]
        error = (causes or list(error.exceptions))[0]
    return error


def words_of(error: BaseException, server: str = "the server") -> str:
    """Return a one-line description of the error; `server` is its subject if it needs one."""
    error = cause_of(error)
    if isinstance(error, WorkbenchError):
        return str(error)
    name = type(error).__name__
    response = getattr(error, "response", None)
    if response is not None and hasattr(response, "status_code"):
        return http_words(int(response.status_code), str(getattr(response, "reason_phrase", "")))
    if isinstance(error, TimeoutError) or name.endswith("Timeout"):
        return f"{server} did not respond in time"
    if name == "ValidationError":
        return f"{server} sent an invalid message"
    if name in ("ConnectError", "ConnectionRefusedError"):
        return f"{server} cannot be reached ({first_line(str(error), 120) or name})"
    text = first_line(str(error), 300)
    return text or name


def http_words(code: int, reason: str) -> str:
    """Return a one-line description of an HTTP error status."""
    status = f"HTTP {code} {reason}".rstrip()
    if code in (401, 403):
        return f"{status}: a sign-in is required, or the key in the headers is wrong"
    return status


def with_stderr(why: str, lines: Sequence[str]) -> str:
    """Return the reason, followed by the last three of the server's lines on stderr."""
    tail = [first_line(line, 160) for line in list(lines)[-3:]]
    return f"{why}; it wrote: {' / '.join(tail)}" if tail else why
