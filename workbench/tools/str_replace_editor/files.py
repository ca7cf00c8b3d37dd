"""The files of a workspace for the editing tools: locating, reading, writing and undoing.

The digest of a file's last viewed content is stored, so that a change by the user or another program is noticed,
independently of timestamps, and also after a restart.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from workbench.files import atomic
from workbench.files.encodings import Coding
from workbench.files.hidden_directories import hidden_directory
from workbench.files.root_directory import SYSTEM, Root, approved_paths, is_pending, pending_content, real_path
from workbench.files.text_file import (
    EditorError,
    decoded,
    digest,
    encoded,
    name_of,
    read_bytes,
    reading_of,
)
from workbench.suggest import nearest
from workbench.tools.blob_store import BlobStore
from workbench.tools.executor import FileChange, Stale
from workbench.tools.str_replace_editor.edits import Edited
from workbench.tools.str_replace_editor.undo_history import LastViewed, Step, UndoSteps, Viewed

_ELSEWHERE = ("which is not the file that was shown", "outside the workspace; use that path if it is meant")
_COMPARED = 2_000
"""The most entries that are compared to suggest a file name."""


@dataclass(frozen=True)
class Plan:
    """One file before and after, as bytes and as text; None if it does not exist."""

    path: Path
    raw_before: bytes | None
    raw_after: bytes | None
    before: str | None
    after: str | None
    edited: Edited | None = None
    digest_before: str = ""
    stale: Stale | None = None
    """Set if the file was changed since the model viewed it; `after` then contains both changes."""
    mode: int = 0
    """The mode of a deleted file, for restoring it."""
    coding: Coding | None = None


class Files:
    """Reads and writes files; tools with the same `state_dir` share the viewed contents and the undo steps."""

    def __init__(self, workspace: str, state_dir: Path | None, *, merges: bool = False) -> None:
        """With `merges`, an edit to a file that has changed since it was viewed is merged with that change; the merge
        is written only after it was previewed.
        """
        self._workspace = str(Path(workspace))
        self._root = Root.at(workspace)
        self._blobs = BlobStore(state_dir)
        self._last_viewed = LastViewed(self._blobs) if merges else None
        self._undo = UndoSteps(self._blobs)

    def locate(self, name: str) -> Path:
        """Return the real path. Raises EditorError for a path that is not absolute, or is hidden."""
        if not name.startswith("/"):
            home = f"{Path.home()}/{name[2:]}" if name.startswith("~/") else name
            absolute = os.path.normpath(Path(self._workspace) / home)
            raise EditorError(f"The path {name!r} is not absolute. Did you mean {absolute}?")
        path = real_path(name)
        if hidden_directory(path):
            raise EditorError(f"{name} is hidden from you: it does not belong to your task.")
        return Path(path)

    def target(self, name: str) -> Path:
        """Return the real path to write. Raises EditorError if it is not one of the approved paths.

        Without approved paths, a path in the workspace must not lead out of it.
        """
        path, approved = self.locate(name), approved_paths()
        if approved is None:
            named, root = os.path.normpath(name), str(self._root.path)
            is_inside = _is_within(named, root) or _is_within(named, self._workspace)
            is_meant = _is_within(str(path), root) or not is_inside
        else:
            is_meant = str(path) in approved
        if not is_meant:
            raise EditorError(f"{name} leads to {path} now, {_ELSEWHERE[approved is None]}. Nothing was changed.")
        return path

    def source(self, name: str) -> Path:
        """Return the real path to read. Raises EditorError if there are approved paths and it is not one of them."""
        path, approved = self.locate(name), approved_paths()
        if approved and str(path) not in approved:
            raise EditorError(f"{name} leads to {path} now, {_ELSEWHERE[False]}. Nothing was read; view it again.")
        return path

    def root_of(self, path: Path) -> Root:
        """Return the directory relative to which this real path is opened: the workspace or the root directory."""
        return self._root if self._root.holds(path) else SYSTEM

    def existing(self, path: Path) -> Path:
        """Return the path if it exists. Raises EditorError with a suggestion otherwise."""
        if path.exists():
            return path
        beside = [entry.name for entry in islice(path.parent.iterdir(), _COMPARED)] if path.parent.is_dir() else []
        near = nearest(path.name, beside)
        hint = f" Did you mean {path.parent / near}?" if near else " Use `create` for a new file."
        raise EditorError(f"{path} does not exist.{hint}")

    def edit(self, path: Path, edit: Callable[[str], Edited]) -> Plan:
        """Return the plan of an edit. Raises OSError, or EditorError, also if the file has changed and cannot be
        merged.
        """
        viewed = self._viewed(path)
        raw, digest_before, coding, before = self._read(path, viewed)
        stale = None
        if viewed is None or viewed.digest == digest_before or is_pending(path):
            edited = edit(before)
        else:
            edited, stale = self._merged(path, before, viewed, edit)
        raw_after = encoded(path, edited.text, coding)
        return Plan(path, raw, raw_after, before, edited.text, edited, digest_before, stale, coding=coding)

    def _read(self, path: Path, viewed: Viewed | None) -> tuple[bytes, str, Coding, str]:
        """Return the content, its digest, its encoding and its text, including pending changes of earlier actions.

        Raises EditorError, OSError.
        """
        if not is_pending(path):
            raw = read_bytes(self.existing(path), self.root_of(path))
            return raw, digest(raw), *_decoded_as(viewed, path, raw)
        text = pending_content(path)
        if text is None:
            raise EditorError(f"{path} does not exist once the action before this one has run.")
        is_there = path.exists()
        coding = _decoded_as(viewed, path, read_bytes(path, self.root_of(path)))[0] if is_there else Coding()
        raw = encoded(path, text, coding)
        return raw, digest(raw), coding, text

    def decoded(self, path: Path, raw: bytes) -> tuple[Coding, str]:
        """Return the encoding and the text of a content of this file.

        The encoding in which the file was viewed or written is used unless the content determines another one. Raises
        EditorError if no known encoding converts the bytes without loss.
        """
        return _decoded_as(self._viewed(path), path, raw)

    def _viewed(self, path: Path) -> Viewed | None:
        entry = self._blobs.get(_digest_name(path))
        return Viewed.from_bytes(entry) if entry is not None else None

    def _merged(self, path: Path, theirs: str, viewed: Viewed, edit: Callable[[str], Edited]) -> tuple[Edited, Stale]:
        """Apply the edit to the content last viewed and merge the result with the current content. Raises
        EditorError.
        """
        changed = f"{path} has changed since it was last shown to you."
        base = self._last_viewed.text(path, viewed) if self._last_viewed else None
        try:
            ours = edit(base).text if base is not None else None
        except EditorError as error:
            raise EditorError(f"{changed} View it again before you edit it. ({error})") from error
        if self._last_viewed is None or base is None or ours is None:
            raise EditorError(f"{changed} View it again before you edit it.")
        merged = self._last_viewed.merged(base, theirs, ours)
        if merged.text == theirs:
            raise EditorError(f"{changed} It contains this edit already. View it again.")
        return Edited.between(theirs, merged.text), Stale(base, ours, merged.conflicts)

    def previewed(self, plan: Plan) -> FileChange:
        """Return the change for a preview; a merge may be written only if it is the one that was previewed last."""
        if self._last_viewed and plan.stale:
            self._last_viewed.offer(plan.path, plan.digest_before)
        return FileChange(str(plan.path), plan.before, plan.after, plan.stale)

    def holding(self, path: Path, before: str | None, after: str | None) -> Plan:
        """Return the plan to change a file from `before` to `after` (None: it does not exist).

        Raises EditorError and OSError. The path may be a symbolic link only to an existing file in the workspace.
        """
        real = Path(real_path(path))
        if real != path and (before is None or not real.is_relative_to(self._root.path)):
            raise EditorError(f"{path} leads to {real} now, {_ELSEWHERE[0]}. Nothing was changed.")
        path = real
        if before is None:
            return self.creation(path, after) if after is not None else Plan(path, None, None, None, None)
        raw, now, coding, text = self._read(path, self._viewed(path))
        if text != before:
            coding, text = reading_of(path, raw, before)
        if text != before:
            raise EditorError(f"{path} does not contain the text that was shown.")
        if after is None:
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0
            return Plan(path, raw, None, before, None, digest_before=now, mode=mode)
        raw_after = raw if after == before else encoded(path, after, coding)
        return Plan(path, raw, raw_after, before, after, Edited.between(before, after), now, coding=coding)

    def remember(self, path: Path, raw: bytes | None, content_digest: str = "", coding: Coding | None = None) -> None:
        """Store that the model knows this content, whose digest is `content_digest`; None means there is no file."""
        with suppress(OSError):  # then the file has to be viewed again before the next edit
            if self._last_viewed:
                self._last_viewed.put(path, raw)
            if raw is not None:
                self._blobs.put(_digest_name(path), Viewed(content_digest or digest(raw), coding).to_bytes())
            else:
                self._blobs.drop(_digest_name(path))

    def creation(self, path: Path, text: str) -> Plan:
        """Return the plan to create a file. Raises EditorError if the path exists."""
        is_there = pending_content(path) is not None if is_pending(path) else os.path.lexists(path)
        if is_there:
            what = "is a directory" if path.is_dir() else "exists already"
            raise EditorError(f"{path} {what}; `create` never replaces anything. Use `str_replace` to edit a file.")
        return Plan(path, None, encoded(path, text), None, text)

    def write(self, plan: Plan) -> None:
        """Carry out an edit and store an undo step (a deletion has none).

        Raises EditorError without changing anything, or OSError.
        """
        if plan.raw_after is None:
            self._write(plan)
            self.remember(plan.path, None)
            return
        if self._last_viewed and plan.stale and not self._last_viewed.was_offered(plan.path, plan.digest_before):
            raise EditorError(f"{plan.path} was changed by something else at this moment. View it again.")
        step = Step.between(plan.raw_before, plan.raw_after, plan.digest_before, _shared_ends(plan))
        self._undo.push(plan.path, step)
        try:
            self._write(plan)
        except OSError:
            self._forget_if_unchanged(plan)
            raise
        self.remember(plan.path, plan.raw_after, step.digest_after, plan.coding)

    def undoing(self, path: Path) -> Plan:
        """Return the plan to undo the last edit. Raises EditorError if there is none or the file has changed since."""
        if is_pending(path):
            raise EditorError(f"Which edit of {path} can be undone is known once the action before this one has run.")
        step = self._undo.last(path)
        if step is None:
            raise EditorError(f"There is no edit of {path} left to undo.")
        raw = read_bytes(self.existing(path), self.root_of(path))
        now = digest(raw)
        if now != step.digest_after:
            if now == step.digest_before:  # a crash prevented the edit of this step
                self._undo.drop(path)
                return self.undoing(path)
            raise EditorError(
                f"{path} was changed by something else after the last edit, and undoing that edit would lose the "
                "change. View the file and make the opposite edit with `str_replace`."
            )
        coding, before = self.decoded(path, raw)
        if not step.digest_before:
            return Plan(path, raw, None, before, None)
        earlier = step.undone(raw)
        is_certain = not coding.source
        coding, after = decoded(path, earlier, None if is_certain else coding)
        return Plan(path, raw, earlier, before, after, Edited.between(before, after), coding=coding)

    def apply_undo(self, plan: Plan) -> None:
        """Carry out a plan of `undoing`. Raises OSError."""
        self._write(plan)
        with suppress(OSError):  # the step is skipped the next time
            self._undo.drop(plan.path)
        self.remember(plan.path, plan.raw_after, coding=plan.coding)

    def revert(self, plans: Sequence[Plan]) -> list[Path]:
        """Restore files that were just written, last one first; return those that could not be restored."""
        lost = []
        for plan in reversed(plans):
            back = Plan(plan.path, plan.raw_after, plan.raw_before, plan.after, plan.before, mode=plan.mode)
            back = replace(back, coding=plan.coding)
            try:
                self.apply_undo(back) if plan.raw_after is not None else self._write(back)
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
        """Drop the undo step after a failed write, unless the file has changed."""
        with suppress(OSError, EditorError):
            now = read_bytes(plan.path, self.root_of(plan.path)) if os.path.lexists(plan.path) else None
            if now == plan.raw_before or plan.raw_before is None:
                self._undo.drop(plan.path)


def _is_within(path: str, directory: str) -> bool:
    """Return whether a normalized path is that of the directory or below it."""
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _decoded_as(viewed: Viewed | None, path: Path, raw: bytes) -> tuple[Coding, str]:
    """Return the encoding and the text of a content of a file that the model may have viewed."""
    if viewed is None or viewed.coding is None:
        return decoded(path, raw)
    if viewed.digest == digest(raw):
        return decoded(path, raw, viewed.coding)
    coding, text = decoded(path, raw)
    is_open = coding.source == "guessed" or (coding == Coding() and raw.isascii())
    return (viewed.coding, text) if is_open and viewed.coding.reading(raw) == text else (coding, text)


def _shared_ends(plan: Plan) -> tuple[int, int] | None:
    """Return the numbers of bytes that an edit leaves unchanged at both ends; None unless each character is
    one byte.
    """
    edited, before, after = plan.edited, plan.raw_before, plan.raw_after
    if edited is None or before is None or after is None or plan.before is None or plan.after is None:
        return None
    if (len(before), len(after)) != (len(plan.before), len(plan.after)):
        return None
    # A newline at the beginning of an insertion is before its `start`.
    return max(0, edited.start - 1), len(after) - edited.stop


def _digest_name(path: Path) -> str:
    return f"shown/{name_of(path)}"
