"""What is printed about a run while it goes on."""

from __future__ import annotations

import json

import msgspec

from workbench.batch.attempt import AttemptOutcome
from workbench.text import counted, visible

_MARKS = {"solved": "✓", "done": "✓", "unsolved": "✗", "question": "?", "limit": "!", "interrupted": "!"}


def outcome_line(outcome: AttemptOutcome, *, as_json: bool) -> str:
    """Return a line about an attempt that has ended."""
    if as_json:
        return json.dumps({**msgspec.to_builtins(outcome), "state": outcome.state})
    mark = _MARKS.get(outcome.state, "✗")
    detail = f"   {visible(outcome.detail, lines=False)}" if outcome.detail else ""
    name = visible(f"{outcome.task}  {outcome.model} #{outcome.attempt}", lines=False)
    price = f"${outcome.cost:.2f}" if outcome.unpriced == 0 else "$?"
    steps = counted(outcome.steps, "step")
    return f"{mark} {outcome.state:<9} {name}   {steps}  {price}  {outcome.total_seconds:.1f}s{detail}"
