"""What differs between two copies of an OpenAPI document, operation by operation, as lines of a diff."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.tools.openapi.documents import checked, parsed

_NO_MATTER = ("info", "tags", "externalDocs", "paths", "components")
_MOST_OF_ONE = 40
_MOST = 400
"""Lines."""


def parts_of(content: bytes) -> dict[str, str]:
    """What tools are made of, each part as text under its name; raises BadDocument."""
    document = checked(parsed(content))
    made = {name: _text(part) for name, part in document.items() if name not in _NO_MATTER}
    for path, item in document["paths"].items():
        for method, operation in (item if isinstance(item, dict) else {"": item}).items():
            made[f"{str(method).upper()} {path}"] = _text(operation)
    for kind, known in (document.get("components") or {}).items():
        for name, part in (known if isinstance(known, dict) else {"": known}).items():
            made[f"{kind} {name}"] = _text(part)
    return made


def changed_lines(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """Each part that is new, gone or different, with its lines; cut where there are very many."""
    lines = [line for name in sorted({*old, *new}) for line in _part(name, old.get(name), new.get(name))]
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"… {len(lines) - _MOST:,} lines more"


def _part(name: str, old: str | None, new: str | None) -> Iterator[str]:
    if old == new:
        return
    yield f"{name} {'is gone' if new is None else 'is new' if old is None else 'has changed'}"
    if new is None:
        return
    diff = difflib.unified_diff((old or "").splitlines(), new.splitlines(), lineterm="", n=1)
    lines = [f"  {line}" for line in diff if not line.startswith(("---", "+++", "@@"))]
    yield from lines[:_MOST_OF_ONE]
    if len(lines) > _MOST_OF_ONE:
        yield f"  … {len(lines) - _MOST_OF_ONE} lines more"


def _text(part: Any) -> str:
    return json.dumps(part, indent=1, ensure_ascii=False, sort_keys=True, default=str)
