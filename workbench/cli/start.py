"""The commands that open a session on the screen or in plain mode, and `ohw run`, which uses neither."""

from __future__ import annotations

import os
import sys
import termios
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.cli.common import check_default_model, check_models, chosen_session, settings_of, workspace_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError, WorkbenchError
from workbench.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.session.storage.session_list import SessionSummary


def start(arguments: Namespace) -> int:
    """Start a session, with the first message if there is one."""
    if arguments.url:
        _check_no_copy(arguments)
        return _on_other_machine(arguments, _opener(arguments))
    where, settings = settings_of(arguments, lenient=not arguments.plain)
    opener = _opener(arguments)
    check_models(settings)
    workspace = workspace_of(arguments)
    if arguments.container_copy is not None:
        from workbench.cli.container_copy import workspace_in_copy

        workspace = workspace_in_copy(where, settings, arguments)
    return opener(where, settings, workspace, prompt=arguments.prompt or "")


def demo(arguments: Namespace) -> int:
    """Open the demo, in which a scripted agent fixes a small project."""
    _check_here(arguments, "demo")
    where, settings = settings_of(arguments, lenient=not arguments.plain)
    return _opener(arguments)(where, settings, workspace_of(arguments), demo=True)


def resume(arguments: Namespace, opener: Callable[..., int] | None = None) -> int:
    """Resume a session; `opener` opens it if given, otherwise the screen or plain mode. Raises WorkbenchError if
    damaged.
    """
    opener = opener or _opener(arguments)
    if arguments.url:
        return _on_other_machine(arguments, opener, is_new=False)
    where, settings = settings_of(arguments, lenient=not arguments.plain)
    session = chosen_session(where, arguments)
    if session.origin:
        return _on_other_machine(arguments, opener, session, is_new=False)
    check_models(settings)
    if session.damaged:
        from workbench.session.storage.store import REPAIR

        raise WorkbenchError(
            f"the session {session.id} cannot be opened: {session.damaged}; {REPAIR.format(session.id)}"
        )
    return opener(where, _agreed(where, settings, session.id), Path(session.workspace), session_id=session.id)


def attach(arguments: Namespace) -> int:
    """Open another screen on a running session.

    Raises UsageError if the session is not running, or it is unclear which one is meant.
    """
    _check_here(arguments, "attach")
    where, settings = settings_of(arguments, lenient=not arguments.plain)
    opener = _opener(arguments)
    session = running_session(where, arguments)
    return opener(where, _agreed(where, settings, session.id), Path(session.workspace), session_id=session.id)


def _check_here(arguments: Namespace, command: str) -> None:
    """Raise UsageError if a URL is given to a command that works only on this machine."""
    if arguments.url:
        raise UsageError(f"`ohw {command}` works on this machine only; on the other one: ssh -t HOST ohw {command} …")


def _check_no_copy(arguments: Namespace) -> None:
    """Raise UsageError for `--container-copy` or `--patch`, which do not work on another machine."""
    if arguments.container_copy is not None or getattr(arguments, "patch", None) is not None:
        raise UsageError("--container-copy works on this machine only; on the other one: ssh -t HOST ohw …")


def _on_other_machine(
    arguments: Namespace, opener: Callable[..., int], session: SessionSummary | None = None, *, is_new: bool = True
) -> int:
    from workbench.cli.remote import open_remote

    return open_remote(arguments, opener, session, is_new=is_new)


def running_session(where: Locations, arguments: Namespace) -> SessionSummary:
    """Return the session with the given ID, or the only running one, first of this directory, then of any.

    Raises UsageError if it is not running, none is, or several are.
    """
    from workbench.engine.sockets import is_served
    from workbench.session.session_names import socket_path
    from workbench.session.storage.session_list import find_session, newest_first

    if arguments.id:
        session = find_session(where, arguments.id)
        if not is_served(socket_path(where, session.id)):
            raise UsageError(f"the session {session.id} is not running; `ohw resume {session.id}` opens it")
        return session
    running = [each for each in newest_first(where) if is_served(socket_path(where, each.id))]
    here = [each for each in running if each.workspace == str(workspace_of(arguments))]
    chosen = here or running
    if not chosen:
        raise UsageError("no session is running; `ohw resume` opens the last one of this directory")
    if len(chosen) > 1:
        lines = "; ".join(f"{each.id} in {each.workspace}" for each in chosen)
        raise UsageError(f"several sessions are running; give the ID of one: {lines}")
    return chosen[0]


def _agreed(where: Locations, settings: Settings, session_id: str) -> Settings:
    """If the session file is of unknown origin, ask the user whether to open it; return the settings for the session.

    Raises UsageError unless the user answers yes.
    """
    from workbench.session.session_names import session_path
    from workbench.session.storage.store import not_ours

    why = not_ours(session_path(where, session_id))
    if not why:
        return settings
    # Text typed before the question is not an answer to it.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stderr.write(
        f"The file of session {session_id} {visible(why, lines=False)}.\n"
        "Its content is not yours. Its mode, model, URL and rules are ignored, and pending actions are closed.\n"
        "Open it? Type yes or no: "
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise UsageError("the session was not opened")
    return replace(settings, accepts_foreign=True)


def _opener(arguments: Namespace) -> Callable[..., int]:
    """Return the function that opens a session: on the screen or, if requested or the terminal needs it, in plain mode.

    Raises UsageError if a standard stream is not a terminal.
    """
    # All three, because Textual draws on stderr.
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("not a terminal; use `ohw run PROMPT` for scripts")
    is_dumb = os.environ.get("TERM", "dumb") == "dumb"
    if not (arguments.plain or is_dumb):
        return open_on_screen
    from workbench.plain.start import open_plain

    why = "" if arguments.plain else "This terminal (TERM=dumb) cannot show a screen, so this is plain mode (--plain)."
    return partial(open_plain, notice=why)


def open_on_screen(*args: Any, **options: Any) -> int:
    """Open a session on the screen, and end the process when the screen is closed."""
    from workbench.processes.spawn import end_process
    from workbench.tui.start import open_screen

    end_process(open_screen(*args, **options))


def run(arguments: Namespace) -> int:
    """Run the agent without a screen; the exit code says how the run ended."""
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    if arguments.url:
        from workbench.cli.remote import run_there

        _check_no_copy(arguments)
        return run_there(arguments, prompt)
    where, settings = settings_of(arguments)
    check_default_model(settings)
    from workbench.engine.sockets import forbid_tracing
    from workbench.plain.headless import run as run_headless
    from workbench.processes.descendants import mark_descendants

    mark_descendants()
    forbid_tracing()
    drive = partial(run_headless, where, settings, prompt=prompt, as_json=arguments.json)
    if arguments.container_copy is None and arguments.patch is None:
        return drive(workspace_of(arguments))
    from workbench.cli.container_copy import run_in_copy

    return run_in_copy(where, settings, arguments, drive)
