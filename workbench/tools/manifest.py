"""What is known of a built-in tool without loading its code.

Each package in `workbench/tools` that is a tool has a `MANIFEST`. Front ends and the rules read it by the name of the
tool; definition and executor load when a session opens the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

from workbench.protocol.presentation import Presentation

ToolKind: TypeAlias = Literal[
    "command",
    "code",
    "edit",
    "search",
    "pages",
    "fetch",
    "plan",
    "thought",
    "question",
    "subagent",
    "final",
    "condensing",
    "other",
]
"""What a tool does, for whoever treats some tools in a special way. Only built-in tools have another kind than "other":
a kind decides how much a call is trusted."""

BUILTIN_TOOLS: Final = (
    "execute_bash",
    "str_replace_editor",
    "glob",
    "grep",
    "web_read",
    "find_tools",
    "task_tracker",
    "think",
    "ask_human",
    "delegate",
    "request_condensation",
    "finish",
)
"""On unless the settings say otherwise, in the order in which models are shown them."""
OPTIONAL_TOOLS: Final = (
    "openapi",
    "python_execute",
    "browser",
    "execute_ipython_cell",
    "create_chat_completion",
    "edit_file",
)
ALL_TOOLS: Final = frozenset((*BUILTIN_TOOLS, *OPTIONAL_TOOLS))
GENERIC: Final = Presentation()
"""How a tool is shown that does not say: by its name and its arguments."""


@dataclass(frozen=True)
class Manifest:
    """A built-in tool: where its class is (`module:Class` below its package), its kind and its looks."""

    definition: str
    kind: ToolKind = "other"
    presentation: Presentation = GENERIC
    variant: Callable[[Mapping[str, Any]], Presentation] | None = None
    """The presentation of a call with these arguments, where that depends on them; total, a model wrote them."""


@cache
def manifest_of(name: str) -> Manifest | None:
    """Return the manifest of the built-in tool of that name; None for any other name."""
    if name not in ALL_TOOLS:
        return None
    manifest: Manifest = import_module(f"{__package__}.{name}").MANIFEST
    return manifest


def kind_of(name: str) -> ToolKind:
    """Return the kind of the tool of that name; "other" unless it is built in."""
    manifest = manifest_of(name)
    return manifest.kind if manifest else "other"


def presentation_of(name: str, arguments: Mapping[str, Any], recorded: Presentation | None = None) -> Presentation:
    """Return how to show a call. A built-in tool looks as its manifest says, whatever was `recorded` with the call."""
    manifest = manifest_of(name)
    if manifest is None:
        return recorded or GENERIC
    return manifest.variant(arguments) if manifest.variant else manifest.presentation
