"""The first line of the screen: directory and branch, context use, model, cost and approval mode."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from workbench.client.threads import in_daemon
from workbench.config.modes import MODE_NAMES
from workbench.config.settings import NO_MODEL
from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible, visible_path
from workbench.tools.manifest import kind_of
from workbench.tui.messages import StateChanged
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.git_branch import current_branch, is_dirty
from workbench.view.state import ActionItem, Changed, SessionState

_GAP = 2
_LONGEST_IMAGE = 20
_NEARLY_FULL = 0.8
_NOT_SAVED = "✗ not saved"
_NOT_SAVED_STYLE = "bold $sign-failed"
_REMOTE = lazy_pattern(r"/ssh:(.+?):([/~].*)")
"""Matches the path of a directory on another machine."""
_PAUSE = 1.0
"""Minimum seconds between two checks of the working tree."""


class StatusLine(Widget):
    """The status line; it repaints only if its text has changed, and a narrow screen drops the least important parts
    first.
    """

    is_live = True
    """Whether to show the directory's branch; False for a recording, which does not contain it."""

    def __init__(self, state: SessionState, workspace: Path) -> None:
        super().__init__(id="status")
        self._template = ""
        self._state = state
        self._workspace = workspace
        self._branch = ""
        self._is_dirty = False
        self._has_checked = False
        self._is_checking = False
        self._check_again = False
        self._line = Content("")

    async def on_click(self) -> None:
        """Show the details of cost and context."""
        await self.run_action("app.page('usage')")

    def on_mount(self) -> None:
        """Read the user's template and the branch."""
        terminal = getattr(self.app, "terminal", None)
        self._template = terminal.settings.status_line if terminal is not None else ""
        self.show()

    def on_resize(self) -> None:
        """Fit the line to the new width."""
        self._fit()

    def show(self) -> None:
        """Show the current state and branch."""
        self._branch = current_branch(self._workspace) if self.is_live else ""
        self._fit()

    def _fit(self) -> None:
        branch = f"{self._branch}*" if self._branch and self._is_dirty else self._branch
        width = max(10, self.size.width - _GAP)
        if self._template:
            line = filled_template(self._template, self._state, self._workspace, branch, width)
        else:
            line = status_text(self._state, self._workspace, branch, width)
        if line != self._line:
            self._line = line
            self.refresh()

    def update(self, changed: Changed | None) -> None:
        """Show the state after a change; check the working tree again if the change may have modified a file.

        A page above the main screen may show the same figures.
        """
        self.show()
        if changed is not None and self.app.screen is not self.screen:
            self.app.screen.post_message(StateChanged())
        if changed is not None and (not self._has_checked or _may_change_files(changed)):
            self._has_checked = True
            self._start_check()

    def _start_check(self) -> None:
        """Check in a thread whether the working tree differs from the last commit; one check runs at a time."""
        if self._is_checking:
            self._check_again = True
        elif self._branch:
            self._is_checking = True
            self.run_worker(self._check(), group="tree")

    async def _check(self) -> None:
        while True:
            self._check_again = False
            self._is_dirty = await in_daemon(partial(is_dirty, self._workspace))
            self.show()
            await asyncio.sleep(_PAUSE)
            if not self._check_again:
                break
        self._is_checking = False

    def render(self) -> Content:
        """Return the line."""
        return self._line


def filled_template(template: str, state: SessionState, workspace: Path, branch: str, width: int) -> Content:
    """Return the line from the user's template, cut to `width` cells, and the alerts."""
    fields = {
        "directory": Content(visible_path(from_home(workspace))),
        "branch": Content.styled(branch, "$secondary"),
        "context": Content.styled(_context(state), "$warning" if _is_nearly_full(state) else "$dim"),
        "model": _model(state),
        "cost": Content.styled(_cost(state), "$dim"),
        "sandbox": _sandbox(state),
        "mode": _mode(state),
    }
    parts = re.split(r"\{(\w+)\}", template)
    line = Content.assemble(*(fields[part] if at % 2 else Content(part) for at, part in enumerate(parts)))
    alerts = Content.assemble(*(Content.assemble("  ", alert) for alert in _alerts(state)))
    return Content.assemble(line.truncate(max(1, width - alerts.cell_length), ellipsis=True), alerts)


def status_text(state: SessionState, workspace: Path, branch: str, width: int) -> Content:
    """Return the line for `width` cells: the directory on the left, the rest on the right."""
    parts = _session_parts(state)
    while len(parts) > 1 and _joined(parts).cell_length > width - 12:
        parts.pop(0)
    tail = _joined(parts)
    start = _directory_part(workspace, branch, max(4, width - tail.cell_length - 2))
    return Content.assemble(start, " " * max(1, width - start.cell_length - tail.cell_length), tail)


def _may_change_files(changed: Changed) -> bool:
    return changed.changes or any(
        isinstance(item, ActionItem) and kind_of(item.tool) == "command" and item.phase in ("done", "failed")
        for item in changed.updated
    )


