"""The detached process of one session, which reads its `Launch` from stdin.

It writes one line to stdout (a `Hello`, or a `Refused` with the reason), closes stdout, and then communicates through
its socket.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from workbench.config.locations import Locations
from workbench.engine.broadcast import Broadcast
from workbench.engine.front_ends import FrontEnds
from workbench.engine.launch import Launch, log_path
from workbench.engine.logs import write_logs_to
from workbench.engine.server import Server
from workbench.engine.sockets import forbid_tracing, listen
from workbench.engine.worker import end_without_memory
from workbench.errors import WorkbenchError, describe_fault, exhaustion
from workbench.files.crash_reports import crash_line
from workbench.files.state_files import discard_file, on_own_write
from workbench.llm.litellm_setup import import_early
from workbench.processes.descendants import mark_descendants
from workbench.processes.spawn import end_running
from workbench.protocol.codec import Data, encode
from workbench.protocol.commands import Hello, Refused
from workbench.session.demo_directories import discard_demo, sweep_demos
from workbench.session.session_factory import Listeners, OpenedSession, open_session, start_session
from workbench.session.session_names import socket_path
from workbench.session.storage.signed_writes import sign_write

logger = logging.getLogger("workbench.engine")


def main() -> int:
    """Serve one session; return the exit code."""
    mark_descendants()
    forbid_tracing()
    launch = Launch.from_json(sys.stdin.read())
    os.environ.update(launch.variables)
    write_logs_to(log_path(launch.locations, launch.session_id))
    faulthandler.enable()
    end_without_memory()
    on_own_write(sign_write)
    sys.excepthook = partial(_report_crash, launch.locations)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return asyncio.run(_serve(launch))
    except WorkbenchError as error:
        logger.warning("refused: %s", error)
        _report(Refused(reason=str(error)))
        return error.exit_code


async def _serve(launch: Launch) -> int:
    screens = FrontEnds()
    broadcast = Broadcast(asyncio.get_running_loop(), screens.forward)
    opened = _opened(launch, broadcast)
    threading.Thread(target=sweep_demos, args=(launch.locations,), name="old-demos", daemon=True).start()
    try:
        path = socket_path(launch.locations, launch.session_id)
        with listen(path) as listener:
            import_early(opened.profile)
            _report(Hello(seen=opened.last_seq, pid=os.getpid()))
            try:
                return await Server(opened, screens, broadcast, partial(_describe, launch.locations)).serve(listener)
            finally:
                discard_file(path)
    finally:
        opened.close()
        discard_demo(opened.workspace, opened.session.ended)


def _opened(launch: Launch, broadcast: Broadcast) -> OpenedSession:
    where, what, name = launch.locations, launch.settings, launch.session_id
    listeners: Listeners = {
        "on_event": broadcast.event,
        "on_live": broadcast.live,
        "has_user": launch.has_user,
    }
    if launch.is_new:
        return start_session(where, what, Path(launch.workspace), name, **listeners)
    return open_session(where, what, name, **listeners)


def _report(message: Data) -> None:
    try:
        sys.stdout.buffer.write(encode(message) + b"\n")
        sys.stdout.flush()
    except OSError:
        logger.info("no screen is connected to this engine any more")
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 1)
    os.close(empty)


def _describe(locations: Locations, error: BaseException) -> str:
    """Return one line about an exception: what the system ran out of, or else where the crash report is."""
    return describe_fault(error) if exhaustion(error) else crash_line("engine", error, locations)


def _report_crash(
    locations: Locations, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Log an unhandled exception, write a crash report, and refuse the screen that waits for the engine to start."""
    logger.critical("the engine failed", exc_info=(kind, error, trace))
    _report(Refused(reason=_describe(locations, error)))


def run() -> NoReturn:
    """Serve one session and end the process."""
    status = main()
    logging.shutdown()
    end_running()
    # A running import of litellm, or a step that cannot be interrupted, must not keep the process alive.
    os._exit(status)
