"""The changes list: files that differ from how they were when the session began."""

from __future__ import annotations

from workbench.tui.fold.changed import Changed
from workbench.tui.fold.state import FileState, SessionState
from workbench.tui.messages import FileChosen
from workbench.tui.widgets.line_list import LineList
from workbench.tui.wording.pieces import Line, Piece, spread
from workbench.tui.wording.summaries import plus_minus, short_path

_EMPTY = "No file changed yet"


class ChangesPanel(LineList):
    """One row a file: M, A or D, path, lines added and removed; enter opens its diff."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._files: list[FileState] = []
        self._workspace = ""

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show the files again when one changed."""
        if changed is not None and not changed.changes:
            return
        self._files = list(state.changes.values())
        self._workspace = state.workspace
        self.set_count(max(1, len(self._files)))
        self.forget()

    @staticmethod
    def title_counts(state: SessionState) -> str:
        """For the panel's border: `1 file +3 −1`."""
        files = state.changes.values()
        if not files:
            return ""
        counts = plus_minus(sum(file.added for file in files), sum(file.removed for file in files))
        return f"{len(files)} file{'s' if len(files) > 1 else ''} {counts}"

    def line(self, index: int, width: int) -> Line:
        """The row of a file."""
        if index >= len(self._files):
            return [Piece(_EMPTY, "dim")]
        return file_line(self._files[index], self._workspace, width)

    def choose(self, index: int) -> None:
        """Open the diff of a file."""
        if index < len(self._files):
            self.post_message(FileChosen(self._files[index].path))


def file_line(file: FileState, workspace: str, width: int) -> Line:
    """Sign, path and counts of one file; what other programs changed is said."""
    sign, style = _sign(file)
    left = [Piece(f"{sign} ", style), Piece(short_path(file.path, workspace))]
    if file.by_others:
        left.append(Piece("  not by the agent alone", "dim"))
    right = []
    if file.added:
        right.append(Piece(f"+{file.added} ", "added"))
    if file.removed:
        right.append(Piece(f"−{file.removed} ", "removed"))
    return spread(left, right, width)


def _sign(file: FileState) -> tuple[str, str]:
    if file.before is None:
        return "A", "ok"
    return ("D", "failed") if file.after is None else ("M", "waiting")
