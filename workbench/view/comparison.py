"""Compares sessions for `ohw compare` and its screen: figures of each, and where they differ. Blocks while it reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any, Final

from msgspec import convert, to_builtins

from workbench.config.locations import Locations
from workbench.errors import UsageError, WorkbenchError
from workbench.llm.model import Cancel
from workbench.processes.spawn import isolated_python, run_until_interrupted
from workbench.protocol.events import FileDelta
from workbench.session.comparison.check import LONGEST, CheckResult, run_check
from workbench.session.comparison.final_files import (
    FinalDifference,
    FinalState,
    count_changed,
    final_difference,
    final_state,
)
from workbench.session.comparison.steps import FirstDifference, first_difference
from workbench.session.replay.run import check_history
from workbench.session.session_names import session_path
from workbench.session.storage.changed_files import changed_files
from workbench.session.storage.lock import holder
from workbench.session.storage.session_list import SessionSummary, find_session
from workbench.session.storage.store import REPAIR, Store
from workbench.session.storage.usage_log import session_calls
from workbench.session.workspace.file_modes import reversed_cut
from workbench.session.workspace.repository import SnapshotError
from workbench.text import first_line
from workbench.view.formatting.sessions import session_state
from workbench.view.review.review import Scope
from workbench.view.state import FileState
from workbench.view.stats import Totals
from workbench.view.wrapping import count_lines

_COUNTS: Final = """
SELECT sum(kind = 'model_responded'), count(DISTINCT CASE
  WHEN kind = 'action_proposed' THEN json_extract(json, '$.action_id')  -- some twice, in a fork that keeps the run
  WHEN kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_proposed' THEN seq END) FROM events"""
_TIMES: Final = """
SELECT kind, at FROM events WHERE kind <> 'forked' OR json_extract(json, '$.keeps_run') IS NOT 1 ORDER BY seq"""


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
    """Files that differ between its first and its last snapshot."""
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
    """How a session differs from the first one: the first step that differs, if any, and the final files."""

    step: FirstDifference | None
    files: FinalDifference | str
    """The difference between the final files, or why they cannot be compared."""


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
        figures = [_figures(locations, *each) for each in zip(entries, stores, states, strict=True)]
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


def _figures(locations: Locations, entry: SessionSummary, store: Store, state: FinalState | str) -> SessionFigures:
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
        _files_changed(locations, store, state, len(lines)),
        sum(added for added, _ in lines),
        sum(removed for _, removed in lines),
        is_busy=holder(store.path) is not None,
    )


def _files_changed(locations: Locations, store: Store, state: FinalState | str, recorded: int) -> int:
    """Return how many files the session changed by its snapshots; without them, those with recorded lines."""
    if isinstance(state, str):
        return recorded
    try:
        return count_changed(locations, store, state)
    except SnapshotError:
        return recorded


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


def file_sign(file: FileDelta) -> str:
    """Return `A` for a file that only the other session has, `D` for one that only the first has, else `M`."""
    return "A" if file.before is None else "D" if file.after is None else "M"


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


def pair_scopes(comparison: Comparison, number: int, workspace: Path) -> list[Scope]:
    """Return the files that differ between the first session and the session of pair `number`, from 0, in both
    directions.

    Each direction is a scope. The paths are in `workspace`, to which the changes of either session can be applied.
    """
    one, other = comparison.sessions[0].entry, comparison.sessions[number + 1].entry
    difference = comparison.pairs[number].files
    if isinstance(difference, str):
        return []
    names = [each.id.rpartition("-")[2] for each in (one, other)]
    there = [
        _version_in(workspace, each, version) for each, version in zip((one, other), difference.versions, strict=True)
    ]
    files = [(str(workspace / PurePath(file.path).relative_to(one.workspace)), file) for file in difference.files]
    old, new = there
    forward = [
        FileState(path, file.before, file.after, note=file.cut, version=new, version_before=old) for path, file in files
    ]
    backward = [
        FileState(path, file.after, file.before, note=reversed_cut(file.cut), version=old, version_before=new)
        for path, file in files
    ]
    return [
        Scope(f"{names[1]} against {names[0]}", lambda: forward, session=other.id),
        Scope(f"{names[0]} against {names[1]}", lambda: backward, session=one.id),
    ]


def _version_in(workspace: Path, entry: SessionSummary, version: str) -> str:
    """Return the version if the session ran in the workspace, else "": snapshots of other workspaces are not there."""
    return version if entry.workspace == str(workspace) else ""


def run_checks(names: Sequence[str], command: str, cancel: Cancel) -> dict[str, CheckResult | str]:
    """Run a check on the final files of each session in a separate process, because it changes its environment.

    Returns the result for each session, or why there is none. Raises WorkbenchError. `cancel` ends the process, which
    then deletes its scratch directory, even if this program has ended by then.
    """
    program = isolated_python("workbench", "compare", *names, f"--check={command}", "--json")
    try:
        output, errors = run_until_interrupted(program, cancel.on_set, (len(names) + 1) * LONGEST)
        if not output.strip():
            raise WorkbenchError(first_line(errors.strip()).removeprefix("ohw: ") or "the check could not be run")
        result = json.loads(output)
    except (OSError, ValueError) as error:
        raise WorkbenchError(f"the check could not be run: {error}") from error
    return {each["session"]: _check_result(each["check"]) for each in result["sessions"]}


def _check_result(check: dict[str, Any]) -> CheckResult | str:
    return str(check["problem"]) if "problem" in check else convert(check, CheckResult)


def with_checks(comparison: Comparison, checks: Mapping[str, CheckResult | str]) -> Comparison:
    """Return the comparison with the results of a check."""
    figures = tuple(replace(each, check=checks.get(each.entry.id)) for each in comparison.sessions)
    return replace(comparison, sessions=figures)
