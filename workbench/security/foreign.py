"""The risk of tools of other programs: by their annotations, what changed since they were approved, and their words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from workbench.security.assessment import Assessment, one
from workbench.security.hidden import hides
from workbench.security.places import is_secret

_URL = re.compile(r"\A\s*(?:javascript|data|file|vbscript|blob|chrome|about|view-source):", re.I)
METADATA = re.compile(
    r"169\.254\.169\.254|metadata\.google|\[fd00:ec2|\b2852039166\b|0xa9fea9fe|169\.254\.170\.2\b", re.I
)
"""Where machines in a cloud get their keys."""


def assess_foreign(described: Mapping[str, Any]) -> Assessment:
    """The rating of `{"tool", "annotations", "pinned", "description", "args"}`, or of an event that a server sent.

    A `call` says in a line what is done and by whom: it stands behind each reason.
    """
    rated, call = _rated(described), str(described.get("call", ""))
    return rated._replace(reasons=tuple(f"{reason}: {call}" for reason in rated.reasons)) if call else rated


def _rated(described: Mapping[str, Any]) -> Assessment:
    tool = str(described.get("tool", ""))
    if "event" in described:
        return one("HIGH", "a server asks for something by itself", str(described["event"]))
    if described.get("description_hash_changed") or described.get("server_command_changed"):
        return one("HIGH", "has changed since it was approved", tool)
    words = f"{tool}\n{described.get('description', '')}\n{json.dumps(described.get('args', {}), ensure_ascii=False)}"
    hidden = hides(words) or (METADATA.search(str(described.get("call", ""))) and "an address that gives out keys")
    if hidden:
        return one("HIGH", hidden, tool)
    for value in _texts(described.get("args", {})):
        if _URL.match(value) or METADATA.search(value):
            return one("HIGH", "an address that runs code or reads files", tool)
        if value.startswith(("/", "~")) and is_secret(value):
            return one("HIGH", "names what holds secrets", tool)
    return _by_annotations(tool, described.get("annotations") or {}, bool(described.get("pinned")))


def _by_annotations(tool: str, hints: Mapping[str, Any], pinned: bool) -> Assessment:
    """Hints raise the risk; only of a tool that is pinned and approved does `readOnlyHint` count."""
    if hints.get("destructiveHint") is True and not (hints.get("readOnlyHint") and pinned):
        return one("HIGH", "the tool says of itself that it destroys", tool)
    if hints.get("readOnlyHint") is True and pinned:
        return Assessment("LOW")
    return one("MEDIUM", "a tool of another program", tool)


def _texts(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth > 20:
        return ["javascript:"]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for part in value for text in _texts(part, depth + 1)] if isinstance(value, list) else []
