"""The comparison of some sessions, for `ohw compare` and its screen: figures of each, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.session.comparison.steps import FirstDifference, SessionStep, first_difference
from workbench.session.replay.run import check_history
from workbench.session.session_names import session_path
from workbench.session.storage.changed_files import changed_files
from workbench.session.storage.lock import holder
from workbench.session.storage.session_list import SessionSummary, find_session
from workbench.session.storage.store import REPAIR, Store
from workbench.session.storage.usage_log import session_calls
from workbench.text import counted, first_line, visible, visible_path
from workbench.view.formatting.actions import plus_minus, seconds
from workbench.view.formatting.sessions import session_state, title
from workbench.view.usage import Totals, tokens
from workbench.view.wrapping import count_lines

_COUNTS: Final = """
SELECT sum(kind = 'model_responded'), sum(kind = 'action_proposed'
  OR kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_proposed') FROM events"""
_TIMES: Final = "SELECT kind, at FROM events ORDER BY seq"


@dataclass(frozen=True)
class SessionFigures:
    """What a session did, with all of its branches and sub-agents and, for a fork, with the events that it shares."""

    entry: SessionSummary
    steps: int
    """Answers of the session's own model."""
    actions: int
    """Tool calls."""
    usage: Totals
    seconds: float
    """Time from each message to the end of its run, including the time that the user took to decide."""
    files: int
    added: int
    removed: int
    is_busy: bool = False

    @property
    def outcome(self) -> str:
        """The word for the session's state, as in the list of sessions."""
        return session_state(self.entry, is_busy=self.is_busy)[0]


@dataclass(frozen=True)
class Comparison:
    """The figures of some sessions, and where each one after the first differs from the first, None if nowhere."""

    sessions: tuple[SessionFigures, ...]
    differences: tuple[FirstDifference | None, ...]


def compare_sessions(locations: Locations, names: Sequence[str]) -> Comparison:
    """Compare the sessions with these ids, or beginnings of ids. Raises UsageError or StoreError."""
    entries = [find_session(locations, name) for name in names]
    _check(entries)
    paths = [session_path(locations, entry.id) for entry in entries]
    with Store.open(paths[0], readonly=True) as first:
        check_history(first)
        figures, differences = [_figures(locations, entries[0], first)], []
        for entry, path in zip(entries[1:], paths[1:], strict=True):
            with Store.open(path, readonly=True) as other:
                check_history(other)
                figures.append(_figures(locations, entry, other))
                differences.append(first_difference(first, other))
    return Comparison(tuple(figures), tuple(differences))


def _check(entries: Sequence[SessionSummary]) -> None:
    """Raise UsageError unless these are two or more different sessions that can be read."""
    if len(entries) < 2:
        raise UsageError("name two sessions or more to compare; `ohw sessions` lists them")
    names = [entry.id for entry in entries]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"the session {twice} is named twice; name different ones")
    for entry in entries:
        if entry.damaged:
            raise UsageError(f"the session {entry.id} cannot be read: {entry.damaged}; {REPAIR.format(entry.id)}")


def _figures(locations: Locations, entry: SessionSummary, store: Store) -> SessionFigures:
    ((steps, actions),) = store.query(_COUNTS)
    usage = Totals()
    for call in session_calls(locations, entry.id):
        usage.add(call)
    lines = [count_lines(before, after) for before, after in changed_files(store.path)]
    return SessionFigures(
        entry,
        steps or 0,
        actions or 0,
        usage,
        _run_time(store),
        len(lines),
        sum(added for added, _ in lines),
        sum(removed for _, removed in lines),
        is_busy=holder(store.path) is not None,
    )


def _run_time(store: Store) -> float:
    """Return the seconds from each message to the end of its run; a run that was cut off ends with its last event."""
    total, begun, last = 0.0, None, None
    for kind, at in ((kind, datetime.fromisoformat(at)) for kind, at in store.query(_TIMES)):
        if kind == "user_message" and begun is None:
            begun = at
        elif begun is not None and kind in ("run_ended", "rewound", "forked"):
            end = at if kind == "run_ended" else last or at
            total, begun = total + (end - begun).total_seconds(), None
        last = at
    return total + ((last - begun).total_seconds() if begun is not None and last is not None else 0.0)


def rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Return the name of each figure and its value for each session, safe to show."""
    sessions = comparison.sessions
    return [
        ("title", [title(each.entry) for each in sessions]),
        ("model", [visible(each.entry.model, lines=False) for each in sessions]),
        ("outcome", [each.outcome for each in sessions]),
        ("steps", [f"{each.steps:,}" for each in sessions]),
        ("tool calls", [f"{each.actions:,}" for each in sessions]),
        ("tokens", [f"{tokens(each.usage.input)} in, {tokens(each.usage.output)} out" for each in sessions]),
        ("cost", [each.usage.price for each in sessions]),
        ("time", [seconds(each.seconds) for each in sessions]),
        ("files", [_files(each) for each in sessions]),
        ("directory", [visible_path(each.entry.workspace) for each in sessions]),
    ]


def _files(figures: SessionFigures) -> str:
    lines = f" {plus_minus(figures.added, figures.removed)}" if figures.files else ""
    return f"{figures.files}{lines}"


def difference_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines that say where each session differs from the first one, safe to show."""
    one, *others = (each.entry.id for each in comparison.sessions)
    for other, difference in zip(others, comparison.differences, strict=True):
        if difference is None:
            yield f"{other} has the same messages, answers and decisions as {one}"
        else:
            yield from _lines(one, other, difference)


def _lines(one: str, other: str, difference: FirstDifference) -> Iterator[str]:
    if difference.forked_at:
        yield f"{one} and {other} share {counted(difference.forked_at, 'event')}; then"
    else:
        yield f"{one} and {other} first differ in"
    for name, step in ((one, difference.one), (other, difference.other)):
        yield f"  {name}: {_described(step)}"


def _described(step: SessionStep | None) -> str:
    if step is None:
        return "nothing more"
    return f"event {step.seq}, {step.kind}: {first_line(step.title, 100)}"


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return {
        "sessions": [_plain(each) for each in comparison.sessions],
        "first_differences": [_plain_difference(each) for each in comparison.differences],
    }


def _plain(figures: SessionFigures) -> dict[str, Any]:
    entry, usage = figures.entry, figures.usage
    return {
        "session": entry.id,
        "workspace": entry.workspace,
        "model": entry.model,
        "outcome": figures.outcome,
        "ended": entry.ended,
        "steps": figures.steps,
        "tool_calls": figures.actions,
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cost": None if usage.unpriced else usage.cost,
        "seconds": round(figures.seconds, 3),
        "files": figures.files,
        "lines_added": figures.added,
        "lines_removed": figures.removed,
    }


def _plain_difference(difference: FirstDifference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    steps = {"one": difference.one, "other": difference.other}
    return {
        "forked_at": difference.forked_at or None,
        **{
            name: {"event": step.seq, "kind": step.kind, "title": step.title} if step else None
            for name, step in steps.items()
        },
    }
