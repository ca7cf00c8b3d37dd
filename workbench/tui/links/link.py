"""What the screen knows of the engine: the commands it can give and the messages it gets.

Tests of screens stand in a link that needs no process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:  # the screen is painted before pydantic is loaded
    from workbench.protocol.events import Event, FileDelta
    from workbench.protocol.live import LiveEvent
    from workbench.protocol.risk import Mode


@dataclass(frozen=True)
class LinkLost:
    """The engine is gone (or did not start); `reason` is one line, `for_good` when the session cannot go on here."""

    reason: str
    for_good: bool = False


@dataclass(frozen=True)
class CommandRefused:
    """The engine did not carry out a command; `reason` is one line."""

    reason: str


@dataclass(frozen=True)
class EngineNotice:
    """The engine has a line for the person, such as a tool that was left out."""

    text: str


Incoming: TypeAlias = "Event | LiveEvent | LinkLost | CommandRefused | EngineNotice"


class Link(Protocol):
    """One session as the screen sees it. Commands return at once and never raise; refusals come back as messages."""

    def history(self) -> Iterable[Event]:
        """The events the log holds now, read from the session file while one goes through them, in any thread.

        It may be a `History` with the last part alone, and a way to the older ones.
        """

    async def receive(self) -> Sequence[Incoming]:
        """Wait for the next messages; events come in order of `seq`, each once, without gaps after `history()`."""

    def send(self, text: str, mentions: Sequence[str] = ()) -> None:
        """A message of the person's, and the files it mentions (relative to the workspace)."""

    def withdraw(self, message: int) -> None:
        """Take back the message of that event, which still waits for the agent."""

    def run_command(self, command: str) -> None:
        """A shell command of the person's own, in the agent's shell."""

    def decide(self, action_id: str, verdict: str, fingerprint: str, note: str = "", **more: Any) -> None:
        """Approve or reject one action as it was shown."""

    def allow_always(self, action_id: str, fingerprint: str, rule: str, scope: str) -> None:
        """Approve one action as it was shown and save the rule shown with it, for `session`, `folder` or `person`."""

    def answer(self, action_id: str, text: str) -> None:
        """Answer a question of the agent's."""

    def interrupt(self) -> None:
        """Stop the agent; everything is kept."""

    def set_mode(self, mode: Mode, *, confirmed: bool = False) -> None:
        """Change the approval mode while running; the one that never asks only when the user `confirmed` it."""

    def set_model(self, name: str) -> None:
        """Use another model from the next call on: a profile, or PROVIDER/NAME."""

    def set_rule(self, rule: str | None = None, dropped_rule: str | None = None) -> None:
        """Add a rule to the session's own, or take one away."""

    def set_title(self, title: str) -> None:
        """Call the session so; empty for what was said first."""

    def compact(self, *, undo: bool = False) -> None:
        """Have the history condensed: at once, or before the next call of the model; or take the last time back."""

    def take_back(self, files: Sequence[FileDelta]) -> None:
        """Write files as the person wants them back: `before` is what each holds now, `after` what it shall hold."""

    def restore(self, copy_id: str) -> None:
        """Bring back the copy that was kept before a command took files away."""

    def ask_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> None:
        """Get a prompt of an MCP server; it comes as `prompt_ready`."""

    def close(self, *, stop: bool = False) -> None:
        """Leave the session; the engine finishes its run by itself, or with `stop` ends it unless others watch."""
