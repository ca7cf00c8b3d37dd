"""What can go wrong with a server, in words for a person and for a model; used by `connection` and `executor`."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import WorkbenchError
from workbench.text import first_line


class ServerFailed(WorkbenchError):
    """The server cannot be started or reached; nothing was sent to it."""


class StartChanged(ServerFailed):
    """What the server would be started from is not what the user agreed to; another try does not help before that."""


class ServerGone(WorkbenchError):
    """The server ended, or its connection broke, while it worked on a call: what came of that is unknown."""


class SignInNeeded(ServerFailed):
    """The server wants the person to sign in, again or for the first time; another try does not help before that."""


class SessionLost(ServerGone):
    """The server knows the session no more, and has looked at nothing: the call may be sent again."""


class CallTimedOut(WorkbenchError):
    """No answer in time; the server was told to stop."""


class CallRefused(WorkbenchError):
    """The server answered with an error, or with something that is no answer."""


def cause_of(error: BaseException) -> BaseException:
    """The one error behind groups of errors and what was raised from it."""
    while isinstance(error, BaseExceptionGroup):
        told = [each for each in error.exceptions if type(each).__name__ != "CancelledError"]
        error = (told or list(error.exceptions))[0]
    return error


def words_of(error: BaseException, server: str = "the server") -> str:
    """The error in one line."""
    error = cause_of(error)
    if isinstance(error, WorkbenchError):
        return str(error)
    name = type(error).__name__
    response = getattr(error, "response", None)
    if response is not None and hasattr(response, "status_code"):
        return http_words(int(response.status_code), str(getattr(response, "reason_phrase", "")))
    if isinstance(error, TimeoutError) or name.endswith("Timeout"):
        return f"{server} did not answer in time"
    if name == "ValidationError":
        return f"{server} sent something that does not fit the protocol"
    if name in ("ConnectError", "ConnectionRefusedError"):
        return f"{server} cannot be reached ({first_line(str(error), 120) or name})"
    text = first_line(str(error), 300)
    return text or name


def http_words(code: int, reason: str) -> str:
    """An answer that refuses, in one line."""
    said = f"HTTP {code} {reason}".rstrip()
    if code in (401, 403):
        return f"{said}: it wants a sign-in, or the key in the headers is wrong"
    return said


def with_stderr(why: str, lines: Sequence[str]) -> str:
    """The reason, and the last the server wrote to stderr."""
    told = [first_line(line, 160) for line in list(lines)[-3:]]
    return f"{why}; it wrote: {' / '.join(told)}" if told else why
