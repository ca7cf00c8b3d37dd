"""A small app around the panels, so that they can be tried without the main screen."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from workbench.tui.messages import ActionChosen, EarlierRequested, FileChosen, RowRequested, TextChosen
from workbench.tui.open_screens import open_text
from workbench.tui.textual_seam.screen import LowLatencyScreen
from workbench.tui.themes import builtin_directory, load_themes, variable_defaults
from workbench.tui.widgets.changes_panel import ChangesPanel
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.task_panel import TaskPanel
from workbench.tui.widgets.timeline import Timeline
from workbench.view.reducer import Changed, apply
from workbench.view.state import SessionState


class PanelApp(App[None]):
    """Conversation on the left, the other panels on the right."""

    CSS = """
    #side { width: 45%; }
    Timeline { height: 1fr; border: round $panel; }
    TaskPanel { height: 6; border: round $panel; }
    ChangesPanel { height: 5; border: round $panel; }
    """

    def __init__(self, state: SessionState | None = None, *, dark: bool = True) -> None:
        super().__init__()
        self.state = state or SessionState()
        self.dark = dark
        self.chosen: list[str] = []

    def get_default_screen(self) -> LowLatencyScreen:
        return LowLatencyScreen(id="_default")  # like the main screen

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(getattr(self, "dark", True))

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Conversation()
            with Vertical(id="side"):
                yield Timeline()
                yield TaskPanel()
                yield ChangesPanel()

    def on_earlier_requested(self, message: EarlierRequested) -> None:
        message.then()  # the whole session has been read

    def on_mount(self) -> None:
        for theme in load_themes(builtin_directory()).usable:
            self.register_theme(theme)
        self.theme = "ohw-dark" if self.dark else "ohw-light"
        self.show(None)

    def show(self, changed: Changed | None) -> None:
        self.query_one(Conversation).show(self.state, changed)
        self.query_one(Timeline).show(self.state, changed)
        self.query_one(TaskPanel).show(self.state, changed)
        self.query_one(ChangesPanel).show(self.state, changed)

    def take(self, *events: object) -> None:
        """Apply a batch of events, then repaint once, as the main screen does."""
        changed = Changed()
        for event in events:
            changed.merge(apply(self.state, event))  # type: ignore[arg-type]
        self.show(changed)

    def on_action_chosen(self, message: ActionChosen) -> None:
        self._note(message, message.action_id)

    def on_row_requested(self, message: RowRequested) -> None:
        self._note(message, f"row {getattr(message.item, 'action_id', '')}")

    def on_file_chosen(self, message: FileChosen) -> None:
        self._note(message, message.path)

    def on_text_chosen(self, message: TextChosen) -> None:
        open_text(self, message.title, message.text)

    def _note(self, message: Message, what: str) -> None:
        message.stop()
        self.chosen.append(what)


def screen_lines(app: PanelApp) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]
