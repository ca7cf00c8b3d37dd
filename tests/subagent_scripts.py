"""Scripts in which an agent gives tasks to sub-agents: one file serves all of them, chosen by the first message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.sandbox import finish

Turns = Sequence[Mapping[str, Any]]


def delegating(path: Path, agents: Mapping[str, Turns], *then: Mapping[str, Any]) -> str:
    """Return a model whose first answer starts all these agents at once; it then plays `then`, and finishes."""
    calls = [{"tool": "delegate", "arguments": {"agent": name, "inputs": f"{name}, do your part."}} for name in agents]
    lines = []
    for name, turns in agents.items():
        lines += _played(name, f'when = {{ user = "You are the sub-agent {name}." }}', [[turn] for turn in turns])
    lines += _played("first", "", [calls, *([turn] for turn in then), [finish("All is done.")]])
    path.write_text("\n".join(lines))
    return f"scripted/{path}"


def _played(name: str, when: str, answers: Sequence[Turns]) -> list[str]:
    lines, before = [], "start"
    for number, calls in enumerate(answers):
        own = f"{name}{number}"
        lines += ["[[turn]]", f'name = "{own}"', f'after = "{before}"', when if number == 0 else ""]
        for call in calls:
            arguments = ", ".join(f"{key} = {json.dumps(value)}" for key, value in call["arguments"].items())
            lines += ["[[turn.call]]", f'tool = "{call["tool"]}"', f"arguments = {{ {arguments} }}"]
            lines += [f'risk = "{call["risk"]}"'] if "risk" in call else []
        before = own
    return lines
