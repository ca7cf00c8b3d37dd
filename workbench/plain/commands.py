"""The commands of plain mode: a line that begins with a slash. Each tells lines or gives an order to the link."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from workbench.client.client import Client
from workbench.config.modes import MODES, NEVER
from workbench.plain.telling import change_lines, file_line, standing, tasks, told
from workbench.protocol.commands import ChangeSettings, Condense, Interrupt
from workbench.text import first_line
from workbench.view.formatting.detail import detail_text, detail_title
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.protocol.risk import Mode

WORDS: Final = {
    "help": "this list",
    "status": "what happens now, in which folder, on which model, at what cost",
    "question": "ask again what waits for an answer",
    "show N": "everything known about step N",
    "tasks": "the agent's plan",
    "diff": "what changed in this session",
    "history": "the whole session from its beginning",
    "mode MODE": f"when to ask: {', '.join(MODES)}",
    "model NAME": "another model from here on: a profile, or PROVIDER/NAME",
    "compact": "have the history summed up, so that it takes less of the model's window",
    "compact undo": "send the history whole again, as before it was summed up",
    "send": "send what an MCP server's prompt said",
    "stop": "stop the agent, as ctrl+c does",
    "exit": "the same: it ends the run",
    "quit": "leave, as ctrl+d does; the session is kept",
}
_KEYS: Final = (
    "A line is a message to the agent; while it works the message waits for its next step.",
    "@FILE in a message sends the file along. !COMMAND runs a shell command of your own.",
    "/SERVER:PROMPT NAME=VALUE asks an MCP server for one of its prompts and tells what it says; /send sends that.",
)


class Commands:
    """Carries out a command; `say` tells lines, `others` are carried out elsewhere."""

    def __init__(
        self,
        state: SessionState,
        link: Client,
        say: Callable[..., None],
        others: Mapping[str, Callable[[], None]],
        never_ask: Callable[[], None],
    ) -> None:
        """`never_ask` has the mode that never asks confirmed, and sets it then."""
        self._never_ask = never_ask
        self._state = state
        self._link = link
        self._say = say
        self._simple: dict[str, Callable[[], None]] = {
            "help": lambda: say(*_KEYS, *(f"/{name}: {what}" for name, what in WORDS.items())),
            "status": lambda: say(*standing(state)),
            "tasks": lambda: say(*tasks(state)),
            "diff": lambda: say(*_changes(state)),
            "history": lambda: say(*(line for item in state.items for line in told(item, state.workspace))),
            "compact": lambda: link.send(Condense()),
            "stop": self._stop,
            "exit": self._stop,
            **others,
        }

    def run(self, line: str) -> None:
        """One line that begins with a slash."""
        name, _, argument = line[1:].strip().partition(" ")
        argument = argument.strip()
        if name in self._simple and not argument:
            self._simple[name]()
        elif (name, argument) == ("compact", "undo"):
            self._link.send(Condense(undo=True))
        elif name == "show" and argument.isdecimal():
            self._show(int(argument))
        elif (name, argument) == ("mode", NEVER):
            self._never_ask()
        elif name == "mode" and argument in MODES:
            self._link.send(ChangeSettings(mode=cast("Mode", argument)))
        elif name == "model" and argument:
            self._link.send(ChangeSettings(model=argument))
        else:
            self._say(f"There is no {first_line(line, 60)}. There are /{', /'.join(WORDS)}.")

    def _stop(self) -> None:
        if not (self._state.is_running or self._state.waiting):
            self._say("Nothing runs; /quit leaves.")
        self._link.send(Interrupt())

    def _show(self, number: int) -> None:
        item = next((item for item in self._state.actions.values() if item.number == number), None)
        if item is None:
            self._say(f"There is no step {number}.")
        else:
            self._say(detail_title(item).replace(" · ", ", "), detail_text(item, self._state.workspace).rstrip("\n"))


def _changes(state: SessionState) -> Iterator[str]:
    from workbench.diff.hunks import compare
    from workbench.view.formatting.actions import short_path
    from workbench.view.formatting.rows import whose

    if not state.changes:
        yield "Nothing has changed."
    for file in state.changes.values():
        diff = compare(short_path(file.path, state.workspace), file.before, file.after)
        yield (
            file_line(diff)
            + (f" Changed {words}." if (words := whose(file)) else "")
            + (f" {file.note}" * bool(file.note))
        )
        for hunk in diff.hunks:
            first, *rest = change_lines(diff, hunk)
            yield f"Change in {first}"
            yield from rest
