"""What changed in the tools of a server since they were agreed to, as lines of a diff; for the screen and `ohw mcp`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from workbench.mcp.catalog import Entry


def changed_lines(entry: Entry) -> Iterator[str]:
    """Each changed file, changed, new or missing tool with the lines of its definition that differ, and bold words."""
    for path, how in entry.changed_files.items():
        yield f"the file {path} it is started from {how}"
        yield from (
            f"  {sign} {each[path]}" for sign, each in (("-", entry.files), ("+", entry.files_now)) if path in each
        )
    for name, new in entry.waiting.items():
        old = entry.tools.get(name)
        word = "is gone" if new is None else "is new" if old is None else "has changed"
        yield f"the tool {name} {word}"
        if new is not None:
            yield from _diff(old, new)
    for name in entry.claiming:
        yield f"the tool {name} says that it {_claim(entry.usable[name])}"


def _claim(tool: dict[str, Any]) -> str:
    return "only reads" if (tool.get("annotations") or {}).get("readOnlyHint") is True else "may be repeated"


def _diff(old: dict[str, Any] | None, new: dict[str, Any] | None) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(old), _lines(new), lineterm="", n=2):
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line}"


def _lines(definition: dict[str, Any] | None) -> list[str]:
    return json.dumps(definition, indent=1, ensure_ascii=False).splitlines() if definition is not None else []
