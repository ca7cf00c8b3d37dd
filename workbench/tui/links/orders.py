"""What the person says, as commands of the protocol in their order; the half of `EngineLink` that only queues."""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.protocol.commands import (
    AllowAlways,
    Answer,
    AskPrompt,
    Command,
    Compact,
    Decide,
    Interrupt,
    Restore,
    RunCommand,
    Send,
    Set,
    TakeBack,
    Withdraw,
)
from workbench.protocol.events import FileDelta
from workbench.protocol.risk import Mode


class Orders:
    """The commands that are not carried over yet; none of these waits."""

    def __init__(self) -> None:
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()

    def send(self, text: str, mentions: Sequence[str] = ()) -> None:
        """A message of the person's, and the files it mentions."""
        self._commands.put(Send(text=text, mentions=tuple(mentions)))

    def withdraw(self, message: int) -> None:
        """Take back a message that still waits for the agent."""
        self._commands.put(Withdraw(message=message))

    def run_command(self, command: str) -> None:
        """A shell command of the person's own."""
        self._commands.put(RunCommand(command=command))

    def decide(self, action_id: str, verdict: str, fingerprint: str, note: str = "", **more: Any) -> None:
        """Approve or reject one action as it was shown."""
        said = {"action_id": action_id, "verdict": verdict, "fingerprint": fingerprint, "note": note, **more}
        self._commands.put(Decide.model_validate(said))

    def allow_always(self, action_id: str, fingerprint: str, rule: str, scope: str) -> None:
        """Approve one action as it was shown and save the rule shown with it."""
        said = {"action_id": action_id, "fingerprint": fingerprint, "rule": rule, "scope": scope}
        self._commands.put(AllowAlways.model_validate(said))

    def answer(self, action_id: str, text: str) -> None:
        """Answer a question of the agent's."""
        self._commands.put(Answer(action_id=action_id, text=text))

    def interrupt(self) -> None:
        """Stop the agent."""
        self._commands.put(Interrupt())

    def set_mode(self, mode: Mode, *, confirmed: bool = False) -> None:
        """Change the approval mode."""
        self._commands.put(Set(mode=mode, confirmed=confirmed))

    def set_model(self, name: str) -> None:
        """Use another model from the next call on: a profile, or PROVIDER/NAME."""
        self._commands.put(Set(model=name))

    def set_rule(self, rule: str | None = None, dropped_rule: str | None = None) -> None:
        """Add a rule to the session's own, or take one away."""
        self._commands.put(Set(rule=rule, dropped_rule=dropped_rule))

    def set_title(self, title: str) -> None:
        """Call the session so."""
        self._commands.put(Set(title=title))

    def compact(self, *, undo: bool = False) -> None:
        """Have the history condensed: at once, or before the next call of the model; or take the last time back."""
        self._commands.put(Compact(undo=undo))

    def take_back(self, files: Sequence[FileDelta]) -> None:
        """Write files as the person wants them back: `before` is what each holds now, `after` what it shall hold."""
        self._commands.put(TakeBack(files=tuple(files)))

    def ask_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> None:
        """Get a prompt of an MCP server."""
        self._commands.put(AskPrompt(server=server, name=name, arguments=dict(arguments)))

    def restore(self, copy_id: str) -> None:
        """Bring back the copy that was kept before a command took files away."""
        self._commands.put(Restore(copy_id=copy_id))
