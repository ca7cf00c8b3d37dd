"""The comparison of some sessions, for `ohw compare` and its screen: figures of each, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, Final

from msgspec import to_builtins

from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.llm.model import Cancel
from workbench.protocol.events import FileDelta
from workbench.session.comparison.check import CheckResult, run_check
from workbench.session.comparison.final_files import FinalDifference, FinalState, final_difference, final_state
from workbench.session.comparison.steps import FirstDifference, SessionStep, first_difference
from workbench.session.replay.run import check_history
from workbench.session.session_names import session_path
from workbench.session.storage.changed_files import changed_files
from workbench.session.storage.lock import holder
from workbench.session.storage.session_list import SessionSummary, find_session
from workbench.session.storage.store import REPAIR, Store
from workbench.session.storage.usage_log import session_calls
from workbench.session.workspace.repository import SnapshotError
from workbench.text import counted, first_line, visible, visible_path
from workbench.view.formatting.actions import plus_minus, seconds, short_path
from workbench.view.formatting.sessions import session_state, title
from workbench.view.usage import Totals, tokens
from workbench.view.wrapping import count_lines

_COUNTS: Final = """
SELECT sum(kind = 'model_responded'), sum(kind = 'action_proposed'
  OR kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_proposed') FROM events"""
_MOST_FILES: Final = 20
_MOST_OUTPUT: Final = 12
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
    check: CheckResult | str | None = None
    """The result of a check of its final files, or why there is none; None if none was requested."""

    @property
    def outcome(self) -> str:
        """The word for the session's state, as in the list of sessions."""
        return session_state(self.entry, is_busy=self.is_busy)[0]


@dataclass(frozen=True)
class Pair:
    """How a session differs from the first one: in which step first, None if in none, and in which final files."""

    step: FirstDifference | None
    files: FinalDifference | str
    """A text says why the files cannot be compared."""


@dataclass(frozen=True)
class Comparison:
    """The figures of some sessions, and how each one after the first differs from the first."""

    sessions: tuple[SessionFigures, ...]
    pairs: tuple[Pair, ...]


def compare_sessions(
    locations: Locations, names: Sequence[str], check: str = "", cancel: Cancel | None = None
) -> Comparison:
    """Compare the sessions with these ids, or beginnings of ids; `check` is a command to run on their final files.

    Raises UsageError, StoreError or OSError.
    """
    entries = [find_session(locations, name) for name in names]
    _check(entries)
    with ExitStack() as stack:
        stores = [
            stack.enter_context(Store.open(session_path(locations, entry.id), readonly=True)) for entry in entries
        ]
        for store in stores:
            check_history(store)
        states = [_state(store) for store in stores]
        pairs = [
            Pair(first_difference(stores[0], store), _files_between(locations, states[0], state))
            for store, state in zip(stores[1:], states[1:], strict=True)
        ]
        figures = [_figures(locations, entry, store) for entry, store in zip(entries, stores, strict=True)]
    if check:
        results = [_checked(locations, state, check, cancel or Cancel()) for state in states]
        figures = [replace(each, check=result) for each, result in zip(figures, results, strict=True)]
    return Comparison(tuple(figures), tuple(pairs))


def _state(store: Store) -> FinalState | str:
    try:
        return final_state(store)
    except UsageError as error:
        return str(error)


def _files_between(locations: Locations, one: FinalState | str, other: FinalState | str) -> FinalDifference | str:
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(one, str) else str(other)
    try:
        return final_difference(locations, one, other)
    except SnapshotError as error:
        return str(error)


def _checked(locations: Locations, state: FinalState | str, command: str, cancel: Cancel) -> CheckResult | str:
    if isinstance(state, str):
        return state
    try:
        return run_check(locations, state, command, cancel)
    except SnapshotError as error:
        return str(error)


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
    figures = [
        ("title", [title(each.entry) for each in sessions]),
        ("model", [visible(each.entry.model, lines=False) for each in sessions]),
        ("outcome", [each.outcome for each in sessions]),
        ("steps", [f"{each.steps:,}" for each in sessions]),
        ("tool calls", [f"{each.actions:,}" for each in sessions]),
        ("tokens", [f"{tokens(each.usage.input)} in, {tokens(each.usage.output)} out" for each in sessions]),
        ("cost", [each.usage.price for each in sessions]),
        ("time", [seconds(each.seconds) for each in sessions]),
        ("files", [_files(each) for each in sessions]),
        ("check", [_check_words(each.check) for each in sessions]),
        ("directory", [visible_path(each.entry.workspace) for each in sessions]),
    ]
    return [row for row in figures if any(row[1])]


def _files(figures: SessionFigures) -> str:
    lines = f" {plus_minus(figures.added, figures.removed)}" if figures.files else ""
    return f"{figures.files}{lines}"


def _check_words(check: CheckResult | str | None) -> str:
    if check is None:
        return ""
    if isinstance(check, str):
        return "not run"
    if check.code is None:
        return f"stopped after {seconds(check.seconds)}"
    return f"{'passed' if check.passed else f'failed (exit {check.code})'} in {seconds(check.seconds)}"


def check_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the end of the output of each check that failed, and why a check was not run; safe to show."""
    for each in comparison.sessions:
        if isinstance(each.check, str):
            yield f"The check of {each.entry.id} was not run: {visible(each.check, lines=False)}"
        elif each.check is not None and not each.check.passed:
            yield f"The check of {each.entry.id} ended with"
            lines = visible(each.check.output.rstrip()).splitlines()[-_MOST_OUTPUT:]
            yield from (f"  {line}" for line in lines)
    if any(isinstance(each.check, CheckResult) and not each.check.is_confined for each in comparison.sessions):
        yield "The system could not keep the checks from writing outside their scratch directories"


def difference_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines that say where each session differs from the first one, safe to show."""
    one, *others = (each.entry.id for each in comparison.sessions)
    workspace = comparison.sessions[0].entry.workspace
    for other, pair in zip(others, comparison.pairs, strict=True):
        if pair.step is None:
            yield f"{other} has the same messages, answers and decisions as {one}"
        else:
            yield from _lines(one, other, pair.step)
        yield from _file_lines(other, pair.files, workspace)


def _file_lines(other: str, difference: FinalDifference | str, workspace: str) -> Iterator[str]:
    if isinstance(difference, str):
        yield f"  The files that they end with cannot be compared: {visible(difference, lines=False)}"
        return
    if not difference.files:
        yield "  They end with the same files"
        return
    yield f"  The files of {other} differ in"
    for file in difference.files[:_MOST_FILES]:
        yield f"    {file_sign(file)} {short_path(file.path, workspace)}  {file_counts(file)}".rstrip()
    more = len(difference.files) - _MOST_FILES
    if more > 0 or difference.more:
        yield f"    and {counted(max(0, more) + difference.more, 'more file')}"


def file_sign(file: FileDelta) -> str:
    """Return `A` for a file that only the other session has, `D` for one that only the first has, else `M`."""
    return "A" if file.before is None else "D" if file.after is None else "M"


def file_counts(file: FileDelta) -> str:
    """Return the counts of lines by which a file differs, or why it has none."""
    return file.cut or plus_minus(*count_lines(file.before, file.after))


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
    first = comparison.sessions[0].entry
    others = [each.entry.id for each in comparison.sessions[1:]]
    return {
        "sessions": [_plain(each) for each in comparison.sessions],
        "differences": [
            {
                "session": other,
                "from": first.id,
                "first_step": _plain_step(pair.step),
                "files": _plain_files(pair.files, first.workspace),
                "problem": pair.files if isinstance(pair.files, str) else "",
            }
            for other, pair in zip(others, comparison.pairs, strict=True)
        ],
    }


def _plain(figures: SessionFigures) -> dict[str, Any]:
    entry, usage, check = figures.entry, figures.usage, figures.check
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
        "check": {"problem": check} if isinstance(check, str) else to_builtins(check),
    }


def _plain_step(difference: FirstDifference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    steps = {"from": difference.one, "session": difference.other}
    return {
        "forked_at": difference.forked_at or None,
        **{
            name: {"event": step.seq, "kind": step.kind, "title": step.title} if step else None
            for name, step in steps.items()
        },
    }


def _plain_files(difference: FinalDifference | str, workspace: str) -> list[dict[str, Any]] | None:
    if isinstance(difference, str):
        return None
    counts = (
        (file, count_lines(file.before, file.after) if not file.cut else (None, None)) for file in difference.files
    )
    return [
        {
            "path": str(PurePath(file.path).relative_to(workspace)),
            "change": file_sign(file),
            "added": added,
            "removed": removed,
            "note": file.cut,
        }
        for file, (added, removed) in counts
    ]
