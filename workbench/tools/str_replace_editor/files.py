"""The files of a workspace as the model knows them: found, read, written, taken back; used by the tools that edit.

What the model was last shown of a file is kept as a digest, so that a change by anybody else is noticed, whatever the
clock says and also after a restart.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from workbench.files import atomic
from workbench.files.anchored import SYSTEM, Root, approved_paths, is_pending, pending_content, real_path
from workbench.files.text_file import (
    Coding,
    EditorError,
    decoded,
    digest,
    encoded,
    name_of,
    read_bytes,
)
from workbench.suggest import nearest
from workbench.tools.blob_store import Kept
from workbench.tools.executor import FileChange, Stale
from workbench.tools.str_replace_editor.edits import Edited
from workbench.tools.str_replace_editor.history import Seen, Step, UndoSteps

_ELSEWHERE = ("which is not the file that was shown", "outside the workspace; use that path if it is meant")
_COMPARED = 2_000
"""Names of a folder that are looked at for the one that was meant."""


@dataclass(frozen=True)
class Plan:
    """One file before and after, as bytes and as text; None where it does not exist. `was`: the digest before."""

    path: Path
    raw_before: bytes | None
    raw_after: bytes | None
    before: str | None
    after: str | None
    edited: Edited | None = None
    was: str = ""
    stale: Stale | None = None
    """Set where somebody else changed the file since the model was shown it; `after` holds both changes."""
    mode: int = 0
    """Of a file that is deleted, for putting it back."""


class Files:
    """Reads and writes for the model; tools that share a `state_dir` share what it was shown and what can be undone."""

    def __init__(self, workspace: str, state_dir: Path | None, *, merges: bool = False) -> None:
        """With `merges` an edit of a file that somebody changed is merged with their change, if that was previewed."""
        self._workspace = workspace
        self._root = Root.at(workspace)
        self._kept = Kept(state_dir)
        self._seen = Seen(self._kept) if merges else None
        self._undo = UndoSteps(self._kept)

    def locate(self, given: str) -> Path:
        """The file itself, links followed; raises EditorError for a path that is not absolute."""
        if not Path(given).is_absolute():
            home = f"{Path.home()}/{given[2:]}" if given.startswith("~/") else given
            absolute = os.path.normpath(Path(self._workspace) / home)
            raise EditorError(f"The path {given!r} is not absolute. Did you mean {absolute}?")
        return Path(real_path(given))

    def target(self, given: str) -> Path:
        """The file to write now; raises EditorError where the path leads elsewhere than was shown.

        Where nothing was shown, a path in the workspace must stay there.
        """
        path, shown = self.locate(given), approved_paths()
        if shown is None:
            named, folder = Path(os.path.normpath(given)), self._root.path
            is_inside = named.is_relative_to(folder) or named.is_relative_to(self._workspace)
            is_meant = path.is_relative_to(folder) or not is_inside
        else:
            is_meant = str(path) in shown
        if not is_meant:
            raise EditorError(f"{given} leads to {path} now, {_ELSEWHERE[shown is None]}. Nothing was changed.")
        return path

    def root_of(self, path: Path) -> Root:
        """The directory below which this real path is opened: the workspace, or the root of the file system."""
        return self._root if self._root.holds(path) else SYSTEM

    def existing(self, path: Path) -> Path:
        """The path, if something is there; raises EditorError that names what is near otherwise."""
        if path.exists():
            return path
        beside = [entry.name for entry in islice(path.parent.iterdir(), _COMPARED)] if path.parent.is_dir() else []
        near = nearest(path.name, beside)
        hint = f" Did you mean {path.parent / near}?" if near else " Use `create` for a new file."
        raise EditorError(f"{path} does not exist.{hint}")

    def edit(self, path: Path, edit: Callable[[str], Edited]) -> Plan:
        """The plan to change a file; raises OSError, EditorError (also when it is not what the model was shown)."""
        raw = self._read(path)
        was, shown = digest(raw), self._kept.get(_shown(path))
        coding, before = decoded(path, raw)
        stale = None
        if shown is None or shown == was.encode() or is_pending(path):
            edited = edit(before)
        else:
            edited, stale = self._merged(path, before, shown.decode(), edit)
        return Plan(path, raw, encoded(path, edited.text, coding), before, edited.text, edited, was, stale)

    def _read(self, path: Path) -> bytes:
        """What the file holds, or will hold once an earlier action has run; raises EditorError, OSError."""
        if not is_pending(path):
            return read_bytes(self.existing(path), self.root_of(path))
        text = pending_content(path)
        if text is None:
            raise EditorError(f"{path} does not exist once the action before this one has run.")
        return encoded(
            path, text, decoded(path, read_bytes(path, self.root_of(path)))[0] if path.exists() else Coding()
        )

    def _merged(self, path: Path, theirs: str, shown: str, edit: Callable[[str], Edited]) -> tuple[Edited, Stale]:
        """The edit of what the model was shown, merged with what the file holds now; raises EditorError."""
        changed = f"{path} has changed since it was last shown to you."
        seen = self._seen.text(path, shown) if self._seen else None
        try:
            wanted = edit(seen).text if seen is not None else None
        except EditorError as error:
            raise EditorError(f"{changed} View it again before you edit it. ({error})") from error
        if self._seen is None or seen is None or wanted is None:
            raise EditorError(f"{changed} View it again before you edit it.")
        merged = self._seen.merged(seen, theirs, wanted)
        if merged.text == theirs:
            raise EditorError(f"{changed} It holds this edit already. View it again.")
        return Edited.between(theirs, merged.text), Stale(seen, wanted, merged.conflicts)

    def previewed(self, plan: Plan) -> FileChange:
        """The change as it is shown; a merged one is written only as it was shown last."""
        if self._seen and plan.stale:
            self._seen.offer(plan.path, plan.was)
        return FileChange(str(plan.path), plan.before, plan.after, plan.stale)

    def holding(self, path: Path, before: str | None, after: str | None) -> Plan:
        """The plan to have a file that holds `before` hold `after` (None: not exist); raises EditorError, OSError.

        The path may be a link only to a file of the workspace, which holds `before`.
        """
        real = Path(real_path(path))
        if real != path and (before is None or not real.is_relative_to(self._root.path)):
            raise EditorError(f"{path} leads to {real} now, {_ELSEWHERE[0]}. Nothing was changed.")
        path = real
        if before is None:
            return self.creation(path, after) if after is not None else Plan(path, None, None, None, None)
        raw = self._read(path)
        coding, text = decoded(path, raw)
        if text != before:
            raise EditorError(f"{path} does not hold the text that was shown.")
        if after is None:
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0
            return Plan(path, raw, None, before, None, was=digest(raw), mode=mode)
        made = raw if after == before else encoded(path, after, coding)
        return Plan(path, raw, made, before, after, Edited.between(before, after), digest(raw))

    def remember(self, path: Path, raw: bytes | None, known: str = "") -> None:
        """The model knows this content now (`known` is its digest), None: that there is no such file."""
        with suppress(OSError):  # then the file has to be viewed again before the next edit
            if self._seen:
                self._seen.put(path, raw)
            if raw is not None:
                self._kept.put(_shown(path), (known or digest(raw)).encode())
            else:
                self._kept.drop(_shown(path))

    def creation(self, path: Path, text: str) -> Plan:
        """The plan to make a new file; raises EditorError where something is already."""
        is_there = pending_content(path) is not None if is_pending(path) else os.path.lexists(path)
        if is_there:
            what = "is a folder" if path.is_dir() else "exists already"
            raise EditorError(f"{path} {what}; `create` never replaces anything. Use `str_replace` to edit a file.")
        return Plan(path, None, encoded(path, text), None, text)

    def write(self, plan: Plan) -> None:
        """Carry an edit out, so that it can be taken back (a deletion cannot).

        Raises OSError, EditorError; then nothing was changed.
        """
        if plan.raw_after is None:
            self._write(plan)
            self.remember(plan.path, None)
            return
        if self._seen and plan.stale and not self._seen.was_offered(plan.path, plan.was):
            raise EditorError(f"{plan.path} was changed by something else at this moment. View it again.")
        step = Step.between(plan.raw_before, plan.raw_after, plan.was, _shared_ends(plan))
        self._undo.push(plan.path, step)
        try:
            self._write(plan)
        except OSError:
            self._forget_if_unchanged(plan)
            raise
        self.remember(plan.path, plan.raw_after, step.made)

    def undoing(self, path: Path) -> Plan:
        """The plan to take the last edit back; raises EditorError when there is none or the file has changed since."""
        if is_pending(path):
            raise EditorError(f"What there is to take back of {path} is known once the action before this one has run.")
        step = self._undo.last(path)
        if step is None:
            raise EditorError(f"There is no edit of {path} left to take back.")
        raw = read_bytes(self.existing(path), self.root_of(path))
        now = digest(raw)
        if now != step.made:
            if now == step.was:  # kept for an edit that a crash prevented
                self._undo.drop(path)
                return self.undoing(path)
            raise EditorError(
                f"{path} was changed by something else after the last edit, and taking that edit back would lose the "
                "change. View the file and make the opposite edit with `str_replace`."
            )
        before = decoded(path, raw)[1]
        if not step.was:
            return Plan(path, raw, None, before, None)
        earlier = step.taken_back(raw)
        after = decoded(path, earlier)[1]
        return Plan(path, raw, earlier, before, after, Edited.between(before, after))

    def take_back(self, plan: Plan) -> None:
        """Carry a plan of `undoing` out; raises OSError."""
        self._write(plan)
        with suppress(OSError):  # then the step is passed over the next time
            self._undo.drop(plan.path)
        self.remember(plan.path, plan.raw_after)

    def revert(self, plans: Sequence[Plan]) -> list[Path]:
        """Put files back that were just written, the last one first; those that could not be are given back."""
        lost = []
        for plan in reversed(plans):
            back = Plan(plan.path, plan.raw_after, plan.raw_before, plan.after, plan.before, mode=plan.mode)
            try:
                self.take_back(back) if plan.raw_after is not None else self._write(back)
            except OSError:
                lost.append(plan.path)
        return lost

    def _write(self, plan: Plan) -> None:
        root = self.root_of(plan.path)
        if plan.raw_after is None:
            atomic.remove(plan.path, root, before=plan.raw_before)
        elif plan.raw_before is None:
            atomic.write_new(plan.path, plan.raw_after, root, mode=plan.mode or None)
        else:
            atomic.replace(plan.path, plan.raw_after, root, before=plan.raw_before)

    def _forget_if_unchanged(self, plan: Plan) -> None:
        """After a failed write: the step is kept only where the file is not as it was."""
        with suppress(OSError, EditorError):
            now = read_bytes(plan.path, self.root_of(plan.path)) if os.path.lexists(plan.path) else None
            if now == plan.raw_before or plan.raw_before is None:
                self._undo.drop(plan.path)


def _shared_ends(plan: Plan) -> tuple[int, int] | None:
    """How many bytes an edit leaves at both ends, where a character is a byte; None where they have to be compared."""
    edited, before, after = plan.edited, plan.raw_before, plan.raw_after
    if edited is None or before is None or after is None or plan.before is None or plan.after is None:
        return None
    if (len(before), len(after)) != (len(plan.before), len(plan.after)):
        return None
    # a newline that an insertion begins with stands before its `start`
    return max(0, edited.start - 1), len(after) - edited.stop


def _shown(path: Path) -> str:
    return f"shown/{name_of(path)}"
