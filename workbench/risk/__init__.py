"""The local rating of what the agent wants to do: how dangerous it is, why, and which files it touches.

`assess` is the one function for others: it rates a tool's call in a `RatingContext` and returns an `Assessment`, with a
`Part` for each command, redirect or file in it. It never raises, and what it cannot read is HIGH. `executed_by` names
the files that a call runs, to which its approval is bound; `live_inputs` is what a rating reads of a running tool, for
caches; `assess_line` is for `ohw risk`.

Beside these, `paths` knows which paths are protected or secret, and `integrity` compares the protected files around a
command. `rules` reads `commands` and `executed` too, as its patterns are held against single commands. Nothing here
knows of sessions, modes or rules.
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
    """Load the module of a name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
