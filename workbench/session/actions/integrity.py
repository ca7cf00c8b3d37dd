"""Compares the protected files before and after each action of a session.

Protected files in the workspace that an action changed without having shown it are restored, and new ones are moved
aside, before the next action starts. Files outside the workspace, and changes that may not be the action's, are never
touched: the change is reported, and the next action is asked about in every mode.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.files.root_directory import Root, real_path
from workbench.llm.model import Cancel
from workbench.protocol.events import ActionObserved, Event, VersionTaken
from workbench.risk.home_files import ZSH
from workbench.risk.paths import within
from workbench.risk.protected_changes import changes
from workbench.risk.protected_files import Baseline, ProtectedFiles
from workbench.risk.protected_state import PathChange, PathState
from workbench.sandbox.protected_paths import protected_paths
from workbench.sandbox.set_aside import SetAside, put_back, undo, undoable
from workbench.session.actions.assess import Rater
from workbench.session.actions.own_records import OwnRecords, change_of_record
from workbench.session.actions.permits import ALL_CHANGES, NO_CHANGES, Permit, permit_of
from workbench.session.actions.run import AskToPutBack, CallContext, Result, RunningAction
from workbench.session.actions.user_programs import SYSTEM_PROGRAMS, program_directories, python_directories
from workbench.session.log import Log
from workbench.session.results import with_text
from workbench.session.state import OpenAction
from workbench.session.storage.signed_writes import OwnWrites
from workbench.text import counted, visible, visible_path
from workbench.tools.tool import ToolDefinition

MOST_RESTORED: Final = 20
"""The most changed files that are restored after one action; if there are more, the user is asked about them. New files
are moved aside whatever their number is.
"""
GUARD_NOTE: Final = "protected files changed: "
"""The start of every note about changed protected files, including notes to the model."""
_NAMED: Final = 4
_MODEL: Final = (
    "A protected file is changed only where the call names it, so that the user is asked: edit it with the editor. "
    "Do not try it in another way."
)

_REJECTED: Final = "The user was asked, and did not put them back."


class Intrusion(msgspec.Struct, frozen=True):
    """Protected files that changed without having been shown (possibly none), and how the guard reacted."""

    paths: tuple[str, ...] = ()
    notice: str = ""
    """The message to the user."""
    model_note: str = ""
    moved: tuple[SetAside, ...] = ()
    """The files that were moved aside and can be put back."""

    def with_decision(self, is_back: bool, failed: Sequence[str]) -> Intrusion:
        """Return this report with the user's decision added, and the paths that could not be put back."""
        if not is_back:
            return replace(
                self, notice=f"{self.notice}. You did not put them back", model_note=f"{self.model_note} {_REJECTED}"
            )
        lost = f" except {', '.join(map(visible_path, failed))}, where that is not possible" if failed else ""
        note = self.model_note.removesuffix(f" {_MODEL}")
        return replace(
            self, notice=f"{self.notice}. You put them back{lost}", model_note=f"{note} The user put them back{lost}."
        )

    def event(self, action_id: str = "") -> VersionTaken:
        """Return the event for the log and the front ends."""
        return VersionTaken(action_id=action_id, notice=self.notice, guarded=self.paths)


@dataclass
class _Shared:
    """The protected files of one workspace, as known to all sessions of this process."""

    files: ProtectedFiles
    records: OwnRecords
    lock: threading.RLock = field(default_factory=threading.RLock)
    baseline: Baseline | None = None
    running: list[Permit] = field(default_factory=list)
    omitted: tuple[str, ...] = ()
    """Descriptions of the files that are not compared because of a limit; the last ones that were reported."""
    pending: dict[str, PathChange] = field(default_factory=dict)
    """By path: changes that stay in place until the user has been asked about them."""
    own_writes: OwnWrites = field(default_factory=OwnWrites)

    def is_own_write(self, change: PathChange) -> bool:
        """Return whether this process, a front end or another process of the user's made the change."""
        after = change.after
        if after is not None and not (after.kind == "file" and after.digest):
            return False
        return self.own_writes.accept(change.path, after.digest if after is not None else b"")


