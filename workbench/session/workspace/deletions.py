"""Copies files that commands and cells delete or overwrite if no version contains them; used by `workspace.files`."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.deletion_list import MOST_LISTED, DeletionList
from workbench.protocol.events import Event, VersionTaken
from workbench.risk import Assessment, Part
from workbench.risk.reason import reworded
from workbench.session.assessments import Assessments
from workbench.session.state import State
from workbench.session.workspace.affected_files import (
    MOST_BYTES,
    MOST_FILES,
    FileCount,
    Touched,
    deleted_directories,
    touched,
)
from workbench.session.workspace.described_deletions import NO_COPY, Deletion, describe, listed, summarize
from workbench.session.workspace.metadata import metadata_of
from workbench.session.workspace.repository import GENERATED, Change, SnapshotError, SnapshotRepository, is_refused
from workbench.session.workspace.safety_copies import CopyDetails, SafetyCopies, SafetyCopy
from workbench.text import counted
from workbench.tools.manifest import ToolKind, kind_of
from workbench.tools.tool import ToolDefinition

FOR_GOOD = "what it deletes could not be restored"
"""The reason to ask the user about deletions for good, whatever the mode and the rules."""
_QUERY_LIMIT = 2.0


class Explained(NamedTuple):
    """A rating whose reasons name what is deleted; `doubt` says why the user is asked in every mode, or is ""."""

    assessment: Assessment
    doubt: str = ""
    deleted: tuple[DeletionList, ...] = ()
    """The deleted paths, for each part that deletes something."""


class DeletionSurvey:
    """Finds the files of one workspace that commands would delete or overwrite, and copies them."""

    def __init__(self, repository: SnapshotRepository) -> None:
        self._repository = repository
        self.copies = SafetyCopies(repository)

    def explain(self, assessment: Assessment) -> Explained:
        """Return the rating with the deletions among its reasons."""
        deletions = self._deletions_of(assessment)
        lost: dict[Part, list[Deletion]] = {}
        for loss in deletions:
            if loss.is_reported:
                lost.setdefault(loss.part, []).append(loss)
        root = self._repository.workspace
        described = {part: _reason_of(part, of_part, describe(of_part, root)) for part, of_part in lost.items()}
        parts = tuple(part._replace(reason=described.get(part, part.reason)) for part in assessment.parts)
        new = {old.reason: reason for old, reason in described.items()}
        reasons = tuple(new.get(reason, reason) for reason in assessment.reasons)
        doubt = FOR_GOOD if any(loss.is_final for loss in deletions) else ""
        return Explained(assessment._replace(parts=parts, reasons=reasons), doubt, self._lists(lost, described))

    def _lists(
        self, lost: Mapping[Part, Sequence[Deletion]], described: Mapping[Part, str]
    ) -> tuple[DeletionList, ...]:
        """Return a list of what each part deletes; together they name at most MOST_LISTED paths."""
        lists, free = [], MOST_LISTED
        for part, of_part in lost.items():
            summary = _reason_of(part, of_part, summarize(of_part))
            lists.append(listed(of_part, self._repository.workspace, described[part], summary, free))
            free -= len(lists[-1].paths)
        return tuple(lists)

    def keep(self, assessment: Assessment, command: str, session_id: str) -> SafetyCopy | None:
        """Copy what the command deletes or overwrites; return None if there is nothing to copy.

        Raises SnapshotError, also if some of it cannot be copied.
        """
        deletions = self._deletions_of(assessment)
        failed = next((loss.why_not for loss in deletions if loss.why_not and not loss.is_maybe), "")
        if failed:
            raise SnapshotError(failed)
        files = dict.fromkeys(path for loss in deletions if loss.can_be_copied for path in loss.files)
        deleted = [loss for loss in deletions if loss.deletes and not loss.is_outside]
        held = [path for path in dict.fromkeys(path for loss in deleted for path in loss.held) if path not in files]
        root = self._repository.workspace
        named = [*(loss.path for loss in deleted if not loss.is_any), *deleted_directories(assessment.parts, root)]
        directories = [self._relative(path) for path in named]
        metadata = metadata_of(root, [*files, *held], directories)
        if not (files or held or metadata.directories):
            return None
        size = sum(_size(root / path) for path in (*files, *held))
        return self.copies.keep(list(files), held, CopyDetails(command, session_id, size, metadata))

    def keep_deleted(self, changes: Sequence[Change], version: str, command: str, session_id: str) -> SafetyCopy:
        """Record a copy of files that a command deleted unexpectedly and that `version` contains. Raises
        SnapshotError.
        """
        sizes = self._repository.sizes([change.before for change in changes])
        size = sum(sizes.get(change.before, 0) for change in changes)
        return self.copies.keep_deleted(changes, version, CopyDetails(command, session_id, size))

    def _deletions_of(self, assessment: Assessment) -> list[Deletion]:
        """Return what each part deletes or overwrites; if git cannot tell, each deletion contains the reason."""
        there = touched(assessment.parts, self._repository.workspace)
        outside = [_outside(one) for one in there if one.is_outside]
        inside = [one for one in there if not (one.is_outside or self._is_held_surely(one))]
        try:
            if inside:
                self._repository.prepare()  # the first version may not have been started
            paths = [self._relative(one.path) for one in inside if not one.is_any]
            held = self._repository.held(paths, timeout=_QUERY_LIMIT) if paths else set()
            return [*outside, *(self._loose(one) if one.is_any else self._loss(one, held) for one in inside)]
        except SnapshotError as error:
            return [*outside, *(_not_looked_up(one, str(error)) for one in inside)]

    def _is_held_surely(self, one: Touched) -> bool:
        """Return whether git need not be asked: the command only names files, and all are as they were recorded."""
        return one.is_maybe and all(self._repository.is_as_recorded(self._relative(path)) for path in one.counted.sizes)

    def _relative(self, path: str | Path) -> str:
        return os.path.relpath(path, self._repository.workspace)

    def _loss(self, one: Touched, held: set[str]) -> Deletion:
        root, counted_files = self._repository.workspace, one.counted
        names, refused = self._by_name(counted_files.sizes)
        lost = tuple(name for name in names if name not in held)
        in_snapshot = tuple(name for name in names if name in held)
        size = sum(counted_files.sizes[root / name] for name in lost)
        loss = Deletion(
            one.part,
            one.deletes,
            one.path,
            len(counted_files.sizes),
            lost,
            size,
            counted_files.is_whole,
            counted_files.has_history,
        )
        total = sum(counted_files.sizes.values())
        return replace(loss, held=in_snapshot, is_maybe=one.is_maybe, refused=refused, total=total)

    def _by_name(self, paths: Iterable[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the files that a copy can contain, and of those that git refuses to store."""
        names = {self._relative(path): _mode(path) for path in paths}
        refused = tuple(name for name, mode in names.items() if is_refused(name, mode))
        return tuple(name for name in names if name not in refused), refused

    def _loose(self, one: Touched) -> Deletion:
        """Return the deletion of unknown files in a directory: those that no version contains, except generated ones.

        Of these, the smallest are copied, as many as fit.
        """
        root = self._repository.workspace
        counted_files = FileCount()
        for name in self._not_held(one):
            if GENERATED.isdisjoint(PurePath(name).parts):
                counted_files.count(root / name)
        names, refused = self._by_name(counted_files.sizes)
        chosen, size = _smallest({root / name: counted_files.sizes[root / name] for name in names})
        files = tuple(name for name in names if root / name in chosen)
        lost = tuple(name for name in names if root / name not in chosen)
        count, has_history = len(counted_files.sizes), one.counted.has_history
        loss = Deletion(one.part, one.deletes, one.path, count, files, size, True, has_history)
        return replace(loss, is_any=True, too_large=lost, refused=refused)

    def _not_held(self, one: Touched) -> Sequence[str]:
        if one.only is None:
            return self._repository.loose(self._relative(one.path), timeout=_QUERY_LIMIT)
        names = sorted(map(self._relative, one.only))
        held = self._repository.held(names, timeout=_QUERY_LIMIT) if names else set()
        return [name for name in names if name not in held]


