"""What the person is told of the versions, each thing once; used by the recorder."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Literal, TypeAlias

from workbench.files.anchored import real_path
from workbench.files.git import NO_GIT
from workbench.llm.model import Cancel
from workbench.protocol.events import Event, FileDelta, FilesChanged, VersionTaken
from workbench.session.workspace.deltas import Deltas, deltas
from workbench.session.workspace.repository import Change, Repository, VersionsFail, prune
from workbench.session.workspace.watcher import Changes, Watcher, native_changes
from workbench.text import first_line

_OFTEN = 30
"""Changes of one file by others that are told of."""
_NAMED = 5


class Sayings:
    """Remembers what was said in one session."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._said: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._restless: list[str] = []

    def once(self, text: str) -> str:
        """The text; empty when it was said before."""
        if text in self._said:
            return ""
        self._said.add(text)
        return text

    def worth_telling(self, files: Sequence[FileDelta]) -> tuple[FileDelta, ...]:
        """The files others changed, without those that they change all the time."""
        self._counts.update(file.path for file in files)
        self._restless += [file.path for file in files if self._counts[file.path] == _OFTEN + 1]
        return tuple(file for file in files if self._counts[file.path] <= _OFTEN)

    def now(self, problem: str, left_out: Collection[str]) -> str:
        """What is to be said now: of a watcher that has a `problem`, of files left out, of those that never rest."""
        watcher = f"changes of files are looked for now and then, as they are not told here: {problem}"
        said = [self.once(watcher) if problem else "", self._left_out(left_out), self._never_resting()]
        return "; ".join(part for part in said if part)

    def _left_out(self, paths: Collection[str]) -> str:
        fresh = sorted(path for path in paths if path not in self._said)
        self._said.update(fresh)
        return (
            f"not in the file versions (over 5 MB, unreadable or a repository of its own): {_named(fresh)}"
            if fresh
            else ""
        )

    def _never_resting(self) -> str:
        paths, self._restless = [os.path.relpath(path, self._workspace) for path in self._restless], []
        return f"changed by others all the time, no more is told of it: {_named(paths)}" if paths else ""


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(first_line(path, 80) for path in paths[:_NAMED]) + more


logger = logging.getLogger(__name__)
_FIRST_LIMIT, _LIMIT = 90.0, 30.0
_CHEAP = 0.3
"""Seconds of a look at the whole folder that is taken after each action; above, the watcher says where to look."""
_SETTLE = 0.3
"""Seconds after which the watcher has told what was changed before."""
_TRIES = 8
"""How often the watcher is waited for before it counts as lost."""
_REST = 100
"""Regular looks take one part of this of the time."""
_MOST_PATHS, _LONGEST_PATHS = 1_000, 100_000
"""Paths, and bytes of them, that are looked at one by one; of more the whole folder is looked at."""
_FAULTS = 3


KeepDeleted: TypeAlias = Callable[[str, str, Sequence[Change]], str]
"""Keeps what the version held of files that an action (its id) has deleted; returns the id of the copy, or nothing."""


@dataclass(frozen=True)
class Look:
    """A version is wanted; `known` are files whose change is in the log already, by absolute path."""

    cause: Literal["first", "action", "person", "other", "end"]
    action_id: str = ""
    known: Mapping[str, str | None] = field(default_factory=dict)