def _directory_part(workspace: Path, branch: str, width: int) -> Content:
    """Return the machine, if it is another one, the directory or as much of the end of its path as fits, and the
    branch.
    """
    path = visible_path(from_home(workspace))
    match = _REMOTE.fullmatch(path)
    machine, path = match.groups() if match else ("", path)
    start = Content.assemble(("ohw  ", "bold $primary"), (f"{machine}  " if machine else "", "bold $secondary"))
    end = Content.styled(f"  {branch}" if branch else "", "$secondary")
    path = _end_of(path, width - start.cell_length - end.cell_length)
    return Content.assemble(start, (path, "$foreground"), end).truncate(width, ellipsis=True)


def _end_of(path: str, width: int) -> str:
    """Return as many whole names of the end of a path as fit, after an ellipsis; at least the last one."""
    parts = path.split("/")
    for first in range(len(parts)):
        shortened = path if not first else "…/" + "/".join(parts[first:])
        if cell_len(shortened) <= width:
            return shortened
    return parts[-1]


def _session_parts(state: SessionState) -> list[Content]:
    """Return the parts in ascending order of importance."""
    parts = [
        Content.styled(_context(state), "$warning" if _is_nearly_full(state) else "$dim"),
        _model(state),
        Content.styled(_cost(state), "$dim"),
        _sandbox(state),
        _mode(state),
    ]
    if state.scripted:
        parts[1:2] = [Content.styled("scripted model", "bold $secondary")]
    return [part for part in (*parts, *_alerts(state)) if part.plain]


def _alerts(state: SessionState) -> list[Content]:
    """Return what must never be dropped: that another screen controls the session, or that it is not saved."""
    read_only = [] if state.has_control else [Content.styled("read-only", "bold $warning")]
    return [*read_only, *([Content.styled(_NOT_SAVED, _NOT_SAVED_STYLE)] if state.unsaved else [])]


def _sandbox(state: SessionState) -> Content:
    """Return what commands are confined to; empty while that is not known."""
    if state.container:
        return _container(state)
    if state.sandbox in ("off", "partial"):
        label = "no sandbox" if state.sandbox == "off" else "partial sandbox"
        return Content.styled(label, "bold $warning" if state.mode == "never" else "$dim")
    label = {"workspace-write": "sandbox", "read-only": "read-only sandbox"}.get(state.sandbox, "")
    return Content.styled(label, "$dim")


def _container(state: SessionState) -> Content:
    """Return the container in which commands run, and whether it is up."""
    name = state.container.rstrip("/").rpartition("/")[2]  # the whole name is on the page
    image = visible(name if len(name) <= _LONGEST_IMAGE else f"…{name[-_LONGEST_IMAGE:]}", lines=False)
    if state.container_phase == "failed":
        return Content.styled("no container", "bold $warning")
    return Content.styled(f"container {image}{' starting' if state.container_phase == 'starting' else ''}", "$dim")


def _mode(state: SessionState) -> Content:
    """Return the current mode, and the mode that the user is switching to, if any."""
    now = Content.styled(MODE_NAMES.get(state.mode, state.mode), "bold $warning" if state.mode == "never" else "")
    if not state.next_mode:
        return now
    return Content.assemble(now, (f" → {MODE_NAMES[state.next_mode]}?", "$warning"))


def _model(state: SessionState) -> Content:
    if state.model == NO_MODEL:
        return Content.styled("no model", "$warning")
    asked, color = (state.fallback_model, "$warning") if state.fallback_model else (state.model, "$dim")
    name = Content.styled(visible(asked.split("/")[-1], lines=False), color)
    return (
        Content.assemble(name, (f" @ {visible(state.model_url, lines=False)}", "$warning")) if state.model_url else name
    )


def _joined(parts: list[Content]) -> Content:
    return Content.styled(" │ ", "$border-blurred").join(parts)


def _context(state: SessionState) -> str:
    tokens = state.input_tokens
    if tokens is None:
        return ""
    if state.window:
        return f"{min(100, round(100 * tokens / state.window))}% of {_thousands(state.window)}"
    return f"{_thousands(tokens)} tokens"


def _thousands(tokens: int) -> str:
    """Return a number of tokens, from 1000 up like `9.5k`, `200k` or `1M`."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 1_000_000:
        return f"{tokens / 1000:.1f}k" if tokens < 10_000 and tokens % 1000 else f"{round(tokens / 1000)}k"
    return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"


def _is_nearly_full(state: SessionState) -> bool:
    return bool(state.window and state.input_tokens and state.input_tokens > _NEARLY_FULL * state.window)


def _cost(state: SessionState) -> str:
    if state.cost is None:
        return "price unknown"
    return f"${state.cost:.2f}" if state.cost >= 0.1 or not state.cost else f"${state.cost:.3f}"
