"""The detached process of one session; reads its `Launch` from stdin.

It writes one line to stdout (hello, or refused with the reason), closes it, and then communicates through its socket.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from workbench.engine.broadcast import Broadcast
from workbench.engine.front_ends import FrontEnds
from workbench.engine.launch import Launch, log_path
from workbench.engine.logs import write_logs_to
from workbench.engine.server import Server
from workbench.engine.sockets import forbid_tracing, listen
from workbench.engine.worker import end_without_memory
from workbench.errors import WorkbenchError
from workbench.files.state_files import discard_file
from workbench.llm.litellm_setup import import_early
from workbench.processes.descendants import mark_descendants
from workbench.processes.spawn import end_running
from workbench.protocol.codec import Data, encode
from workbench.protocol.commands import Hello, Refused
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.session_names import socket_path

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
    sys.excepthook = _log_fault
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
    try:
        path = socket_path(launch.locations, launch.session_id)
        with listen(path) as listener:
            import_early(opened.profile)
            _report(Hello(seen=opened.last_seq, pid=os.getpid()))
            try:
                return await Server(opened, screens, broadcast).serve(listener)
            finally:
                discard_file(path)
    finally:
        opened.close()


def _opened(launch: Launch, broadcast: Broadcast) -> OpenedSession:
    where, what, name = launch.locations, launch.settings, launch.session_id
    if launch.is_new:
        workspace = Path(launch.workspace)
        return start_session(
            where, what, workspace, name, on_event=broadcast.event, on_live=broadcast.live, has_user=True
        )
    return open_session(where, what, name, on_event=broadcast.event, on_live=broadcast.live, has_user=True)


def _report(message: Data) -> None:
    try:
        sys.stdout.buffer.write(encode(message) + b"\n")
        sys.stdout.flush()
    except OSError:
        logger.info("no screen is connected to this engine any more")
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 1)
    os.close(empty)


def _log_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logger.critical("the engine failed", exc_info=(kind, error, trace))


def run() -> NoReturn:
    """Serve one session and end the process."""
    status = main()
    logging.shutdown()
    end_running()
    # A running import of litellm, or a step that cannot be interrupted, must not keep the process alive.
    os._exit(status)
