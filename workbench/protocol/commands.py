"""The JSON lines between an engine and its screens.

First a `Hello` each way, then commands up and events down. A line is one JSON object with a `type` (commands, hello,
refusals) or a `kind` (events of the log and live ones, exactly as `workbench.protocol.events` defines them).

`to_line` and `from_line` carry any Python string unchanged. A byte that is not UTF-8 (in an argument, a file name or a
server's answer) is a lone surrogate in Python and `\\udce9` in JSON, which pydantic neither writes nor reads.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from workbench.protocol.events import FileDelta, FileText, Verdict
from workbench.protocol.risk import Mode

VERSION = 1


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Hello(_Line):
    """Opens the conversation; `seen` is the last seq the screen has, `pid` names the engine (0 from a screen).

    `notices` of the engine are lines for the person, about tools that were left out.
    """

    type: Literal["hello"] = "hello"
    version: int = VERSION
    seen: int = 0
    pid: int = 0
    notices: tuple[str, ...] = ()


class Send(_Line):
    """A message of the person's."""

    type: Literal["send"] = "send"
    text: str
    mentions: tuple[str, ...] = ()


class Withdraw(_Line):
    """Take back a message that still waits for the agent: the `seq` of its event."""

    type: Literal["withdraw"] = "withdraw"
    message: int


class RunCommand(_Line):
    """A shell command of the person's own."""

    type: Literal["run_command"] = "run_command"
    command: str


class Decide(_Line):
    """The person's decision on one action; `fingerprint` is the one that was shown."""

    type: Literal["decide"] = "decide"
    action_id: str
    verdict: Verdict
    fingerprint: str = ""
    note: str = ""
    edited: dict[str, Any] | None = None
    hunks: tuple[int, ...] | None = None
    written: tuple[FileText, ...] | None = None


class AllowAlways(_Line):
    """Approve one action as it was shown, and save the rule that was shown with it."""

    type: Literal["allow_always"] = "allow_always"
    action_id: str
    fingerprint: str
    rule: str
    scope: Literal["session", "folder", "person"] = "session"


class Answer(_Line):
    """The person's answer to a question of the agent's."""

    type: Literal["answer"] = "answer"
    action_id: str
    text: str


class Interrupt(_Line):
    """Stop the agent, keep everything."""

    type: Literal["interrupt"] = "interrupt"


class Compact(_Line):
    """Condense the history, or take the last condensing back."""

    type: Literal["compact"] = "compact"
    undo: bool = False


class TakeBack(_Line):
    """Write files as the person wants them back: each with what it holds now, and what it shall hold."""

    type: Literal["take_back"] = "take_back"
    files: tuple[FileDelta, ...]


class Restore(_Line):
    """Bring back the copy that was kept before a command took files away."""

    type: Literal["restore"] = "restore"
    copy_id: str


class Set(_Line):
    """Change model, mode, limits, rules or the title of the session; `None` leaves a setting as it is.

    The mode that never asks is taken only when the user `confirmed` it.
    """

    type: Literal["set"] = "set"
    model: str | None = None
    mode: Mode | None = None
    max_steps: int | None = None
    rule: str | None = None
    dropped_rule: str | None = None
    title: str | None = None
    confirmed: bool = False


class AskPrompt(_Line):
    """Get a prompt of an MCP server; this screen alone gets it, as `prompt_ready`."""

    type: Literal["ask_prompt"] = "ask_prompt"
    server: str
    name: str
    arguments: dict[str, str] = {}


class Leave(_Line):
    """The screen says good-bye; with `stop`, because its terminal is gone, a run that nobody else watches ends too."""

    type: Literal["leave"] = "leave"
    stop: bool = False


class Refused(_Line):
    """The engine did not carry out a command; one line for the person."""

    type: Literal["refused"] = "refused"
    reason: str


Command: TypeAlias = Annotated[
    Send
    | Withdraw
    | RunCommand
    | Decide
    | AllowAlways
    | Answer
    | Interrupt
    | Compact
    | TakeBack
    | Restore
    | Set
    | AskPrompt
    | Leave,
    Field(discriminator="type"),
]
COMMAND: TypeAdapter[Command] = TypeAdapter(Command)
HELLO: TypeAdapter[Hello] = TypeAdapter(Hello)

T = TypeVar("T")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def to_line(message: BaseModel) -> bytes:
    """Encode one message as a line of JSON; total over every string, lone surrogates included."""
    try:
        return message.model_dump_json().encode() + b"\n"
    except ValueError:
        return json.dumps(message.model_dump(), default=str).encode() + b"\n"


def from_line(adapter: TypeAdapter[T], line: bytes) -> T:
    """Decode one line written by `to_line`. Raises ValueError (pydantic's ValidationError among them)."""
    if not _ESCAPED_SURROGATE.search(line):
        return adapter.validate_json(line)
    try:
        return adapter.validate_python(json.loads(line))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
