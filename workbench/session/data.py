"""Plain data inside events; part of the contract in `events`, which names it too."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field

from workbench.security.risk import Risk


class Data(BaseModel):
    """Plain data of the contract: frozen, and nothing in it that is not named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EventBase(Data):
    """The envelope: `seq` counts from 1 and is given by the store, `at` is UTC, `turn` counts the person's messages."""

    seq: int = 0
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    turn: int = 0


class FileDelta(Data):
    """One file before and after: the text of each, `None` where the file does not exist; `path` is absolute."""

    path: str
    before: str | None
    after: str | None
    cut: str = ""
    """Why the texts are not the file's own but a line about it: it is binary, or too large."""
    version: str = ""
    """A version that may hold the file as it is `after`, to the byte; only where a change is reverted."""


class FileText(Data):
    """What one file shall hold, to the byte; `None`: it shall not exist."""

    path: str
    text: str | None


class StaleFile(Data):
    """A file that somebody changed since the agent saw it: what it had `seen`, `theirs` on disk, what it `wanted`.

    The preview holds both changes. Where they meet, in `conflicts` places, it has the agent's; None: they could not be
    merged, and it has the agent's alone.
    """

    path: str
    seen: str
    theirs: str
    wanted: str
    conflicts: int | None = 0
    by: str = ""
    """Who changed it, where the log knows: "person", "other", or "agent" for an earlier action."""


class RawToolCall(Data):
    """A tool call exactly as the model wrote it; `arguments` is its JSON text, valid or not."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    """What the provider wants back with the call, where it signs calls."""


class Usage(Data):
    """Tokens of one model call; `None` where the provider did not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None
    """Of the input, what the provider put into its cache and charges for."""
    reasoning: int | None = None
    window: int | None = None
    """Tokens that a request to this model may hold."""


class ContextParts(Data):
    """About how many tokens of a request each part took; together what the provider counted, where it did."""

    system: int = 0
    tools: int = 0
    messages: int = 0
    tool_output: int = 0


class Segment(Data):
    """One part of a command with its own risk."""

    text: str
    risk: Risk
    reason: str = ""
