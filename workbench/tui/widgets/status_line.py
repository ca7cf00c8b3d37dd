"""The first line of the screen: folder and branch, mode, model, how full the context is, what it cost."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from workbench.client.threads import in_daemon
from workbench.config.modes import MODE_NAMES
from workbench.config.settings import NO_MODEL
from workbench.text import visible
from workbench.tools.manifest import kind_of
from workbench.view.branch import current_branch, is_dirty
from workbench.view.formatting.rows import from_home
from workbench.view.state import ActionItem, Changed, SessionState

_GAP = 2
_NEARLY_FULL = 0.8
_PAUSE = 1.0
"""Least seconds between two looks at the tree."""


class StatusLine(Widget):
    """Repaints only when the text differs; what matters least goes first when it is narrow."""

    is_live = True
    """Whether the folder is as the session shows it; what was recorded says nothing of branches."""

    def __init__(self, state: SessionState, workspace: Path) -> None:
        super().__init__(id="status")
        self._state = state
        self._workspace = workspace
        self._branch = ""
        self._is_dirty = False
        self._has_looked = False
        self._is_looking = False
        self._look_again = False
        self._shown = Content("")

    async def on_click(self) -> None:
        """What the numbers are made of."""
        await self.run_action("screen.spending")

    def on_mount(self) -> None:
        """Read the branch once there is something to see."""
        self.show()

    def on_resize(self) -> None:
        """Fit into the new width."""
        self._fit()

    def show(self) -> None:
        """Take over what the state says now."""
        self._branch = current_branch(self._workspace) if self.is_live else ""
        self._fit()

    def _fit(self) -> None:
        branch = f"{self._branch}*" if self._branch and self._is_dirty else self._branch
        line = status_text(self._state, self._workspace, branch, max(10, self.size.width - _GAP))
        if line != self._shown:
            self._shown = line
            self.refresh()

    def take(self, changed: Changed | None) -> None:
        """Something happened; what may have changed a file has the tree looked at again."""
        self.show()
        if changed is not None and (not self._has_looked or _may_change_files(changed)):
            self._has_looked = True
            self._look_at_tree()

    def _look_at_tree(self) -> None:
        """Find out behind the screen whether the tree differs from the last commit; one look at a time."""
        if self._is_looking:
            self._look_again = True
        elif self._branch:
            self._is_looking = True
            self.run_worker(self._look(), group="tree")

    async def _look(self) -> None:
        while True:
            self._look_again = False
            self._is_dirty = await in_daemon(partial(is_dirty, self._workspace))
            self.show()
            await asyncio.sleep(_PAUSE)
            if not self._look_again:
                break
        self._is_looking = False

    def render(self) -> Content:
        """The line as it stands."""
        return self._shown


def status_text(state: SessionState, workspace: Path, branch: str, width: int) -> Content:
    """The line for so many cells: place on the left, the rest on the right."""
    right = _right(state)
    while len(right) > 1 and _joined(right).cell_length > width - 12:
        right.pop(0)
    tail = _joined(right)
    left = _left(workspace, branch, max(4, width - tail.cell_length - 2))
    return Content.assemble(left, " " * max(1, width - left.cell_length - tail.cell_length), tail)


def _may_change_files(changed: Changed) -> bool:
    return changed.changes or any(
        isinstance(item, ActionItem) and kind_of(item.tool) == "command" and item.phase in ("done", "failed")
        for item in changed.updated
    )


def _left(workspace: Path, branch: str, room: int) -> Content:
    """The folder and its branch, and as much of where it lies as has room: its end says most."""
    name = visible(workspace.name or str(workspace), lines=False)
    place = Content.assemble(
        ("ohw ", "bold $primary"), (name, "bold $foreground"), (f"  {branch}" if branch else "", "$secondary")
    )
    if place.cell_length > room:
        return place.truncate(room, ellipsis=True)
    parent = _end_of(visible(from_home(workspace.parent), lines=False), room - place.cell_length - 2)
    return Content.assemble(place, (f"  {parent}", "$dim")) if parent else place


def _end_of(path: str, room: int) -> str:
    """The last whole names of a path that fit, behind an ellipsis; nothing where not even one does."""
    parts = path.split("/")
    for first in range(len(parts)):
        shown = path if not first else "…/" + "/".join(parts[first:])
        if cell_len(shown) <= room:
            return shown
    return ""


def _right(state: SessionState) -> list[Content]:
    """The parts from the least important to the most."""
    parts = [
        Content.styled(_context(state), "$warning" if _is_nearly_full(state) else "$dim"),
        _model(state),
        Content.styled(_cost(state), "$foreground"),
        _mode(state),
    ]
    if state.scripted:
        parts[1:2] = [Content.styled("scripted model", "bold $secondary")]
    if state.unsaved:
        parts.append(Content.styled("✗ not being saved", "bold $sign-failed"))
    return [part for part in parts if part.plain]


def _mode(state: SessionState) -> Content:
    """The mode in force, and the one that the user is stepping to."""
    now = Content.styled(MODE_NAMES.get(state.mode, state.mode), "bold $accent")
    if not state.next_mode:
        return now
    return Content.assemble(now, (f" → {MODE_NAMES[state.next_mode]}?", "$warning"))


def _model(state: SessionState) -> Content:
    if state.model == NO_MODEL:
        return Content.styled("no model", "$warning")
    name = Content.styled(visible(state.model.split("/")[-1], lines=False), "$foreground")
    return Content.assemble(name, (f" @ {visible(state.address, lines=False)}", "$warning")) if state.address else name


def _joined(parts: list[Content]) -> Content:
    return Content.styled(" │ ", "$border-blurred").join(parts)


def _context(state: SessionState) -> str:
    tokens = state.input_tokens
    if tokens is None:
        return ""
    if state.window:
        return f"ctx {min(100, round(100 * tokens / state.window))} %"
    return f"ctx {tokens / 1000:.1f}k" if tokens >= 1000 else f"ctx {tokens}"


def _is_nearly_full(state: SessionState) -> bool:
    return bool(state.window and state.input_tokens and state.input_tokens > _NEARLY_FULL * state.window)


def _cost(state: SessionState) -> str:
    if state.cost is None:
        return "cost ?"
    return f"${state.cost:.2f}" if state.cost >= 1 or not state.cost else f"${state.cost:.3f}"
