"""Small apps around the diff view and the screens of a question, so that they can be tried without the main screen."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from workbench.diff.hunks import FileDiff
from workbench.tui.messages import BehindScrolled
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.themes import variable_defaults
from workbench.tui.widgets.diff_view import DiffView
from workbench.view.approval.questions import Decision


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class DiffApp(App[None]):
    """One diff view over the whole screen."""

    def __init__(self, files: list[FileDiff], *, wrapped: bool = False) -> None:
        super().__init__()
        self._view = DiffView(files, wrapped=wrapped)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(True)

    def compose(self) -> ComposeResult:
        yield self._view


class ScreenApp(App[None]):
    """Pushes one screen and records the result it was dismissed with."""

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__()
        self.pushed = screen
        self.results: list[object] = []
        self.behind: list[int] = []
        self.typed: list[str] = []
        self.help: Screen[None] = Screen()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(True)

    def on_mount(self) -> None:
        self.push_screen(self.pushed, self.results.append)

    def action_help(self) -> None:
        self.push_screen(self.help)

    def on_behind_scrolled(self, scrolled: BehindScrolled) -> None:
        self.behind.append(scrolled.lines)


def painted(widget: Widget) -> str:
    """Return what a line-API widget shows, as text."""
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


def question(app: ScreenApp) -> ApprovalScreen:
    """Return the question that the app shows."""
    assert isinstance(app.pushed, ApprovalScreen)
    return app.pushed


__all__ = ["Clock", "Decision", "DiffApp", "ScreenApp", "painted", "question"]
