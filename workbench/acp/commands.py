"""The slash commands in the prompts of an editor: a few of `ohw`'s own, and the user's custom commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput
from msgspec import Struct

from workbench.agent.custom_commands import CustomCommands
from workbench.client.client import Incoming
from workbench.errors import UsageError
from workbench.protocol.commands import ChangeSettings, Command, Condense, RequestControl, SendMessage
from workbench.protocol.events import HistoryCondensed
from workbench.protocol.live import ControlState
from workbench.text import visible
from workbench.view.approval.plan import RUN_PLAN, plan_choices, plan_ready
from workbench.view.commands import COMMANDS
from workbench.view.sandbox import sandbox_text
from workbench.view.state import SessionState

_WORDS: Final = {
    "approve": ("run the plan of plan mode, in the mode before it or in the named one", "mode"),
    **{each.name: (each.words, "") for each in COMMANDS if each.name in ("compact", "sandbox", "pen")},
}


class CommandEffect(Struct, frozen=True):
    """The effect of a slash command: it shows `text`, or sends `commands`.

    After `commands`, the prompt ends with the run or, if `ends_with` is set, with the first message of that type.
    """

    text: str = ""
    commands: tuple[Command, ...] = ()
    ends_with: type[Incoming] | None = None


_HAS_CONTROL: Final = CommandEffect(text="This editor controls the session.")


def listed_commands(custom: CustomCommands) -> list[AvailableCommand]:
    """Return the slash commands that an editor can offer to the user."""
    return [_listed(name, text, hint) for name, (text, hint) in _WORDS.items()] + [
        _listed(file.name, file.words, file.hint) for file in custom.listed if file.name not in _WORDS
    ]


def _listed(name: str, description: str, hint: str) -> AvailableCommand:
    described = visible(description, lines=False)
    if not hint:
        return AvailableCommand(name=name, description=described)
    return AvailableCommand(
        name=name,
        description=described,
        input=AvailableCommandInput(UnstructuredCommandInput(hint=visible(hint, lines=False))),
    )


def slash_command(text: str, state: SessionState) -> CommandEffect | None:
    """Return the effect of a prompt that is one of `ohw`'s own slash commands; None for any other prompt.

    Raises UsageError if the command cannot be carried out now.
    """
    name, _, argument = text.strip().removeprefix("/").partition(" ")
    if not text.startswith("/") or name not in _WORDS:
        return None
    if name == "approve":
        return _approve(argument.strip(), state)
    return {
        "compact": CommandEffect(commands=(Condense(),), ends_with=HistoryCondensed),
        "sandbox": CommandEffect(text=sandbox_text(state)),
        "pen": _HAS_CONTROL
        if state.has_control
        else CommandEffect(commands=(RequestControl(),), ends_with=ControlState),
    }[name]


def _approve(mode: str, state: SessionState) -> CommandEffect:
    choices = {choice.mode: choice for choice in plan_choices(state)}
    if not plan_ready(state):
        raise UsageError("no plan waits for approval")
    chosen = next((name for name in choices if name == (mode or next(iter(choices)))), None)
    if chosen is None:
        raise UsageError(f"a plan runs in {' or '.join(choices)}, not in {mode}")
    return CommandEffect(commands=(ChangeSettings(mode=chosen), SendMessage(text=RUN_PLAN)))


def plan_notice(state: SessionState) -> Iterator[str]:
    """Yield a line that says how to run the plan, if a plan is waiting for approval."""
    if plan_ready(state):
        before, *others = plan_choices(state)
        also = "".join(f", /approve {choice.mode} in {choice.label}" for choice in others)
        yield f"The plan is ready. /approve runs it in {before.label}{also}; or write what to change."
