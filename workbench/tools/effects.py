"""The effects of a tool call, in terms that the risk analysis can rate.

`ToolDefinition.assess` returns effects; `workbench.risk` rates each of them and takes the highest. Tools from packages
that the user installed, or from directories that they trust, describe their calls with the same effects as built-in
ones.

Trust: what such a tool declares can only raise the risk. A call is never rated lower than if the tool had declared
nothing. A claim to be harmless has no more effect than the tool's `readOnlyHint`, and a rating that fails or is invalid
is HIGH.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from workbench.protocol.risk import Risk

FileOperation: TypeAlias = Literal["view", "create", "str_replace", "insert", "undo_edit", "edit", "delete"]


class AssessmentContext(msgspec.Struct, frozen=True):
    """The environment of a call: the workspace, and the directory to which paths in commands are relative."""

    workspace: str
    working_dir: str


class RunsCommand(msgspec.Struct, frozen=True):
    """Runs a command line in bash; `container_path` is a second path that the workspace has there, in a container."""

    line: str
    container_path: str = ""
    granted: tuple[str, ...] = ()
    """Directories besides the workspace that the user lets commands write."""


class TypesInput(msgspec.Struct, frozen=True):
    """Types text or a key into running programs; `programs` has each one's command line and working directory."""

    text: str
    programs: tuple[tuple[tuple[str, ...], str], ...] = ()
    container_path: str = ""
    """A second path that the workspace has there, in a container."""


class RunsPython(msgspec.Struct, frozen=True):
    """Runs Python code; a cell may contain magics and shell lines too."""

    code: str
    is_cell: bool = False
    starts: str = ""
    """The interpreter that the call starts, if it came with the workspace; else empty."""


class TouchesFile(msgspec.Struct, frozen=True):
    """Reads, writes or deletes the file at an absolute path."""

    operation: FileOperation | str
    path: str


class ReadsURL(msgspec.Struct, frozen=True):
    """Sends a GET request."""

    url: str


class UsesPage(msgspec.Struct, frozen=True):
    """Runs calls of the `browser` tool on the page at `url`; `elements` describes the page's elements, by ID."""

    calls: str
    url: str = ""
    elements: Mapping[str, Any] = msgspec.field(default_factory=dict)


class CallsServer(msgspec.Struct, frozen=True):
    """Calls a tool of another program; the call is rated by that program's description and hints."""

    tool: str
    server: str
    arguments: Mapping[str, Any]
    call: str
    """A short description of the call, including the server that receives it."""
    annotations: Mapping[str, Any] = msgspec.field(default_factory=dict)
    description: str = ""
    is_approved: bool = False
    """Whether the user approved the tool in its current form; only then does its `readOnlyHint` count."""


class LeavesSandbox(msgspec.Struct, frozen=True):
    """Runs outside the session's sandbox; `why` is the model's reason."""

    why: str = ""


START_AGENT: Final = "start_agent"
"""The tool that starts another agent; it cannot be allowed, as its rule would allow any agent's program."""


class StartsAgent(msgspec.Struct, frozen=True):
    """Starts a program that acts on its own; `is_contained` says whether it runs in a sandbox."""

    is_contained: bool
    only_reads: bool = False
    """Whether the sandbox lets it write nothing."""


class OwnWords(msgspec.Struct, frozen=True):
    """Does what another agent describes in its own words, which prove nothing."""


class SelfRated(msgspec.Struct, frozen=True):
    """A risk that the tool itself declares, with a short reason."""

    risk: Risk
    reason: str


Effect: TypeAlias = (
    RunsCommand
    | TypesInput
    | RunsPython
    | TouchesFile
    | ReadsURL
    | UsesPage
    | CallsServer
    | LeavesSandbox
    | StartsAgent
    | OwnWords
    | SelfRated
)
