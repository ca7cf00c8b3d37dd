"""The page of `/cost`: what the session cost, and what fills the model's context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workbench.view.state import SessionState

_PARTS: Final = {
    "system": "instructions",
    "tools": "tools",
    "messages": "messages",
    "tool_output": "tool output",
}


def spending_page(state: SessionState) -> str:
    """Return the page of costs, tokens and context as plain text."""
    return "\n".join([*_session(state), "", *_context(state)])


def _session(state: SessionState) -> Iterator[str]:
    cost = "unknown (no price for one of the models)" if state.cost is None else f"${state.cost:.4f}"
    yield f"Cost of the session   {cost}"
    yield f"Tokens in and out     {state.total_tokens:,}"
    last = state.last_response
    if last is not None:
        usage = last.usage
        paid = "?" if last.cost is None else f"${last.cost:.4f}"
        cached = f", {usage.cached:,} of them cached" if usage.cached else ""
        thought = f", {usage.reasoning:,} of them reasoning" if usage.reasoning else ""
        yield f"Last call             {_token_count(usage.input)} in{cached}"
        yield f"                      {_token_count(usage.output)} out{thought}"
        yield f"                      {paid}"


def _context(state: SessionState) -> Iterator[str]:
    if state.input_tokens is None:
        yield "Context usage appears after the first response."
        return
    full = f" of {state.window:,} ({_percent(state.input_tokens, state.window)})" if state.window else ""
    yield f"Context               {state.input_tokens:,} tokens{full}"
    if state.parts is None:
        return
    for name, words in _PARTS.items():
        tokens = getattr(state.parts, name)
        yield f"  {words.ljust(18)}  {tokens:>9,}  {_percent(tokens, state.input_tokens):>5}  {_bar(tokens, state)}"
    yield ""
    yield "Estimates. Use /compact to free up context."


def _percent(part: int, whole: int) -> str:
    return f"{round(100 * part / max(1, whole))} %"


def _bar(tokens: int, state: SessionState) -> str:
    return "█" * round(20 * tokens / max(1, state.input_tokens or 0))


def _token_count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"
