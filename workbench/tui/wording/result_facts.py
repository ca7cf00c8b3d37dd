"""What else there is to say of an action's result, beside its text: each field in words. Pure; used by `detail`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

_SAID: Final[Mapping[str, Callable[[Any], str]]] = {
    "exit_code": lambda code: f"exit code {code}" if isinstance(code, int) and code >= 0 else "",
    "timed_out": lambda is_so: "its time was up before it was done" if is_so else "",
    "full_output": lambda place: f"the whole output is in {place}",
    "output_file": lambda place: f"the whole output is in {place}",
    "metadata": lambda known: _folder(known),
    "truncated": lambda is_so: "there was more than is shown" if is_so else "",
    "found": lambda count: f"{count} found" if isinstance(count, int) else f"found: {_plain(count)}",
    "matched_files": lambda count: f"files that match: {count}",
    "matched_lines": lambda count: f"lines that match: {count}",
    "url": lambda address: f"address: {address}",
    "title": lambda title: f"title: {title}",
    "kind": lambda kind: f"kind of text: {kind}",
    "pages": lambda count: f"parts: {count}" if count else "",
    "page": lambda number: f"part {number}",
    "status": lambda number: f"the server answered with {number}",
    "kept": lambda is_so: "read before, and kept since" if is_so else "",
    "interpreter": lambda place: f"interpreter: {place}",
    "count": lambda number: f"cell {number}" if number else "",
    "restarted": lambda is_so: "the interpreter was started anew" if is_so else "",
    "server": lambda name: f"MCP server: {name}",
    "tool": lambda name: f"its tool: {name}",
    "agent": lambda name: f"sub-agent: {name}",
    "session": lambda name: f"its session: {name}",
    "model": lambda name: f"written by {name}",
    "cost": lambda dollars: f"for ${dollars:.4f}" if isinstance(dollars, int | float) else "",
    "input_tokens": lambda count: f"{count} tokens in",
    "output_tokens": lambda count: f"{count} tokens out",
    "tabs": lambda tabs: f"open pages: {_plain(tabs)}" if tabs else "",
    "downloads": lambda files: f"downloaded: {_plain(files)}" if files else "",
}
_SHOWN_ELSEWHERE: Final = frozenset(
    (
        *("content", "output", "old_content", "new_content", "is_error", "error", "command", "path", "prev_exist"),
        *("task_list", "files", "response"),
    )
)
"""What stands in the result's text, among the arguments or in the diff."""


def result_facts(observation: Mapping[str, Any]) -> Iterator[str]:
    """A line each; a field of a tool of somebody else's is told by its name."""
    for name, value in observation.items():
        if name in _SHOWN_ELSEWHERE or value is None or value in ("", [], {}):
            continue
        said = _SAID[name](value) if name in _SAID else f"{name.replace('_', ' ')}: {_plain(value)}"
        if said:
            yield said


def _folder(known: Any) -> str:
    place = known.get("working_dir") if isinstance(known, Mapping) else None
    return f"folder afterwards: {place}" if place else ""


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
