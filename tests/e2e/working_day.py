"""A user's working day in the real program: keys are pressed and counted, and tasks are played one after another.

A word of a command and a paste count as one keystroke each. Free text is not counted, such as that of a message, a
title or a shell line, and neither are the keys that lead back to the prompt.
"""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from tests.sandbox import Sandbox
from tests.terminal.terminal import Terminal
from workbench.protocol.events import Event, UserMessage
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


class Hands:
    """Presses keys and types words into a terminal, and counts them."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._count = 0

    def press(self, key: str) -> None:
        self._count += 1
        self.terminal.press(key)

    def word(self, text: str) -> None:
        """Type one word."""
        self._count += 1
        self.terminal.type(text)

    def paste(self, text: str) -> None:
        self._count += 1
        self.terminal.paste(text)

    def command(self, line: str) -> None:
        """Type a line, one keystroke a word, and send it once it is in the prompt."""
        self._count += len(line.split())
        self.terminal.type(line)
        self.terminal.wait_for(line)
        self.press("enter")

    def count(self) -> int:
        """Return the keystrokes since the last call."""
        count, self._count = self._count, 0
        return count


class Day:
    """A user's day in one session of a project under git."""

    def __init__(self, sandbox: Sandbox, terminal: Terminal) -> None:
        self.sandbox, self.terminal, self.hands = sandbox, terminal, Hands(terminal)
        self.project = sandbox.project

    def write(self, text: str) -> None:
        """Type free text, which is not counted."""
        self.terminal.type(text)
        self.terminal.wait_for(text)

    def back(self, *shown: str) -> None:
        """Press Escape once the last line shows each of these keys, until the prompt has the focus; not counted."""
        for keys in shown:
            self.waits_for_keys(keys)
            self.terminal.press("escape")
        self.waits_for_keys("Enter Send")

    def waits_for_keys(self, *any_of: str) -> None:
        self.terminal.wait_until(lambda screen: any(shows_keys(screen, keys) for keys in any_of), f"{any_of}")

    def sees(self, *words: str) -> str:
        """Wait until all of these are on the screen; return the screen."""
        return self.terminal.wait_until(lambda screen: all(word in screen for word in words), f"{words}")

    def waits(self, is_so: Callable[[], object], what: str) -> None:
        self.terminal.wait_until(lambda _: is_so(), what)

    def is_copied(self, text: str) -> None:
        copied = base64.b64encode(text.encode())
        self.waits(lambda: copied in self.terminal.raw, f"{text!r} to be copied")

    def event(self, kind: type[Event], what: str, **fields: object) -> Any:
        """Wait for an event of the newest session that has these values, and return it."""

        def fits(event: Event) -> bool:
            return isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())

        self.waits(lambda: any(map(fits, newest_log(self.sandbox))), what)
        return next(filter(fits, newest_log(self.sandbox)))


MODAL = "F1 Help"
"""The keys that the last line shows while a modal screen is open that does not cover it."""
PAGE = (" Esc Close─", " Esc Clear─")
"""How the last line ends while a page covers the screen."""


def shows_keys(screen: str, keys: str) -> bool:
    """Return whether the last line shows these keys."""
    line = screen.rstrip().rpartition("\n")[2].strip()
    return line == MODAL or line.endswith(PAGE) if keys == MODAL else keys in line


def sent(day: Day) -> list[str]:
    return [event.text.strip() for event in newest_log(day.sandbox) if isinstance(event, UserMessage)]


def newest_log(sandbox: Sandbox) -> list[Event]:
    """Return the events of the session that was used last."""
    return log_of(sandbox, list_sessions(sandbox.locations)[0].id)


def log_of(sandbox: Sandbox, session_id: str) -> list[Event]:
    with Store.open(session_path(sandbox.locations, session_id), readonly=True) as store:
        return list(store.events())


def id_of(sandbox: Sandbox, title: str) -> str:
    """Return the id of the session with this title."""
    return next(each.id for each in list_sessions(sandbox.locations) if each.title == title)


Flows = Sequence[tuple[Callable[[Day], None], int]]
"""Tasks in their order, each with the most keystrokes that it may take."""


def slow_flows(day: Day, flows: Flows) -> list[str]:
    """Play the flows, print their counts, and return the rows of those that took too many keystrokes.

    Each is played from the prompt of an idle session, a question or the form for a model.
    """
    slow = []
    for flow, most in flows:
        day.waits_for_keys("Enter Send", "y Approve", "Enter Choose")
        day.hands.count()
        flow(day)
        count = day.hands.count()
        row = f"{count:>3} of {most}   {flow.__name__.replace('_', ' ')}"
        print(row)  # noqa: T201
        slow += [row] * (count > most)
    return slow


EDITOR = '#!/bin/sh\nprintf "%s\\nadded line\\n" "$(cat "$1")" > "$1"\n'


def start_project(sandbox: Sandbox, script: str) -> None:
    """Write the model's script, put a file of the project under git, and give the user an editor that adds a line."""
    (sandbox.project / "ledger.py").write_text("balance = 1\n")
    (sandbox.home / "script.toml").write_text(script)
    for arguments in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@example.org"]):
        subprocess.run(["git", *arguments], cwd=sandbox.project, check=True)
    editor = sandbox.home / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
    sandbox.env |= {"VISUAL": str(editor), "EDITOR": str(editor)}
