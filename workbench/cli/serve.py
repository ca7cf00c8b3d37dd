"""`ohw serve` shows a session in browser tabs; each tab runs the hidden command `browser-tab`."""

from __future__ import annotations

import asyncio
import fcntl
import importlib.util
import sys
import termios
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from workbench.cli.arguments import settings_with_flags
from workbench.cli.common import print_error, print_line, settings_of, workspace_of
from workbench.cli.start import open_on_screen, resume, running_session
from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.processes.spawn import isolated_python
from workbench.session.session_names import new_id, session_path
from workbench.session.storage.cleanup import has_no_event
from workbench.session.storage.session_list import find_session

_MISSING = (
    "there is no textual-serve, which `ohw serve` needs; install it with `uv tool install '.[web]'` in a clone of ohw"
)
_LAST_PORT = 65_535
_WARNING = (
    "{} can be reached from other machines, and the connection is not encrypted: who can read it on the way sees what "
    "you see and type. `ssh -L {}:127.0.0.1:{} HOST` from the other machine needs no --host."
)


def serve(arguments: Namespace) -> int:
    """Serve a session to browsers until the user ends it. Raises UsageError if the optional package is missing."""
    where, _ = settings_of(arguments, lenient=True)
    if not arguments.host or arguments.port > _LAST_PORT:
        raise UsageError("--host is an address of this machine, and --port a number from 0 to 65535")
    if importlib.util.find_spec("textual_serve") is None:
        raise UsageError(_MISSING)
    from workbench.engine.sockets import forbid_tracing
    from workbench.serve.access import is_loopback
    from workbench.serve.listener import listen
    from workbench.serve.server import ServedView, run_server

    forbid_tracing()

    workspace = workspace_of(arguments)
    if arguments.read_only:
        session_id = running_session(where, arguments).id
    else:
        session_id = find_session(where, arguments.id).id if arguments.id else new_id(workspace.name)
    command = isolated_python("workbench", "browser-tab", *_tab_words(arguments, session_id, workspace))
    view, print_link = ServedView(command, arguments.read_only), partial(_print_link, session_id)
    with listen(arguments.host, arguments.port) as listener:
        if not is_loopback(arguments.host):
            port = listener.getsockname()[1]
            print_error(_WARNING.format(arguments.host, port, port))
        return asyncio.run(run_server(view, arguments.host, listener, print_link))


def _tab_words(arguments: Namespace, session_id: str, workspace: Path) -> Iterator[str]:
    """Yield the arguments of the command in a tab: the session, and the flags of this command."""
    yield session_id
    yield from ("--workspace", str(workspace))
    yield from ("--read-only",) if arguments.read_only else ()
    for each in settings_with_flags():
        value = getattr(arguments, each.name)
        if value is not None:
            yield from (each.flag, value)


def _print_link(session_id: str, link: str) -> None:
    from workbench.serve.enter_key import is_in_foreground

    print_line(f"{session_id}\n  {link}\nThe link works once, for ten minutes, in the browser that opens it.")
    if is_in_foreground():
        print_line("Enter: another link · Ctrl+C: end")
    sys.stdout.flush()


def browser_tab(arguments: Namespace) -> int:
    """Show a session in the terminal of a browser tab, which becomes the controlling terminal of this process.

    The run continues when the tab is closed.
    """
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    where, settings = settings_of(arguments, lenient=True)
    if arguments.read_only:
        session = running_session(where, arguments)
        return open_on_screen(where, settings, Path(session.workspace), session_id=session.id, is_viewer=True)
    arguments.plain = arguments.last = False
    if _exists(where, arguments.id):
        return resume(arguments, _open_in_tab)
    return _open_in_tab(where, settings, workspace_of(arguments), new_id=arguments.id)


def _open_in_tab(*args: Any, **options: Any) -> int:
    return open_on_screen(*args, **options, ends_run=False)


def _exists(where: Locations, session_id: str) -> bool:
    path = session_path(where, session_id)
    return path.exists() and not has_no_event(path)
