"""The far end of a session over ssh, `ohw engine --stdio`: opens the session here, then relays the engine's lines.

The screen's request is checked like the arguments of a command. Settings, keys, rules and trust are those of this
machine. The engine is detached as usual: while the connection is lost, it continues its run, and at a question it waits
for the screen to return.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.client.engine_connection import EngineConnection
from workbench.config.locations import Locations, private_directory
from workbench.config.modes import MODE_NAMES
from workbench.config.setting_kinds import declared
from workbench.config.settings import Settings, load_settings, wants_never, without_never
from workbench.engine.launch import Launch
from workbench.engine.sockets import connect, forbid_tracing
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.spawn import keep_out_of
from workbench.protocol.remote import LINE_LIMIT, NotOpened, Opened, OpenRequest, read_request, version_problem
from workbench.session.session_names import session_path, socket_path
from workbench.session.storage.cleanup import has_no_event
from workbench.session.storage.lock import SessionLock, holder
from workbench.session.storage.session_list import find_session, last_session
from workbench.session.storage.store import not_ours
from workbench.tools.trust import refreshed

if TYPE_CHECKING:
    from workbench.session.storage.session_list import SessionSummary

_CHUNK = 1 << 16
_PARTING = 0.5
"""Seconds, after the end of the input, within which the engine closes the connection if the screen
detached properly.
"""
_RETURN = 1_800.0
"""Seconds for which an engine without work is kept running for a screen whose connection was lost."""
_RENEW = 5.0
"""Seconds after which a waiting connection is replaced: the engine closes a connection that sends no greeting for
longer.
"""
_ACCEPTED = 0.05
"""Seconds to let an engine accept a connection."""
_TIMEOUT = 30.0
_INPUT_POLL = 200
"""Milliseconds between checks, while there is no input, of whether the engine has closed the connection."""


def serve_stdio() -> int:
    """Serve one screen over standard input and output; return the exit code."""
    forbid_tracing()
    stdin, stdout = 0, 1
    line = _first_line(stdin)
    try:
        request = _checked_request(line)
        locations = Locations.from_environment()
        lock, waiting = _end_earlier(locations, request)
        try:
            with waiting or nullcontext():
                launch, notices = _launch(locations, request)
                connection = EngineConnection.open(launch, last_seq=request.last_seq)
            _pass_on(_answer(launch, connection, notices), connection, locations, launch.session_id)
        finally:
            lock.release()
    except WorkbenchError as error:
        with suppress(OSError):
            _write(stdout, msgspec.json.encode(NotOpened(reason=str(error))) + b"\n")
        return error.exit_code
    return 0


def _first_line(stdin: int) -> bytes:
    line = b""
    while b"\n" not in line and len(line) < LINE_LIMIT and (part := os.read(stdin, 1)):
        line += part
    return line


def _checked_request(line: bytes) -> OpenRequest:
    """Return the request in a line. Raises UsageError if it is invalid or this version cannot serve it."""
    try:
        request = read_request(line)
    except ValueError as error:
        raise UsageError(f"no request of a screen ({error}): use `ohw ssh://HOST/PATH` on another machine") from None
    if problem := version_problem(request):
        raise UsageError(problem)
    if not re.fullmatch(r"[0-9a-f]{16,64}", request.screen):
        raise UsageError("the screen has no name")
    return request


def _launch(locations: Locations, request: OpenRequest) -> tuple[Launch, list[str]]:
    """Return the parameters of the engine, and notices for the user. Raises WorkbenchError."""
    allowed = {name for name, each in declared(Settings).items() if each.flag}
    if strange := [name for name in request.flags if name not in allowed]:
        raise UsageError(f"there is no flag for {strange[0]!r}; install the same version on both machines")
    flags: dict[str, Any] = dict(request.flags)
    settings = load_settings(locations, lenient=True, **flags)
    settings = replace(settings, trusted=refreshed(locations, settings.trusted))
    is_new = request.open == "new"
    notices = [f"settings there: {problem}" for problem in settings.problems]
    if wants_never(settings, is_new=is_new):
        settings = without_never(settings)
        notices.append(f"The mode is {MODE_NAMES[settings.mode]}: over ssh, Don't ask is chosen on the screen (/mode)")
    if is_new:
        return _new(locations, settings, request), notices
    session = _existing(locations, request)
    keep_out_of(session.workspace)
    return Launch(locations, settings, session.id, session.workspace, has_user=request.has_user), notices


def _new(locations: Locations, settings: Settings, request: OpenRequest) -> Launch:
    if not settings.model:
        raise UsageError("no model is set up there; give one with --model, or run `ohw` there once")
    path = session_path(locations, request.session)
    if path.exists() and not has_no_event(path):
        raise UsageError(f"there is a session {request.session} already")
    directory = str(_directory(request.directory))
    return Launch(locations, settings, request.session, directory, is_new=True, has_user=request.has_user)


def _existing(locations: Locations, request: OpenRequest) -> SessionSummary:
    """Return the existing session to open. Raises UsageError if there is none, or if opening it
    would need a question.
    """
    if request.open == "last":
        session = last_session(locations, directory := _directory(request.directory))
        if session is None:
            raise UsageError(f"there is no session in {directory} yet")
    else:
        session = find_session(locations, request.session)
    if session.damaged:
        raise UsageError(f"the session {session.id} cannot be opened: {session.damaged}; repair it there")
    if session.origin:
        raise UsageError(f"the session {session.id} is itself a copy of one on {session.origin}; open it from there")
    if why := not_ours(session_path(locations, session.id)):
        raise UsageError(f"the file of session {session.id} {why}; open it there once, which asks about that")
    return session


def _directory(text: str) -> Path:
    """Return the directory in which a new session works. Raises UsageError if the path is not an existing directory."""
    directory = Path(text)
    if text == "~" or text.startswith("~/"):
        directory = directory.expanduser()
    if not directory.is_absolute():
        raise UsageError(f"the path {text!r} is not absolute; start it with / or ~/")
    if not directory.is_dir():
        raise UsageError(f"the directory {directory} {'is not one' if directory.exists() else 'does not exist'} there")
    resolved = directory.resolve()
    keep_out_of(resolved)
    return resolved


def _answer(launch: Launch, connection: EngineConnection, notices: list[str]) -> bytes:
    answer = Opened(
        session=launch.session_id,
        workspace=launch.workspace,
        last_seq=connection.last_seq,
        notices=(*notices, *connection.notices),
    )
    return msgspec.json.encode(answer) + b"\n"


def _end_earlier(locations: Locations, request: OpenRequest) -> tuple[SessionLock, socket.socket | None]:
    """End the earlier connection of this screen, which may not have noticed that it was lost; return our lock.

    If there was an earlier connection, also return a new, idle connection to the engine: it keeps the engine running
    until the screen is attached again.
    """
    mark = private_directory(locations.runtime) / f"screen-{request.screen[:32]}"
    waiting = None
    if pid := holder(mark):
        if request.open != "new":
            waiting = connect(socket_path(locations, request.session), _TIMEOUT)
            time.sleep(_ACCEPTED)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return SessionLock.acquire(mark, wait=_PARTING), waiting


def _pass_on(answer: bytes, connection: EngineConnection, locations: Locations, session_id: str) -> None:
    """Write the answer, then relay bytes in both directions until the engine closes the connection, or the screen is
    lost and does not return.
    """
    engine, rest = connection.detach()
    has_closed = threading.Event()
    threading.Thread(target=_copy_output, args=(engine, answer + rest, has_closed), daemon=True).start()
    _copy_input(engine, has_closed)
    # The engine closes the connection if the screen has left the session in order.
    if not has_closed.wait(_PARTING):
        _wait_for_return(engine, socket_path(locations, session_id))


def _wait_for_return(engine: socket.socket, path: Path) -> None:
    """Keep the engine running without a screen, for up to `_RETURN` seconds, by connections that send no greeting."""
    until = time.monotonic() + _RETURN
    while time.monotonic() < until and (waiting := connect(path, _TIMEOUT)) is not None:
        time.sleep(_ACCEPTED)
        _close(engine)
        engine = waiting
        time.sleep(_RENEW)
    _close(engine)


def _close(engine: socket.socket) -> None:
    with suppress(OSError):
        engine.shutdown(socket.SHUT_RDWR)  # also wakes the thread that reads
    engine.close()


def _copy_output(engine: socket.socket, data: bytes, has_closed: threading.Event) -> None:
    """Write `data`, then what the engine sends, to standard output until the engine closes the connection.

    If writing fails, what the engine sends is discarded.
    """
    is_writable = True
    while data:
        if is_writable:
            try:
                _write(1, data)
            except OSError:
                is_writable = False
        try:
            data = engine.recv(_CHUNK)
        except OSError:
            break
    has_closed.set()


def _copy_input(engine: socket.socket, has_closed: threading.Event) -> None:
    """Send the screen's input to the engine, until the input ends or the engine closes the connection."""
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    with suppress(OSError):
        while not has_closed.is_set():
            if poll.poll(_INPUT_POLL):
                data = os.read(0, _CHUNK)
                if not data:
                    return
                engine.sendall(data)


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
