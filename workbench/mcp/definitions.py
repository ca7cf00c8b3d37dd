"""Validates the tool definitions of servers, limits their size, and hashes them for pinning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.schema_repair import repaired

Definition: TypeAlias = dict[str, Any]
"""A tool as listed by a server: name, description, inputSchema, annotations."""
MOST_TOOLS = 256
_OTHER = lazy_pattern(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 4_000
_LARGEST = 100_000
"""The maximum length of one schema, in characters."""


def digest(definition: Definition) -> str:
    """Return the hash by which a definition is compared with the pinned one."""
    return "sha256:" + hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def name_of(name: str) -> str:
    """Return the name, changed if necessary to the characters and length that every provider accepts."""
    name = _OTHER.sub("_", name)[:_LONGEST_NAME]
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"[:_LONGEST_NAME]


def checked(listed: Sequence[Definition]) -> tuple[dict[str, Definition], list[str]]:
    """Return the usable tools of a list by name, and one line about each tool that is ignored or cut short."""
    usable: dict[str, Definition] = {}
    faults = []
    for definition in listed[:MOST_TOOLS]:
        name = str(definition.get("name", ""))
        short, fault = _cut(name, definition)
        if fault:
            faults.append(f"the tool {name[:60]}: {fault}")
        if short is not None and name not in usable:
            usable[name] = short
    if len(listed) > MOST_TOOLS:
        faults.append(f"it lists {len(listed):,} tools; only the first {MOST_TOOLS} can be offered")
    return usable, faults


def _cut(name: str, definition: Definition) -> tuple[Definition | None, str]:
    description, notice = str(definition.get("description") or ""), ""
    if not name or len(name) > 128:
        return None, "its name cannot be used"
    if len(description) > _LONGEST_DESCRIPTION:
        notice = f"its description of {len(description):,} characters is cut"
        description = description[:_LONGEST_DESCRIPTION] + " […]"
    schema = definition.get("inputSchema") or {}
    repairs, fault = _checked_schema(schema)
    if fault:
        return None, f"it is ignored: {fault}"
    if repairs:
        more = f" and {len(repairs) - 2} more" if len(repairs) > 2 else ""
        notice = "; ".join(filter(None, [notice, f"in its schema {', '.join(repairs[:2])}{more}"]))
    short = {"name": name, "description": description, "inputSchema": schema}
    return {**short, "annotations": definition.get("annotations") or {}}, notice


def _checked_schema(schema: Any) -> tuple[list[str], str]:
    """Return notices about omitted parts of a schema, and why no argument model can be built from it (or "")."""
    from workbench.mcp.tool import MCPToolAction

    try:
        size = len(json.dumps(schema))
        if size > _LARGEST:
            return [], f"its schema has {size:,} characters"
        _, notices, fault = repaired(schema)
        if fault:
            return [], f"its schema is wrong: {fault}"
        MCPToolAction.from_mcp_schema("checked", schema).to_mcp_schema()
        return notices, ""
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return [], f"its schema cannot be used ({type(error).__name__})"
