"""Manifests: the properties of built-in tools that are available without loading their code.

Each package in `workbench/tools` that is a tool has a `MANIFEST`. Front ends and the rules read it by the name of the
tool; definition and executor load when a session opens the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

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
    "sub_agent",
    "final",
    "condensation",
    "other",
]
"""The kind of a tool, for code that treats some tools specially. Only built-in tools have a kind other than "other": a
kind decides how much a call is trusted.
"""

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
"""Tools that are on by default, in the order in which models see them."""
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
"""The default presentation of a tool: its name and its arguments."""


class Manifest(Struct, frozen=True):
    """A built-in tool: the location of its class (`module:Class` in its package), its kind and its presentation."""

    definition: str
    kind: ToolKind = "other"
    presentation: Presentation = GENERIC
    variant: Callable[[Mapping[str, Any]], Presentation] | None = None
    """Returns the presentation of a call if it depends on the arguments; must never fail, because a model
    wrote them.
    """


@cache
def manifest_of(name: str) -> Manifest | None:
    """Return the manifest of the built-in tool of that name, or None for any other name."""
    if name not in ALL_TOOLS:
        return None
    manifest: Manifest = import_module(f"{__package__}.{name}").MANIFEST
    return manifest


def kind_of(name: str) -> ToolKind:
    """Return the kind of the tool of that name; "other" unless it is built in."""
    manifest = manifest_of(name)
    return manifest.kind if manifest else "other"


def presentation_of(name: str, arguments: Mapping[str, Any], recorded: Presentation | None = None) -> Presentation:
    """Return the presentation of a call; the manifest of a built-in tool takes precedence over the `recorded` one.

    If `recorded` names another agent, which makes the call, that name is put before the headline; screens show it
    beside the title.
    """
    manifest = manifest_of(name)
    if manifest is None:
        return recorded or GENERIC
    own = manifest.variant(arguments) if manifest.variant else manifest.presentation
    if recorded is None or not recorded.agent:
        return own
    agent = recorded.agent
    headline = f"{agent}: {own.headline}"
    return replace(own, headline=headline, agent=agent, note=recorded.note)
