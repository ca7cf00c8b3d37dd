"""What servers say of their tools, checked and cut to size, with the hash it is pinned by; used by `catalog`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

Definition: TypeAlias = dict[str, Any]
"""A tool as a server lists it: name, description, inputSchema, annotations."""
MOST_TOOLS = 256
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_LONGEST_WORDS = 4_000
_LARGEST = 100_000
"""Characters of one schema."""


def digest(definition: Definition) -> str:
    """The hash a definition is pinned by."""
    return "sha256:" + hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def name_of(name: str) -> str:
    """The name as every provider takes it for a tool."""
    made = _OTHER.sub("_", name)[:_LONGEST_NAME]
    return made if made[:1].isalpha() or made[:1] == "_" else f"_{made}"[:_LONGEST_NAME]


def checked(listed: Sequence[Definition]) -> tuple[dict[str, Definition], list[str]]:
    """The tools of a list that can be offered, cut to size, and a line for each that cannot."""
    found: dict[str, Definition] = {}
    faults = []
    for definition in listed[:MOST_TOOLS]:
        name = str(definition.get("name", ""))
        short, fault = _cut(name, definition)
        if fault:
            faults.append(f"the tool {name[:60]}: {fault}")
        if short is not None and name not in found:
            found[name] = short
    if len(listed) > MOST_TOOLS:
        faults.append(f"it lists {len(listed):,} tools; only the first {MOST_TOOLS} can be offered")
    return found, faults


def _cut(name: str, definition: Definition) -> tuple[Definition | None, str]:
    words, told = str(definition.get("description") or ""), ""
    if not name or len(name) > 128:
        return None, "its name cannot be used"
    if len(words) > _LONGEST_WORDS:
        told = f"its description of {len(words):,} characters is cut"
        words = words[:_LONGEST_WORDS] + " […]"
    schema = definition.get("inputSchema") or {}
    fault = _schema_fault(schema)
    if fault:
        return None, f"it is left out: {fault}"
    kept = {"name": name, "description": words, "inputSchema": schema}
    return {**kept, "annotations": definition.get("annotations") or {}}, told


def _schema_fault(schema: Any) -> str:
    """Why no model can be made of it; empty where one can."""
    from jsonschema import Draft202012Validator, SchemaError

    from workbench.mcp.tool import MCPToolAction

    try:
        size = len(json.dumps(schema))
        if size > _LARGEST:
            return f"its schema has {size:,} characters"
        Draft202012Validator.check_schema(schema)
        MCPToolAction.from_mcp_schema("checked", schema).to_mcp_schema()
    except SchemaError as error:
        return f"its schema is wrong: {error.message[:120]}"
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return f"its schema cannot be used ({type(error).__name__})"
    return ""