def _reason_of(part: Part, deletions: Sequence[Deletion], what: str) -> str:
    """Return a description of what a part deletes, after the part's own reason if the deletions are only possible
    ones.
    """
    is_added = part.reason and all(loss.is_maybe for loss in deletions)
    return reworded(part.reason, f"{part.reason}; {what}" if is_added else what)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _outside(one: Touched) -> Deletion:
    counted_files = one.counted
    deletion = Deletion(
        one.part,
        one.deletes,
        one.path,
        len(counted_files.sizes),
        (),
        0,
        counted_files.is_whole,
        counted_files.has_history,
    )
    return replace(deletion, is_outside=True, total=sum(counted_files.sizes.values()))


def _not_looked_up(one: Touched, why: str) -> Deletion:
    deletion = Deletion(
        one.part, one.deletes, one.path, len(one.counted.sizes), (), 0, True, is_any=one.is_any, why_not=why
    )
    return replace(deletion, is_maybe=one.is_maybe, total=sum(one.counted.sizes.values()))


def _smallest(sizes: Mapping[Path, int]) -> tuple[set[Path], int]:
    """Return as many of the files, smallest first, as one copy may hold, and their total size in bytes."""
    chosen: set[Path] = set()
    total = 0
    for path in sorted(sizes, key=sizes.__getitem__)[:MOST_FILES]:
        if total + sizes[path] > MOST_BYTES:
            break
        chosen.add(path)
        total += sizes[path]
    return chosen, total


logger = logging.getLogger(__name__)
WATCHED: Final[frozenset[ToolKind]] = frozenset({"command", "code"})
"""Kinds of tools that may delete files without naming them in a preview."""
_STEP = 0.02


