"""The line about a response that came from a fallback model, for the screen, plain mode, narration and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.protocol.events import ModelResponded


def fallback_line(answer: ModelResponded, named: set[str]) -> str:
    """Return a line that says which fallback model answered and why; empty if the session's own did, or if it is in
    `named`.

    `named` contains the fallback models that were named in this run; this one is added.
    """
    if not answer.fallback or answer.fallback in named:
        return ""
    named.add(answer.fallback)
    return f"{answer.fallback_reason}: {answer.fallback} is asked instead"
