"""What a user does on a screen of a session on another machine."""

from __future__ import annotations

import time

from tests.remote.far_machine import FarMachine
from tests.terminal.terminal import Terminal
from workbench.protocol.events import Event
from workbench.session.storage.session_list import SessionSummary, list_sessions
from workbench.session.storage.store import Store
from workbench.view.approval.quiet_time import QUIET


def opened(far: FarMachine, *args: str) -> Terminal:
    """Start `ohw` here."""
    return Terminal(args, 120, 40, far.near.env, cwd=far.near.project)


def started(far: FarMachine, script: str) -> Terminal:
    """Start a session there with a scripted model, and wait for the screen."""
    terminal = opened(far, far.url, "--model", script)
    terminal.wait_for("What should we work on?")
    return terminal


def send(terminal: Terminal, text: str) -> None:
    """Send a message."""
    terminal.type(text)
    terminal.wait_for(text)
    terminal.press("enter")


def answer(terminal: Terminal) -> None:
    """Press the key that approves, once the question accepts one."""
    terminal.wait_for("y Approve")
    time.sleep(QUIET + 0.2)
    terminal.press("y")


def quit_screen(terminal: Terminal) -> None:
    """Quit."""
    terminal.press("ctrl+q")
    assert terminal.wait_exit() == 0


def quit_when_finished(terminal: Terminal) -> None:
    """Quit once the first run has ended: the answer is shown before the last events are in the log."""
    terminal.wait_for("✓ Finished")
    quit_screen(terminal)


def session_there(far: FarMachine) -> SessionSummary:
    """Return the only session of the other machine."""
    (summary,) = list_sessions(far.user.locations)
    return summary


def session_here(far: FarMachine) -> SessionSummary:
    """Return the only session of this machine."""
    (summary,) = list_sessions(far.near.locations)
    return summary


def lines_there(far: FarMachine) -> list[tuple[int, str]]:
    """Return the events in the session file of the other machine, as stored."""
    with Store.open(far.user.locations.sessions / f"{session_there(far).id}.session", readonly=True) as store:
        return list(store.lines())


def lines_here(far: FarMachine) -> list[tuple[int, str]]:
    """Return the events in the copy on this machine, as stored."""
    with Store.open(far.near.locations.sessions / f"{session_here(far).id}.session", readonly=True) as store:
        return list(store.lines())


def events_there(far: FarMachine) -> list[Event]:
    """Return the events in the session file of the other machine."""
    with Store.open(far.user.locations.sessions / f"{session_there(far).id}.session", readonly=True) as store:
        return list(store.events())