_WORKSPACES: dict[tuple[str, ...], _Shared] = {}
_WORKSPACES_LOCK = threading.Lock()


class IntegrityGuard:
    """Detects changes to the protected files while the actions of one session run; sub-agents share its baseline."""

    def __init__(
        self, workspace: str, state: Path | None = None, rewritten_session: Callable[[], str] = lambda: ""
    ) -> None:
        """Changed and new files are moved below `state`; if that is None, nothing is undone. `rewritten_session`
        returns the path of the open session file if another process has written to it, else "".
        """
        self._rewritten_session = rewritten_session
        home, locations = str(Path.home()), Locations.from_environment()
        config, settings = str(locations.config.parent), _named_settings(locations)
        programs, own = program_directories(home, workspace), (str(locations.data), str(locations.state))
        pythons = python_directories(home, workspace)
        self._root = Root.at(workspace)
        self._workspace = str(self._root.path)
        # if the workspace contains the home directory, protected files do not belong to the project alone
        self._aside = state / "put-back" if state and not within(real_path(home), self._workspace) else None
        with _WORKSPACES_LOCK:
            key = (self._workspace, home, config, *own, *settings, *programs, *map(str, pythons))
            if key not in _WORKSPACES:
                files = ProtectedFiles(
                    self._workspace,
                    home,
                    config,
                    settings,
                    programs,
                    own=own,
                    pythons=pythons,
                    system_programs=SYSTEM_PROGRAMS,
                )
                _WORKSPACES[key] = _Shared(files, OwnRecords(locations))
            self._shared = _WORKSPACES[key]

    @property
    def question(self) -> str:
        """The reason to ask the user about the next action; empty if no unreported change requires it."""
        with self._shared.lock:
            pending = sorted(self._shared.pending)
        if not pending:
            return ""
        more = f" and {len(pending) - _NAMED} more" if len(pending) > _NAMED else ""
        names = ", ".join(self._name(path) for path in pending[:_NAMED])
        return f"protected files changed without being shown: {names}{more}"

    def accept(self) -> None:
        """Stop asking about the changes, because the user was asked about them and has decided to continue."""
        with self._shared.lock:
            self._shared.pending.clear()

    def unreported_limits(self) -> str:
        """Return a notice about protected files that are not compared; empty if there are none or it was returned
        before.
        """
        with self._shared.lock:
            baseline = self._shared.baseline
            omitted = baseline.omitted if baseline is not None else ()
            if omitted == self._shared.omitted:
                return ""
            self._shared.omitted = omitted
        what = visible("; ".join(omitted), lines=False)
        return f"not compared before and after actions, as there are too many: {what}" if what else ""

    def compare(self) -> Intrusion:
        """Compare with the last scan, between two actions, and report the changes.

        A change may be the user's own work: it is not reverted, but the next action is asked about.
        """
        with self._shared.lock:
            return self._reported(self._changed(NO_CHANGES))

    def _reported(self, changes: Iterable[PathChange]) -> Intrusion:
        """Report changes that no action of this session made, and ask about them before the next one."""
        changes = [change for change in changes if not self._is_undone(change)]
        self._ask_about(changes)
        if not changes:
            return Intrusion()
        notice = (
            f"{self._described(changes)} since the last action, by a process that it left running or by another "
            "program; the next action is asked about"
        )
        return Intrusion(tuple(change.path for change in changes), notice)

    def begin(self, permit: Permit) -> None:
        """Record the start of an action that may make the changes that `permit` allows."""
        with self._shared.lock:
            if self._shared.baseline is None:
                self._shared.baseline = self._shared.files.scan()
                self._shared.records.changes()
            self._shared.running.append(permit)

    def end(self, permit: Permit) -> Intrusion:
        """End an action: undo what it changed without having shown it, and report the changes."""
        with self._shared.lock:
            if permit in self._shared.running:
                self._shared.running.remove(permit)
            before = self._shared.baseline
            changes = self._changed(permit)
            if before is None or not changes:
                return Intrusion()
            return self._undone(changes, before, permit)

    def put_back(self, moved: Sequence[SetAside]) -> tuple[list[str], Intrusion]:
        """Put back what was moved aside, as the user decided.

        Return the paths where that is not possible, and what else has changed while the question waited.
        """
        with self._shared.lock:
            roots = self._roots(each.path for each in moved)
            failed = [each.path for each in moved if not put_back(each, roots)]
            returned = [each for each in moved if each.path not in failed]
            others = [change for change in self._changed(NO_CHANGES) if not _is_within(change, returned)]
            return failed, self._reported(others)

    def stop_asking(self, paths: Iterable[str]) -> None:
        """Stop asking about these files, because the user has decided on them."""
        with self._shared.lock:
            for path in paths:
                self._shared.pending.pop(path, None)

    def _undone(self, changes: Sequence[PathChange], before: Baseline, permit: Permit) -> Intrusion:
        """Move aside what is new, and restore the rest, as far as that may be done; ask about what remains."""
        roots = self._roots(change.real for change in changes)
        possible = undoable(changes, before, roots, self._workspace)
        mine = [change for change in possible if self._may_undo(change, permit)]
        if sum(change.before is not None for change in mine) > MOST_RESTORED:
            mine = [change for change in mine if change.before is None]
        directory = self._aside_directory() if mine else None
        moved = undo(mine, before, roots, directory) if directory is not None else []
        late = self._changed(permit)
        now = (self._shared.baseline or before).files
        undone = [
            change
            for change in mine
            if directory is not None and _is_equal(before.files.get(change.path), now.get(change.path))
        ]
        undone_paths = {change.path for change in undone}
        remaining = [change for change in changes if change.path not in undone_paths]
        # What a process that runs on changed meanwhile is in the new baseline, and would not be found again.
        paths = {change.path for change in changes}
        remaining += [
            change
            for change in late
            if change.path not in paths
            and not (_is_within(change, moved) and _is_equal(before.files.get(change.path), now.get(change.path)))
        ]
        # Without files that git checked out, a commit would delete them.
        is_missing = permit.checks_out
        self._ask_about([*remaining, *(change for change in undone if is_missing and not _is_of_git(change))])
        return self._intrusion(undone, remaining, moved, directory)

    def end_own(self, permit: Permit) -> Intrusion:
        """End a shell command of the user's, and report changed files that the command did not name.

        Such changes are kept, since a process that an action left running may have made them.
        """
        with self._shared.lock:
            self._shared.running.remove(ALL_CHANGES)
            unnamed = self._changed(permit)
        if not unnamed:
            return Intrusion()
        notice = f"{self._described(unnamed)} while your command ran"
        return Intrusion(tuple(change.path for change in unnamed), notice)

    def _changed(self, permit: Permit) -> list[PathChange]:
        """Return the changes since the last scan that no permit allows; a new scan replaces the last one."""
        before, now = self._shared.baseline, self._shared.files.scan()
        self._shared.baseline = now
        permits = (permit, *self._shared.running)
        differences = changes(before, now) if before is not None else []
        rewritten = self._rewritten_session()
        differences += [change_of_record(rewritten)] if rewritten else []
        return [
            change
            for change in (*differences, *self._shared.records.changes())
            if not self._shared.is_own_write(change) and not any(each.allows(change) for each in permits)
        ]

    def _may_undo(self, change: PathChange, permit: Permit) -> bool:
        is_checked_out = permit.checks_out and not _is_of_git(change)
        return change.before is None or (within(change.real, self._workspace) and not is_checked_out)

    def _roots(self, paths: Iterable[str]) -> list[Root]:
        """Return the directories in which changes are undone: the workspace, and its git directories elsewhere."""
        # A work tree of a repository elsewhere has its git directory there.
        is_outside = not all(within(path, self._workspace) for path in paths)
        directories = protected_paths(self._root.path).git_directories if is_outside else ()
        return [self._root, *(Root.at(each) for each in directories if not within(each, self._workspace))]

    def _ask_about(self, changes: Iterable[PathChange]) -> None:
        """Ask about these changes before the next action; several changes of one path become one, from its first
        content.
        """
        pending = self._shared.pending
        for change in changes:
            first = pending.get(change.path, change)
            pending[change.path] = change._replace(before=first.before)

    def _is_undone(self, change: PathChange) -> bool:
        """Return whether a pending file has its earlier content again; if so, stop asking about it."""
        first = self._shared.pending.get(change.path)
        if first is None or not _is_equal(first.before, change.after):
            return False
        del self._shared.pending[change.path]
        return True

    def _aside_directory(self) -> Path | None:
        if self._aside is None:
            return None
        try:
            self._aside.mkdir(parents=True, exist_ok=True, mode=0o700)
            return Path(real_path(self._aside.parent)) / self._aside.name
        except OSError:
            return None

    def _intrusion(
        self,
        undone: Sequence[PathChange],
        remaining: Sequence[PathChange],
        moved: Sequence[SetAside],
        directory: Path | None,
    ) -> Intrusion:
        notices, notes = [], []
        new = [change for change in undone if change.before is None]
        restored = [change for change in undone if change.before is not None]
        for some, done, what_is in ((new, "moved aside", "they are"), (restored, "put back", "the changed content is")):
            what = f"{self._described(some)}, which no question showed, and {done}"
            notices += [f"{what}; {what_is} saved in {visible_path(str(directory))}"] if some else []
            notes += [what] if some else []
        if remaining:
            what = f"{self._described(remaining)}, which no question showed; the next action is asked about"
            notices.append(what)
            notes.append(what)
        paths = tuple(change.path for change in (*undone, *remaining))
        return Intrusion(paths, ". ".join(notices), f"{'. '.join(notes)}. {_MODEL}", tuple(moved))

    def _described(self, changes: Sequence[PathChange]) -> str:
        names = [f"{self._name(change.path)} ({_kind(change)})" for change in changes[:_NAMED]]
        more = f" and {counted(len(changes) - _NAMED, 'more file')}" if len(changes) > _NAMED else ""
        return f"{GUARD_NOTE}{', '.join(names)}{more}"

    def _name(self, path: str) -> str:
        home = real_path(Path.home())
        for directory, short in ((self._workspace, ""), (home, "~/")):
            if within(path, directory) and path != directory:
                return visible_path(short + path[len(directory) + 1 :])
        return visible_path(path)