class CopyRecorder:
    """Makes and restores copies in its own threads, so that neither an interrupt nor the screen waits for them."""

    def __init__(
        self,
        tools: Mapping[str, ToolDefinition],
        survey: DeletionSurvey,
        assessments: Assessments,
        report: Callable[[Sequence[Event]], None],
    ) -> None:
        self.survey = survey
        self._assessments = assessments
        self._tools = tools
        self._report = report
        self._failed: dict[str, str] = {}
        self._copies: dict[str, tuple[SafetyCopy, frozenset[str]]] = {}
        """By the id of an action: its copy, and the paths of the files in it."""
        self._prefix = ""

    def join(self, parent: CopyRecorder, session_id: str) -> None:
        """List the copies of this sub-agent with those of its parent, which names its actions `SESSION:ACTION`."""
        self._copies, self._prefix = parent._copies, f"{session_id}:"

    def keep(self, state: State, action_id: str, tool: str, arguments: Mapping[str, Any], cancel: Cancel) -> None:
        """Copy what this call deletes or overwrites, and report the copy; return early if the call is canceled."""
        self._failed.pop(action_id, None)
        assessment = self.assess(tool, arguments)
        if assessment.risk == "LOW":
            return
        command = str(arguments.get("command") or arguments.get("code") or "")
        safety_copy = _aside(partial(self._keep, assessment, command, state.session_id, action_id), cancel)
        if isinstance(safety_copy, SnapshotError):
            self._failed[action_id] = f"{NO_COPY}: {safety_copy}"
            self._report([VersionTaken(notice=f"{NO_COPY} of what is deleted now: {safety_copy}")])
        elif safety_copy is not None and safety_copy.copied:
            are = "they are" if safety_copy.copied > 1 else "it is"
            line = f"a copy of {counted(safety_copy.copied, 'file')} is kept before {are} changed or deleted"
            notice = f"{line}: `ohw restore {safety_copy.id}` restores it"
            self._report([VersionTaken(action_id=action_id, copy_id=safety_copy.id, notice=notice)])

    def _keep(self, assessment: Assessment, command: str, session_id: str, action_id: str) -> SafetyCopy | None:
        safety_copy = self.survey.keep(assessment, command, session_id)
        if safety_copy is not None:
            self._copies[f"{self._prefix}{action_id}"] = safety_copy, self.survey.copies.paths_of(safety_copy)
        return safety_copy

    def keep_deleted(self, state: State, action_id: str, version: str, deleted: Sequence[Change]) -> str:
        """Record a copy of the files that an action deleted unexpectedly.

        Return the id of the copy made for the action if no notice has named it yet, else "".
        """
        copy, foreseen = self._copies.pop(action_id, (None, frozenset[str]()))
        rest = [change for change in deleted if change.path not in foreseen]
        untold = copy.id if copy is not None and not copy.copied else ""
        if not rest:
            return untold
        try:
            safety_copy = self.survey.keep_deleted(rest, version, _command_of(state, action_id), state.session_id)
        except SnapshotError:
            logger.exception("what an action deleted is in no copy, only in its version")
            return ""
        return safety_copy.id if copy is None else untold

    def failure(self, action_id: str) -> str:
        """Return why no copy could be made before this action, which is about to start; empty if none failed."""
        return self._failed.get(action_id, "")

    def assess(self, name: str, arguments: Mapping[str, Any]) -> Assessment:
        """Return the current rating of a call; LOW for tools that are not watched."""
        tool = self._tools.get(name)
        if tool is None or kind_of(name) not in WATCHED:
            return Assessment("LOW")
        return self._assessments.of(tool, arguments)

    def restore(self, copy_id: str) -> None:
        """Restore a copy in another thread; its result is reported as an event."""
        threading.Thread(target=self._restored, args=(copy_id,), name="session-restoring", daemon=True).start()

    def _restored(self, copy_id: str) -> None:
        try:
            line = self.survey.copies.restore(copy_id).summary
        except WorkbenchError as error:
            line = f"nothing was restored: {error}"
        self._report([VersionTaken(notice=f"{line} (copy {copy_id})")])


def _command_of(state: State, action_id: str) -> str:
    """Return the command or code that the action ran, or else the name of the tool it called."""
    own, action = state.own.get(action_id), state.batch.get(action_id)
    if own is not None:
        return own.command
    if action is None:
        return "an action"
    return str(action.arguments.get("command") or action.arguments.get("code") or action.proposed.tool)


def _aside(keep: Callable[[], SafetyCopy | None], cancel: Cancel) -> SafetyCopy | SnapshotError | None:
    """Return the result or the error of `keep`, run in a thread; None after an interrupt, and then `keep` continues."""
    results: list[SafetyCopy | SnapshotError | None] = []

    def work() -> None:
        try:
            results.append(keep())
        except SnapshotError as error:
            results.append(error)
        except (OSError, ValueError) as error:  # whatever the error, the user must learn that there is no copy
            results.append(SnapshotError(str(error)))

    thread = threading.Thread(target=work, name="session-copy", daemon=True)
    thread.start()
    while thread.is_alive() and not cancel.is_set:
        thread.join(_STEP)
    return results[0] if results else None
