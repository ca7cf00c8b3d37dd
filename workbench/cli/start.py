"""`ohw`, `ohw demo` and `ohw resume`: a session on the screen, or line by line."""

from __future__ import annotations

import os
import sys
import termios
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from workbench.cli.common import chosen_session, settings_of, workspace_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError, WorkbenchError
from workbench.text import visible


def start(arguments: Namespace) -> int:
    """A new session, with what to begin with where that was given."""
    where, settings = settings_of(arguments, lenient=not arguments.plain)
    return _opener(arguments)(where, settings, workspace_of(arguments), prompt=arguments.prompt or "")


def demo(arguments: Namespace) -> int:
    """A scripted agent that mends a small project."""
    where, settings = settings_of(arguments, lenient=not arguments.plain)
    return _opener(arguments)(where, settings, workspace_of(arguments), demo=True)


def resume(arguments: Namespace) -> int:
    """A session again."""
    where, settings = settings_of(arguments, lenient=not arguments.plain)
    opener = _opener(arguments)
    found = chosen_session(where, arguments)
    if found.damaged:
        from workbench.session.storage.store import REPAIR

        raise WorkbenchError(f"the session {found.id} cannot be opened: {found.damaged}; {REPAIR.format(found.id)}")
    return opener(where, _agreed(where, settings, found.id), Path(found.workspace), session_id=found.id)


def _agreed(where: Locations, settings: Settings, session_id: str) -> Settings:
    """The settings to open it with, asked about where the file may be somebody else's; raises UsageError for a no."""
    from workbench.session.names import session_path
    from workbench.session.storage.past import not_ours

    why = not_ours(session_path(where, session_id))
    if not why:
        return settings
    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed ahead is no answer
    sys.stderr.write(
        f"The file of session {session_id} {visible(why, lines=False)}.\n"
        "What it says comes from there. Its mode, model, address and rules will not count, and what is open in it is "
        "closed.\nOpen it? Write yes or no: "
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise UsageError("the session was not opened")
    return replace(settings, accepts_foreign=True)


def _opener(arguments: Namespace) -> Callable[..., int]:
    """What shows a session: the screen, or lines where they are wanted or nothing else is possible."""
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # Textual draws on stderr
        raise UsageError("this needs a terminal for its input, output and errors; without one use `ohw run PROMPT`")
    is_dumb = os.environ.get("TERM", "dumb") == "dumb"
    if not (arguments.plain or is_dumb):
        from workbench.tui.start import open_screen

        return open_screen
    from workbench.plain.start import open_plain

    why = "" if arguments.plain else "This terminal (TERM=dumb) cannot show a screen, so this is plain mode (--plain)."
    return partial(open_plain, said=why)


def run(arguments: Namespace) -> int:
    """The run; its exit code says how it ended."""
    where, settings = settings_of(arguments)
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    from workbench.engine.peers import mark_descendants
    from workbench.plain.headless import run as run_headless

    mark_descendants()
    return run_headless(where, settings, workspace_of(arguments), prompt, as_json=arguments.json)
