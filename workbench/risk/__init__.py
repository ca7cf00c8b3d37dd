"""The local rating of the agent's intended actions: how dangerous each is, why, and which files it touches.

`assess` is the main entry point: it rates a tool call in a `RatingContext` and returns an `Assessment`, with a `Part`
for each command, redirect or file in the call. It never raises, and it rates anything it cannot read as HIGH.
`executed_by` returns the files that a call runs; the approval of the call is bound to their contents. `live_inputs`
returns the state of a running tool that a rating depends on, as a cache key; `assess_line` serves `ohw risk`.

In addition, `paths` knows which paths are protected or secret, and `protected_files` compares the protected files
before and after a command. `rules` also uses `commands` and `executed_files`, because it matches its patterns against
single commands. Nothing in this package depends on sessions, modes or rules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from workbench.risk.assessment import Assessment as Assessment
    from workbench.risk.assessment import Part as Part
    from workbench.risk.description import assess_line as assess_line
    from workbench.risk.tool_calls import RatingContext as RatingContext
    from workbench.risk.tool_calls import assess as assess
    from workbench.risk.tool_calls import executed_by as executed_by
    from workbench.risk.tool_calls import live_inputs as live_inputs

_HOMES: Final = {
    "Assessment": "assessment",
    "Part": "assessment",
    "RatingContext": "tool_calls",
    "assess": "tool_calls",
    "executed_by": "tool_calls",
    "live_inputs": "tool_calls",
    "assess_line": "description",
}


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module on first use. Raises AttributeError for an unknown name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
