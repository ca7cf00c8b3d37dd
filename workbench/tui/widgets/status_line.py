"""The first line of the screen: folder and branch, mode, model, how full the context is, what it cost."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from workbench.text import visible
from workbench.tui.branch import current_branch
from workbench.tui.notices import MODE_NAMES
from workbench.tui.state import SessionState

_GAP = 2


class StatusLine(Widget):
    """Repaints only when the text differs; what matters least goes first when it is narrow."""

    def __init__(self, state: SessionState, workspace: Path) -> None:
        super().__init__(id="status")
        self._state = state
        self._workspace = workspace
        self._branch = ""
        self._shown = Content("")

    def on_mount(self) -> None:
        """Read the branch once there is something to see."""
        self.show()

    def on_resize(self) -> None:
        """Fit into the new width."""
        self.show()

    def show(self) -> None:
        """Take over what the state says now."""
        self._branch = current_branch(self._workspace)
        line = status_text(self._state, self._workspace, self._branch, max(10, self.size.width - _GAP))
        if line != self._shown:
            self._shown = line
            self.refresh()

    def render(self) -> Content:
        """The line as it stands."""
        return self._shown


def status_text(state: SessionState, workspace: Path, branch: str, width: int) -> Content:
    """The line for so many cells: place on the left, the rest on the right."""
    right = _right(state)
    while len(right) > 1 and _joined(right).cell_length > width - 12:
        right.pop(0)
    tail = _joined(right)
    left = _left(workspace, branch)
    room = max(4, width - tail.cell_length - 2)
    if left.cell_length > room:
        left = left.truncate(room, ellipsis=True)
    return Content.assemble(left, " " * max(1, width - left.cell_length - tail.cell_length), tail)


def _left(workspace: Path, branch: str) -> Content:
    name = visible(workspace.name or str(workspace), lines=False)
    place = Content.assemble((name, "bold $foreground"))
    parent = visible(_short(workspace.parent), lines=False)
    return Content.assemble(
        ("ohw ", "bold $primary"),
        place,
        (f"  {branch}" if branch else "", "$secondary"),
        (f"  {parent}", "$dim"),
    )


def _right(state: SessionState) -> list[Content]:
    """The parts from the least important to the most."""
    parts = [
        Content.styled(_context(state), "$dim"),
        Content.styled(visible(state.model.split("/")[-1], lines=False), "$foreground"),
        Content.styled(_cost(state), "$foreground"),
        Content.styled(MODE_NAMES.get(state.mode, state.mode), "bold $accent"),
    ]
    if state.scripted:
        parts[1:2] = [Content.styled("scripted model", "bold $secondary")]
    return [part for part in parts if part.plain]


def _joined(parts: list[Content]) -> Content:
    return Content.styled(" │ ", "$border-blurred").join(parts)


def _context(state: SessionState) -> str:
    tokens = state.input_tokens
    if tokens is None:
        return ""
    return f"ctx {tokens / 1000:.1f}k" if tokens >= 1000 else f"ctx {tokens}"


def _cost(state: SessionState) -> str:
    if state.cost is None:
        return "cost ?"
    return f"${state.cost:.2f}" if state.cost >= 1 or not state.cost else f"${state.cost:.3f}"


def _short(path: Path) -> str:
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)