class Recorder:
    """The versions of one session; `use` gives it the way into the log before the first look is asked for."""

    def __init__(self, repository: Repository, changes: Changes = native_changes) -> None:
        self.repository = repository
        self._watcher = Watcher(repository.workspace, self._on_change, lambda: self._cost * _REST, changes)
        self._report: Callable[[Sequence[Event]], None] = lambda events: None
        self._is_acting: Callable[[], bool] = lambda: False
        self._keep_deleted: KeepDeleted = lambda action_id, version, deleted: ""
        self._looks: SimpleQueue[Look | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._pending = 0
        self._thread: threading.Thread | None = None
        self._last = ""
        self._foreseen: dict[str, str | None] = {}
        self._cost = 0.0
        self._sayings = Sayings(repository.workspace)
        self._faults = 0
        self._was_ready = False
        self.is_off = False
        """No versions can be had here."""

    def use(
        self,
        report: Callable[[Sequence[Event]], None],
        is_acting: Callable[[], bool],
        since: str,
        keep_deleted: KeepDeleted,
    ) -> None:
        """Where events go, whether an action runs that may write, the last version of the log, and who keeps what an
        action has deleted."""
        self._report, self._is_acting, self._last, self._keep_deleted = report, is_acting, since, keep_deleted

    def ask(self, look: Look) -> None:
        """Have a version taken soon; returns at once."""
        with self._changed:
            if self.is_off:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="session-versions", daemon=True)
                thread.start()
                self._thread = thread
            self._pending += 1
        self._looks.put(look)

    def foresee(self, known: Mapping[str, str | None]) -> None:
        """Files the person is about to have written: a look that is under way already may see them."""
        with self._changed:
            self._foreseen = {**self._foreseen, **known}

    def forget(self, known: Mapping[str, str | None]) -> None:
        """These were not written after all, or a look has been at them."""
        with self._changed:
            self._foreseen = {path: text for path, text in self._foreseen.items() if (path, text) not in known.items()}

    def settle(self, cancel: Cancel, limit: float) -> bool:
        """Wait until all that was asked for is done; False when it takes longer."""
        if self._thread is not None and self._watcher.problem:
            self.ask(Look("other"))
        until = time.monotonic() + limit
        with self._changed:
            while self._pending and not cancel.is_set and time.monotonic() < until:
                self._changed.wait(0.05)
            return not self._pending or cancel.is_set

    def slow(self) -> None:
        """An action begins before the version before it is there; that is said once."""
        said = self._sayings.once(
            "the file versions of this folder take long; what an action changes may be told of the next one"
        )
        if said:
            self._report([VersionTaken(notice=said)])

    def close(self, limit: float = 1.0) -> None:
        """Take what was asked for, if that is quick, and end."""
        self._watcher.close()
        self._looks.put(None)
        if self._thread is not None:
            self._thread.join(limit)
        self._report = lambda events: None

    def _on_change(self) -> None:
        with self._changed:
            is_wanted = not self._pending
        if is_wanted and not self._is_acting():
            self.ask(Look("other"))

    def _work(self) -> None:
        while (look := self._looks.get()) is not None:
            try:
                events = self._looked(look)
                if events:
                    self._report(events)
            finally:
                if look.cause == "person":
                    self.forget(look.known)
                with self._changed:
                    self._pending -= 1
                    self._changed.notify_all()
            if look.cause == "first" and not self.is_off:
                prune(self.repository)
            if self._watcher.has_news and not self.is_off:  # it came while this look was under way
                self._on_change()

    def _looked(self, look: Look) -> list[Event]:
        try:
            events = self._first() if look.cause == "first" else self._next(look)
        except VersionsFail as error:
            return self._failed(look, str(error))
        except (OSError, ValueError, RuntimeError) as error:  # this thread must not end: actions would wait in vain
            logger.exception("a file version could not be taken")
            return self._failed(look, str(error))
        self._faults = 0
        return events

    def _first(self) -> list[Event]:
        """The version to start from; what is not as the log last knew it was changed while nobody looked."""
        self.repository.prepare()
        self._watcher.start()
        since, began = self._last, time.monotonic()
        self._last = self.repository.take(timeout=_FIRST_LIMIT)
        self._cost = time.monotonic() - began
        events: list[Event] = []
        if since and since != self._last:
            events += self._others(self._told(self._changes(since, self._last), {}))
        return [*events, VersionTaken(version=self._last, notice=self._notice())]

    def _next(self, look: Look) -> list[Event]:
        paths, before = self._where(look), self._last
        if paths is not None and not paths:
            return []
        began = time.monotonic()
        version = self.repository.take(paths, timeout=_LIMIT)
        if paths is None:
            self._cost = time.monotonic() - began
        if version == before:
            said = self._notice()
            return [VersionTaken(version=version, notice=said)] if said else []
        changes = self._changes(before, version)
        found = self._told(changes, look.known)
        self._last = version
        if look.cause != "action":
            return [*self._others(found), VersionTaken(version=version, notice=self._notice())]
        deleted = [change for change in changes if not change.after and change.path not in self.repository.left_out]
        return [
            VersionTaken(
                version=version,
                action_id=look.action_id,
                files=found.files,
                more=found.more,
                notice=self._notice(),
                copy_id=self._keep_deleted(look.action_id, before, deleted) if deleted else "",
            )
        ]

    def _where(self, look: Look) -> list[str] | None:
        """The paths to look at; None for all of them."""
        watcher = self._watcher
        was_ready, self._was_ready = self._was_ready, watcher.is_ready
        if not watcher.is_whole:
            return None
        if look.cause == "other":
            return _few(watcher.take())
        if look.cause == "end":
            return self._checked() if was_ready else None
        if self._cost <= _CHEAP:
            watcher.take()
            return None
        time.sleep(_SETTLE)
        return _few(watcher.take())

    def _checked(self) -> list[str] | None:
        """At the end of a run everything is looked at, and with it whether the watcher saw everything."""
        time.sleep(_SETTLE)
        changed = set(self.repository.changed()) - self.repository.left_out
        seen = self._watcher.take()
        for _ in range(_TRIES):
            if all(any(_holds(one, path) for one in seen) for path in changed):
                return None
            time.sleep(_SETTLE)
            seen += self._watcher.take()
        self._watcher.give_up("it missed changes")
        return None

    def _changes(self, before: str, after: str) -> list[Change]:
        try:
            return self.repository.difference(before, after)
        except VersionsFail:  # the older one was pruned
            return []

    def _told(self, changes: Sequence[Change], known: Mapping[str, str | None]) -> Deltas:
        try:
            return deltas(self.repository, changes, {**self._foreseen, **known})
        except VersionsFail:
            return Deltas()

    def _others(self, found: Deltas) -> list[Event]:
        """What other programs changed; a file that changes all the time is left out of the log."""
        files = self._sayings.worth_telling(found.files)
        return [FilesChanged(files=files, by="other")] if files else []

    def _notice(self) -> str:
        """What is to be said now, each thing once."""
        return self._sayings.now(self._watcher.problem, self.repository.left_out)

    def _failed(self, look: Look, why: str) -> list[Event]:
        self._faults += 1
        self.is_off = look.cause == "first" or why == NO_GIT or self._faults >= _FAULTS
        if self.is_off:
            self._watcher.close()
        state = "there are no file versions" if self.is_off else "a file version could not be taken"
        said = self._sayings.once(first_line(f"{state}: {why}", 300))
        return [VersionTaken(notice=said)] if said else []


def _few(paths: list[str]) -> list[str] | None:
    return paths if len(paths) <= _MOST_PATHS and sum(map(len, paths)) <= _LONGEST_PATHS else None


def _holds(folder: str, path: str) -> bool:
    return folder in (path, ".") or path.startswith(f"{folder}/")


def known_of(files: Sequence[FileDelta]) -> dict[str, str | None]:
    """Files whose change is in the log, as a look wants them."""
    return {real_path(file.path): file.after for file in files}
