"""Opens the screens that lie over the main one: a whole output, a diff, the help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.content import Content

from workbench.config import Settings
from workbench.text import visible
from workbench.tui.fold.state import FileState, SessionState


def open_action(app: App[Any], state: SessionState, action_id: str) -> None:
    """Everything known about an action, in a pager that searches."""
    from workbench.tui.screens.pager import PagerScreen
    from workbench.tui.wording.detail import detail_text, detail_title

    item = state.actions.get(action_id)
    if item is not None:
        title = Content(visible(detail_title(item), lines=False))
        app.push_screen(PagerScreen(title, detail_text(item, state.workspace), headings=True))


def open_diff(app: App[Any], state: SessionState, workspace: Path, chosen: str | None = None) -> bool:
    """The diff viewer on everything that changed; False when there is nothing to show."""
    from workbench.tui.screens.diff_viewer import DiffViewerScreen

    files = list(state.changes.values())
    if files:
        app.push_screen(DiffViewerScreen(files, state.workspace or str(workspace), chosen=chosen))
    return bool(files)


def open_action_diff(app: App[Any], state: SessionState, action_id: str) -> bool:
    """The diff viewer on what one action changed, or would change; False when that is nothing."""
    item = state.actions.get(action_id)
    deltas = (item.files or item.preview) if item is not None else ()
    if deltas:
        from workbench.tui.screens.diff_viewer import DiffViewerScreen

        files = [FileState(delta.path, delta.before, delta.after) for delta in deltas]
        app.push_screen(DiffViewerScreen(files, state.workspace))
    return bool(deltas)


def open_help(app: App[Any]) -> None:
    """Keys of the focused panel and the guides; not twice."""
    from workbench.tui.screens.help import HelpScreen

    if not isinstance(app.screen, HelpScreen):
        app.push_screen(HelpScreen(app.screen))


def open_models(app: App[Any], settings: Settings, current: str, use: Callable[[str], Awaitable[None]]) -> None:
    """The profiles of the settings, to change to another one; not twice."""
    from workbench.tui.screens.model_choice import ModelChoice

    async def chosen(name: str | None) -> None:
        if name and name != current:
            await use(name)

    if not isinstance(app.screen, ModelChoice):
        profiles = [settings.profile(name) for name in settings.models]
        app.push_screen(ModelChoice(profiles, current), chosen)
