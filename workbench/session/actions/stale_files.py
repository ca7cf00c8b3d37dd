"""Finds files that changed since the agent read them, or that earlier actions of the same response write too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath

from workbench.diff.hunks import compare
from workbench.protocol.stale_file import StaleFile
from workbench.session.state import OpenAction, State, content_key
from workbench.text import cut_middle, visible_path
from workbench.tools.executor import FileChange


def pending_contents(state: State, action_id: str) -> dict[str, str | None]:
    """Return the contents of files once the actions before this one have run as shown, or as approved in part.

    None stands for a deleted file.
    """
    contents: dict[str, str | None] = {}
    for name, action in state.batch.items():
        if name == action_id:
            return contents
        contents.update(_contents_after(action))
    return {}


def _contents_after(action: OpenAction) -> dict[str, str | None]:
    if action.decided is not None and action.decided.written is not None:
        return {file.path: file.text for file in action.decided.written}
    return {file.path: file.after for file in action.assessed.preview} if action.assessed is not None else {}


def stacked(changes: Iterable[FileChange], pending: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the files whose preview starts from the contents that earlier actions will write; some tools cannot do
    that.
    """
    return tuple(change.path for change in changes if change.path in pending and change.before == pending[change.path])


def overlap_reasons(changes: Iterable[FileChange], pending: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return a line for each file that an earlier action of the response writes too."""
    both = [change for change in changes if change.path in pending]
    on_top = stacked(both, pending)
    return tuple(_overlap_reason(PurePath(change.path).name, change.path, on_top) for change in both)


def _overlap_reason(name: str, path: str, on_top: Collection[str]) -> str:
    label = visible_path(name)
    if path in on_top:
        return f"{label} is shown as an action before this one will leave it; if not so, you are asked again"
    return f"an action before this one writes {label} too; once that has run, you are shown this and asked again"


_QUOTED = 2_000
_BY: Mapping[str, str] = {
    "person": "by the user",
    "other": "by another program",
    "agent": "by an earlier action of the agent's",
}
NOT_MERGED = "a file has changed since the agent read it, and the two changes do not go together"


def stale_files(changes: Iterable[FileChange], who: Mapping[str, tuple[str, int]]) -> tuple[StaleFile, ...]:
    """Return the files of a preview that have changed since the agent read them.

    `who` has the last writer of each path, with a key of the content written.
    """
    return tuple(
        StaleFile(
            path=change.path,
            seen=change.stale.base,
            theirs=change.before or "",
            wanted=change.stale.ours,
            conflicts=change.stale.conflicts,
            by=_writer(change, who),
        )
        for change in changes
        if change.stale is not None
    )


def _writer(change: FileChange, who: Mapping[str, tuple[str, int]]) -> str:
    name, content = who.get(change.path, ("", 0))
    return name if content == content_key(change.before) else ""


def has_conflicts(files: Iterable[StaleFile]) -> bool:
    """Return whether the user has to resolve something: changes overlap, or could not be merged."""
    return any(file.conflicts != 0 for file in files)


def stale_reasons(files: Iterable[StaleFile]) -> tuple[str, ...]:
    """Return a line for each stale file, to be shown with the question."""
    return tuple(f"{_since(file, PurePath(file.path).name, 'the agent read it')}; {_outcome(file)}" for file in files)


def _since(file: StaleFile, name: str, when: str) -> str:
    change = compare(file.path, file.seen, file.theirs)
    who = _BY.get(file.by, "by somebody else")
    return f"{visible_path(name)} changed since {when}: +{change.added} -{change.removed} {who}"


def _outcome(file: StaleFile) -> str:
    if file.conflicts is None:
        return "it could not be merged, and the proposal reverts that change"
    if not file.conflicts:
        return "the proposal is merged with that change"
    count = "1 place" if file.conflicts == 1 else f"{file.conflicts} places"
    return f"both changed the same lines in {count}, and there the proposal has the agent's"


def stale_note(files: Sequence[StaleFile]) -> str:
    """Return the note to append to the result of an action that wrote stale files."""
    return "\n".join(f"[{_since(file, file.path, 'you last saw it')}. {_done(file)}]\n{_lines(file)}" for file in files)


def refused_stale_note(files: Sequence[StaleFile]) -> str:
    """Return the note to append to the result of an action on stale files that was rejected."""
    return "\n".join(f"[{_since(file, file.path, 'you last saw it')}. View it before you edit it.]" for file in files)


def _done(file: StaleFile) -> str:
    if file.conflicts == 0:
        return "Your edit was merged with that change:"
    return "It touched the same lines as your edit; the user looked at both and decided. What had been changed:"


def _lines(file: StaleFile) -> str:
    change = compare(file.path, file.seen, file.theirs)
    lines = []
    for hunk in change.hunks:
        lines += [f"-{line.rstrip()}" for line in change.old[hunk.old : hunk.old_end]]
        lines += [f"+{line.rstrip()}" for line in change.new[hunk.new : hunk.new_end]]
    return cut_middle("\n".join(lines), _QUOTED)
