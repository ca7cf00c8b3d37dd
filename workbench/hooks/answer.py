"""Reads the answer of a hook: its exit status, and the JSON that it printed, in our own format.

    exit 0    no objection, or JSON on stdout
    exit 2    the hook denies; stderr is the reason, which the model reads
    other     the hook failed and decides nothing

The JSON is an object with `decision` ("approve", "ask" or "deny"), `reason`, `arguments`, `context` and `message`, all
optional. Output that does not begin with `{` is ignored, so that a formatter may print what it did.
"""

from __future__ import annotations

import json
from typing import Any

from workbench.hooks.hook import HookAnswer, InvalidAnswer
from workbench.hooks.runner import HookRun
from workbench.text import first_line, well_formed

BLOCKS = 2
"""The exit status with which a hook denies."""
MOST_CONTEXT = 20_000
_DEEPEST = 50
_DECISIONS = ("approve", "ask", "deny")
_ENTRIES = ("decision", "reason", "arguments", "context", "message")


def answer_of(run: HookRun) -> HookAnswer:
    """Return the answer of a hook that uses our own format; a failure if what it printed is invalid."""
    if refusal := blocked(run):
        return refusal
    try:
        values = printed_object(run.output)
        if values is None:
            return HookAnswer()
        if unknown := [name for name in values if name not in _ENTRIES]:
            raise InvalidAnswer(f"it printed an unknown entry {unknown[0]!r}; known are {', '.join(_ENTRIES)}")
        decision = text_in(values, "decision")
        if decision and decision not in _DECISIONS:
            raise InvalidAnswer(f"its decision must be one of {', '.join(_DECISIONS)}, not {decision!r}")
        return HookAnswer(
            decision=decision or ("change" if values.get("arguments") is not None else ""),  # type: ignore[arg-type]
            explanation=text_in(values, "reason"),
            context=text_in(values, "context")[:MOST_CONTEXT],
            arguments=table_in(values, "arguments"),
            message=text_in(values, "message"),
        )
    except InvalidAnswer as error:
        return HookAnswer(failure=str(error))


def blocked(run: HookRun) -> HookAnswer | None:
    """Return the answer of a run that failed or denied; None if its output has to be read."""
    if run.failure:
        return HookAnswer(failure=run.failure)
    errors = well_formed(run.errors.strip())
    if run.status == BLOCKS:
        return HookAnswer(decision="deny", explanation=errors[:MOST_CONTEXT])
    if run.status:
        why = first_line(errors, 200)
        ended = f"it was ended by signal {-run.status}" if run.status < 0 else f"it failed with exit code {run.status}"
        return HookAnswer(failure=f"{ended}: {why}" if why else ended)
    return None


def printed_object(output: str) -> dict[str, Any] | None:
    """Return the JSON object that a hook printed; None if its output does not start with `{`.

    Raises InvalidAnswer for invalid JSON, and for JSON that is nested too deeply.
    """
    text = output.strip()
    if not text.startswith("{"):
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer(f"it printed invalid JSON: {first_line(str(error), 100)}") from None
    if _is_deep(values):
        raise InvalidAnswer(f"its JSON is nested more than {_DEEPEST} levels deep")
    return dict(values)


def _is_deep(value: Any) -> bool:
    """Return whether a value is nested too deeply to be recorded."""
    level = [value]
    for _ in range(_DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [part for parts in inner for part in parts]
    return bool(level)


def text_in(values: dict[str, Any], name: str) -> str:
    """Return the string `name` of the object, empty if it is missing. Raises InvalidAnswer for any other type."""
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidAnswer(f"its {name} must be text, not {first_line(json.dumps(value), 60)}")
    return well_formed(value or "").strip()


def table_in(values: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the nested object `name`, None if it is missing. Raises InvalidAnswer for any other type."""
    value = values.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidAnswer(f"its {name} must be an object")
    return value
