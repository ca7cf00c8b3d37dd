"""The tool `task_tracker`: the agent's list of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "task_tracker"
_PRESENTATION = Presentation(icon="▤", noun="tasks", activity="planning", headline="look at the plan", result="none")


def _variant(arguments: Mapping[str, Any]) -> Presentation:
    entries = arguments.get("task_list")
    if arguments.get("command") != "plan" or not isinstance(entries, list | tuple):
        return _PRESENTATION
    done = sum(1 for entry in entries if isinstance(entry, Mapping) and entry.get("status") == "done")
    return replace(_PRESENTATION, headline=f"plan: {done} of {len(entries)} done")


MANIFEST = Manifest("definition:TaskTrackerTool", "plan", _PRESENTATION, _variant)

__getattr__, __dir__, __all__ = exports_of(__name__)
