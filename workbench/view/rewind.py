"""The checkpoints of a session and the preview of a rewind as rows, for the Rewind screen and `ohw rewind`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from rich.cells import cell_len

from workbench.protocol.events import FileDelta, Rewound, SessionStarted, UserCommand, UserMessage
from workbench.protocol.rewind import RewindScope, RewoundFile
from workbench.session.rewind.checkpoints import Checkpoint, checkpoints_of
from workbench.session.storage.active_path import ActivePath, rewinds_of, still_in_effect
from workbench.session.storage.store import Store
from workbench.text import counted, first_line, revealed, visible_path
from workbench.view.action_reducer import action_item
from workbench.view.formatting.actions import plus_minus, title_of
from workbench.view.formatting.sessions import when
from workbench.view.reducer import apply
from workbench.view.state import SessionState
from workbench.view.transcript.transcript import transcript_text
from workbench.view.wrapping import Line, Piece, clip, count_lines, pad

_WITH_COST, _WITH_LINES, _WITH_TIME = 66, 50, 40
_LONGEST: Final = 300
MERGED: Final = "you changed it too"
_NAMED: Final = 20
_TITLE_WIDTH: Final = 78
_CONFLICT: Final = "you changed the same lines"
_NOT_COVERED: Final = "not in the file versions"


class CheckpointRow(Struct, frozen=True):
    """A checkpoint as the list shows it; its strings are safe to show, and `files` are paths."""

    seq: int
    target: int
    at: datetime
    text: str
    message: str = ""
    """The whole message of the user; empty for an action and for a branch."""
    is_action: bool = False
    action_id: str = ""
    scope: RewindScope = "both"
    """What moves unless the user chooses otherwise."""
    files: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    cost: float | None = 0.0

    def fits(self, words: Sequence[str]) -> bool:
        """Return whether each word, in lower case, occurs in the text or in the path of a file."""
        searched = "\n".join((self.text, *self.files)).lower()
        return all(word in searched for word in words)

    @property
    def is_branch(self) -> bool:
        """Whether it is the end of an inactive branch."""
        return not self.message and not self.is_action

    @property
    def title(self) -> str:
        """The name of the state that a rewind to it restores."""
        if self.is_branch:
            return self.text
        return f"after: {self.text}" if self.is_action else f"before: {self.text}"


def read_checkpoints(path: Path) -> list[CheckpointRow]:
    """Return the checkpoints of a session file, in order; call it in a thread. Raises StoreError."""
    with Store.open(path, readonly=True) as store:
        started = next(store.events(0, 1), None)
        workspace = started.workspace if isinstance(started, SessionStarted) else ""
        return [_row(each, workspace) for each in checkpoints_of(store)]


def checkpoint_at(rows: Sequence[CheckpointRow], seq: int = 0, action_id: str = "") -> int:
    """Return the index of the checkpoint of an action, else of the last one up to event `seq`, else of the last one."""
    by_action = [at for at, row in enumerate(rows) if action_id and row.action_id == action_id]
    up_to = [at for at, row in enumerate(rows) if not seq or row.seq <= seq]
    return next(iter(by_action), up_to[-1] if up_to else 0)


class LastRewind(Struct, frozen=True):
    """Where the session was before the last rewind that is still in effect."""

    row: CheckpointRow
    has_gone_on: bool
    """Whether the user has asked for anything since, which returning there would undo."""


def read_last_rewind(path: Path) -> LastRewind | None:
    """Return the last rewind of a session file that is not undone, or None; call it in a thread. Raises StoreError."""
    with Store.open(path, readonly=True) as store:
        rewinds = still_in_effect(rewinds_of(store, besides=None))
        if not rewinds:
            return None
        seq, _, scope = rewinds[-1]
        active = ActivePath(store.last_seq, rewinds_of(store))
        rewound, *later = store.events(seq - 1)
        row = CheckpointRow(seq, seq - 1, rewound.at, "before the last rewind", scope=scope)
        return LastRewind(
            row, any(isinstance(event, UserMessage | UserCommand) and event.seq in active for event in later)
        )


def branch_text(path: Path, first: int, last: int) -> str:
    """Return the transcript of events `first` to `last`, whichever branch they are on. Raises StoreError."""
    state = SessionState()
    with Store.open(path, readonly=True) as store:
        for event in store.events(first - 1, last - first + 1):
            apply(state, event)
    return transcript_text(state)


def _row(checkpoint: Checkpoint, workspace: str) -> CheckpointRow:
    files = checkpoint.files
    counts = [count_lines(each.before, each.after) for each in files.values() if not each.cut]
    return CheckpointRow(
        seq=checkpoint.seq,
        target=checkpoint.target,
        at=checkpoint.at,
        text=_text(checkpoint, workspace),
        message=checkpoint.text if checkpoint.kind == "message" else "",
        is_action=checkpoint.kind == "action",
        action_id=checkpoint.call.action_id if checkpoint.call else "",
        scope=checkpoint.scope,
        files=tuple(map(visible_path, files)),
        added=sum(added for added, _ in counts),
        removed=sum(removed for _, removed in counts),
        cost=checkpoint.cost,
    )


def _text(checkpoint: Checkpoint, workspace: str) -> str:
    if checkpoint.call is not None:
        return title_of(action_item(checkpoint.call), workspace).text
    text = first_line(checkpoint.text, _LONGEST, revealed)
    if checkpoint.kind != "branch":
        return text
    return f"back to event {checkpoint.end}: {text}" if checkpoint.end else "back to the start"


def checkpoint_row(row: CheckpointRow, width: int, now: datetime) -> Line:
    """Return one row of exactly `width` cells; actions are indented below their message."""
    head = [Piece(pad(when(row.at, now), 6, right=True), "dim"), Piece(" ")] if width >= _WITH_TIME else []
    head.append(Piece("↳ " if row.is_branch else "  · " if row.is_action else "", "dim"))
    tail: Line = []
    if width >= _WITH_LINES:
        tail += [Piece(pad(counted(len(row.files), "file") if row.files else "", 10, right=True), "dim")]
        tail += [Piece(pad(f"+{row.added}" if row.added else "", 7, right=True), "added")]
        tail += [Piece(pad(f"−{row.removed}" if row.removed else "", 7, right=True), "removed")]
    if width >= _WITH_COST:
        tail += [Piece(pad(_dollars(row.cost), 9, right=True), "dim")]
    available = width - sum(cell_len(piece.text) for piece in (*head, *tail))
    return [*head, Piece(pad(clip(row.text, available), available), "bold" if row.message else ""), *tail]


def _dollars(cost: float | None) -> str:
    if cost is None:
        return "unknown"
    return "" if not cost else f"${cost:.2f}" if cost >= 0.1 else f"${cost:.3f}"


class PreviewRow(Struct, frozen=True):
    """What a rewind would do to one file; `path` is relative to the workspace and safe to show."""

    verb: str
    path: str
    note: str = ""
    is_conflict: bool = False
    key: str = ""
    """The path as the engine knows it."""
    delta: FileDelta | None = None
    """The texts of the file, if they are known."""

    @property
    def lines(self) -> tuple[int, int]:
        """The numbers of added and removed lines."""
        if self.delta is None or self.delta.cut:
            return 0, 0
        return count_lines(self.delta.before, self.delta.after)


def preview_rows(
    rewound: Rewound, workspace: str, deltas: Sequence[FileDelta] = (), overwrites: Sequence[str] = ()
) -> list[PreviewRow]:
    """Return a row for each file that a rewind changes, and for each that it keeps: a conflict, or not in a snapshot.

    `overwrites` are the conflicting files that it overwrites instead.
    """
    by_path = {each.path: each for each in deltas}
    rows = [
        PreviewRow(
            _verb(file),
            visible_path(file.path),
            _note(file, overwrites),
            key=file.path,
            delta=by_path.get(f"{workspace}/{file.path}"),
        )
        for file in rewound.files
    ]
    rows += [PreviewRow("keep", visible_path(path), _CONFLICT, True, path) for path in rewound.conflicts]
    rows += [PreviewRow("keep", visible_path(path), _NOT_COVERED, False, path) for path in rewound.not_covered]
    return rows


def checkpoint_line(row: CheckpointRow) -> str:
    """Return a checkpoint as one line of text that begins with the number of its event."""
    files = counted(len(row.files), "file") if row.files else ""
    lines = plus_minus(row.added, row.removed) if row.added or row.removed else ""
    when = f"{row.at:%Y-%m-%d %H:%M} UTC"
    return f"{row.seq:>6}  {when}  {files:>8}  {lines:>11}  {clip(row.title, _TITLE_WIDTH)}".rstrip()


def preview_lines(rewound: Rewound, workspace: str, overwrites: Sequence[str] = ()) -> Iterator[str]:
    """Yield lines of text that say what a rewind would do to the files."""
    if rewound.scope == "conversation":
        yield "The files stay as they are."
        return
    rows = preview_rows(rewound, workspace, overwrites=overwrites)
    lines = [f"{row.verb:<7} {row.path}{f'  ({row.note})' if row.note else ''}" for row in rows]
    yield from (f"  {line}" for line in lines[:_NAMED])
    if len(lines) > _NAMED:
        yield f"  and {counted(len(lines) - _NAMED, 'more file')}"
    for copy in rewound.copies[:_NAMED]:
        yield f"To restore files that a command deleted: ohw restore {copy}"
    if not lines:
        yield "No file differs."


def _note(file: RewoundFile, overwrites: Sequence[str]) -> str:
    if file.path in overwrites:
        return "your lines are lost"
    return MERGED if file.is_merged else ""


def _verb(file: RewoundFile) -> str:
    if file.is_merged:
        return "merge"
    if not file.after:
        return "delete"
    return "write" if file.before else "create"


_VERB_STYLES: Final = {"delete": "removed", "create": "added", "keep": "dim", "merge": "accent"}


def preview_row(row: PreviewRow, width: int) -> Line:
    """Return one row of exactly `width` cells."""
    added, removed = row.lines
    tail = f"  {plus_minus(added, removed)}" if added or removed else ""
    note = f"  {row.note}" if row.note else ""
    available = max(0, width - 8 - cell_len(tail) - cell_len(note))
    path = clip(row.path, available)
    return [
        Piece(pad(row.verb, 8), _VERB_STYLES.get(row.verb, "")),
        Piece(path),
        Piece(note, "waiting" if row.is_conflict else "dim"),
        Piece(pad(tail, width - 8 - cell_len(path) - cell_len(note), right=True), "dim"),
    ]


class RewindChoice(Struct, frozen=True):
    """What the user wants to move, and the conflicting files to overwrite, relative to the workspace."""

    scope: RewindScope
    overwrites: tuple[str, ...] = ()
    is_fork: bool = False
    """Whether this session stays as it is, and a new one continues from the checkpoint."""


class RewindPreview:
    """The preview of one rewind: what the engine would do, and which conflicts the user wants to overwrite.

    `ask` asks the engine for a preview; its answer is passed to `update`.
    """

    def __init__(
        self, row: CheckpointRow, workspace: str, ask: Callable[[int, RewindScope, Sequence[str]], None]
    ) -> None:
        self.row = row
        self.workspace = workspace
        self.overwrites: list[str] = []
        self.rewound: Rewound | None = None
        self.rows: list[PreviewRow] = []
        self._ask = ask

    def ask(self) -> None:
        """Ask the engine what a rewind would do now."""
        self._ask(self.row.target, "both", tuple(self.overwrites))

    def update(self, rewound: Rewound, deltas: Sequence[FileDelta]) -> bool:
        """Store the preview that the engine has returned; return False, and ignore it, if it is of another rewind."""
        if rewound.target != self.row.target:
            return False
        self.rewound, self.rows = rewound, preview_rows(rewound, self.workspace, deltas, self.overwrites)
        return True

    def toggle(self, row: PreviewRow) -> bool:
        """Ask for a preview that overwrites a conflicting file, or keeps it again; return False for any other file."""
        if row.key in self.overwrites:
            self.overwrites.remove(row.key)
        elif row.is_conflict:
            self.overwrites.append(row.key)
        else:
            return False
        self.ask()
        return True

    def facts(self) -> Iterator[str]:
        """Yield what the user should know besides the files."""
        if self.rewound is None:
            yield "Comparing files …"
            return
        changed = counted(len(self.rewound.files), "file") if self.rewound.files else ""
        if self.row.scope == "conversation":
            yield f"Files: stay as they are; {changed} would change" if changed else "Files: stay as they are"
        else:
            yield f"Files: {changed or 'nothing'} will change"
        if self.row.message:
            yield "Conversation: your message returns to the prompt"
        for copy in self.rewound.copies:
            yield f"Files that a command deleted: ohw restore {copy}"