def _named_settings(locations: Locations) -> tuple[str, ...]:
    """Return the settings files that environment variables name, and the file that records what the user trusts."""
    named = [str(locations.data / "trusted.json"), os.environ.get("GIT_CONFIG_GLOBAL", "")]
    zsh = os.environ.get("ZDOTDIR", "")
    named += [f"{zsh}/{name}" for name in sorted(ZSH) if zsh]
    return tuple(os.path.normpath(path) for path in named if path.startswith("/"))


def _is_equal(one: PathState | None, other: PathState | None) -> bool:
    return other is None if one is None else one.is_same(other)


def _is_within(change: PathChange, moved: Iterable[SetAside]) -> bool:
    return any(within(change.real or change.path, each.path) for each in moved)


def _is_of_git(change: PathChange) -> bool:
    return "/.git/" in change.path


def _kind(change: PathChange) -> str:
    if change.before is None:
        return "new"
    if change.after is None:
        return "deleted"
    is_only_mode = (change.before.kind, change.before.digest) == (change.after.kind, change.after.digest)
    return "mode" if is_only_mode else "link" if change.after.kind == "link" else "content"


class Protection:
    """The integrity guard of one session, and the changes that its running actions may make."""

    def __init__(self, log: Log, rater: Rater, state: Path | None, ask: AskToPutBack | None = None) -> None:
        """Changed files are moved below `state` before the old content is restored; if it is None, nothing is
        restored.
        """
        self._log = log
        self._rater = rater
        self._ask = ask
        self._permits: dict[str, Permit] = {}
        self.guard = IntegrityGuard(log.state.workspace, state, log.rewritten_file)

    def compare(self) -> None:
        """Record and report the protected files that have changed since the last action. Raises StoreError."""
        intrusion = self.guard.compare()
        limits = self.guard.unreported_limits()
        events = [intrusion.event()] if intrusion.paths else []
        events += [VersionTaken(notice=limits)] if limits else []
        if events:
            self._log.commit(*events, happened=True)

    def doubt(self, tool: ToolDefinition) -> str:
        """Return why changed protected files require asking about a call of this tool; empty if they do not."""
        return self.guard.question if may_change(tool) else ""

    def objection(self, action: OpenAction, tool: ToolDefinition) -> str | None:
        """Return the doubt about the action; None if there is none, or if the user approved the action despite it.

        That approval also settles the changes.
        """
        doubt = self.doubt(tool)
        decided, assessed = action.decided, action.assessed
        if not doubt:
            return None
        if decided is None or decided.by != "person" or assessed is None or doubt not in assessed.reasons:
            return doubt
        self.guard.accept()
        return None

    def begin(self, run: RunningAction) -> None:
        """Note which protected files the starting action may change."""
        tool = run.readied.tool
        if not may_change(tool):
            return
        action = self._log.state.batch.get(run.proposed.action_id)
        decided = action.decided if action else None
        proposed = replace(run.proposed, arguments=action.arguments) if action else run.proposed
        local = self._rater.local(proposed, tool)
        permit = permit_of(
            local,
            self._log.state.workspace,
            [file.path for file in run.readied.files],
            by_user=decided is not None and decided.by == "person",
            by_rule=not self._rater.guarded(proposed, local),
        )
        self._permits[run.proposed.action_id] = permit
        self.guard.begin(permit)

    @contextmanager
    def user_command(self, run: RunningAction | None) -> Iterator[None]:
        """Guard a shell command of the user's: it may change any file, but those that it does not name are reported."""
        if run is None:
            yield
            return
        local = self._rater.local(run.proposed, run.readied.tool)
        permit = permit_of(local, self._log.state.workspace, (), by_user=True, by_rule=False)
        self.guard.begin(ALL_CHANGES)
        try:
            yield
        finally:
            intrusion = self.guard.end_own(permit)
        if intrusion.paths:
            self._log.commit(intrusion.event(run.proposed.action_id), happened=True)

    def ended(
        self, run: RunningAction, result: Result, call: CallContext, cancel: Cancel
    ) -> tuple[Result, Sequence[Event]]:
        """Return the result and more events; both report protected files that the action changed without asking.

        The user is asked whether what was moved aside is put back.
        """
        permit = self._permits.pop(run.proposed.action_id, None)
        intrusion = self.guard.end(permit) if permit is not None else None
        if intrusion is None or not intrusion.paths:
            return result, ()
        intrusion = self._decided(run, intrusion, call, cancel)
        if isinstance(result, ActionObserved) and intrusion.model_note:
            result = with_text(result, intrusion.model_note)
        return result, (intrusion.event(run.proposed.action_id),)

    def _decided(self, run: RunningAction, intrusion: Intrusion, call: CallContext, cancel: Cancel) -> Intrusion:
        """Ask the user about what was moved aside, and put it back if they want it."""
        moved = [each for each in intrusion.moved if each.digest]
        wants = self._ask(run.proposed, moved, call, cancel) if self._ask is not None and moved else None
        if wants is None:
            return intrusion
        self.guard.stop_asking(path for path in intrusion.paths if any(within(path, each.path) for each in moved))
        failed, others = self.guard.put_back(moved) if wants else ([], Intrusion())
        if others.paths:
            self._log.commit(others.event(), happened=True)
        return intrusion.with_decision(wants, [*failed, *(each.path for each in intrusion.moved if not each.digest)])


def may_change(tool: ToolDefinition) -> bool:
    """Return whether calls of the tool may change files; a server's claims about its own tools are not trusted."""
    return tool.is_remote or not (tool.is_read_only or tool.ends_run or tool.asks_user)
