"""What the app does on a key or a command wherever one is: help, palette, models, themes, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.widgets import Input, TextArea

from workbench.errors import WorkbenchError
from workbench.protocol.commands import ChangeSettings, Condense
from workbench.text import visible
from workbench.tui.app_sessions import AppSessions
from workbench.tui.mistakes import Mistakes
from workbench.tui.opening import (
    open_first_run,
    open_help,
    open_models,
    open_palette,
    open_rules,
    open_servers,
    open_settings,
    open_tools,
)
from workbench.tui.theming import choose_theme

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.palette.entries import Entry
    from workbench.tui.settings.book import SettingsBook
    from workbench.tui.settings.providers import Way


class AppKeys(AppSessions):
    """The part of the app that opens screens; `WorkbenchApp` is the whole."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help", id="help", priority=True),
        Binding("question_mark", "help(True)", "Help", id="help-sign", priority=True, show=False),
        Binding("f9", "demo", "Start the demo", id="demo", priority=True, show=False),
        Binding("ctrl+o", "sessions", "Sessions", id="sessions", priority=True, show=False),
        Binding("f10", "mistakes", "Mistakes in settings and themes", id="mistakes", priority=True, show=False),
        Binding("ctrl+p", "palette", "Palette", id="palette", priority=True, show=False),
    ]
    ENABLE_COMMAND_PALETTE = False  # ours takes its place

    keymap: Mapping[str, str]
    """Binding id -> keys, of the person's own; what is wrong among them is taken out."""
    settings_file: Path | None
    book: SettingsBook | None = None
    mistakes: Mistakes
    ways: Callable[[], Sequence[Way]] | None = None

    def action_help(self, by_sign: bool = False) -> None:
        """Keys of where we are, and the guides; `by_sign` where it was asked for by a sign that could be written."""
        open_help(self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A question mark asks for help where it is not written, nor meant for the prompt behind a question."""
        if action != "help" or not parameters:
            return super().check_action(action, parameters)
        return not isinstance(self.focused, Input | TextArea) and not hasattr(self.screen, "takes_words")

    def action_palette(self) -> None:
        """Everything there is to do, found by a few letters."""
        below = self.screen

        async def chosen(entry: Entry | None) -> None:
            if entry is not None:
                await self.run_action(entry.action, entry.node or below)

        open_palette(cast("WorkbenchApp", self), chosen)

    async def action_model(self, name: str = "") -> None:
        """Another model from here on: by its name, or chosen from a list; without a session yet, one begins on it."""
        if not name:
            open_models(self, self.settings, self.state.model, self.action_model)
        elif self.opened.link is not None:
            self.opened.link.send(ChangeSettings(model=name))
        elif self.start is not None:
            start = self.start
            await self.show(lambda: start(name))

    def action_change_theme(self, name: str = "") -> None:
        """Other colours: by name, or tried in a list."""
        choose_theme(self, name, self._keep_theme)

    def _keep_theme(self, name: str | None) -> None:
        if name is not None and self.book is not None:
            self.theme = name
            try:
                self.book.write({("theme",): name})
            except WorkbenchError as error:
                self.notify(visible(str(error)), severity="error", markup=False)
            else:
                self.notify(visible(f"{name} is kept in your settings"), markup=False)

    def action_setup(self) -> None:
        """Choose a model to begin with: found, tested, kept."""
        if self.ways is not None:
            open_first_run(self, self.ways, self._begin_on)

    async def _begin_on(self, way: Way | None) -> None:
        """A session on what was chosen; it is kept for the next time where that is possible."""
        from workbench.tui.screens.first_run import DEMO

        start = self.start
        if way is None or self.book is None or start is None:
            return
        if way is DEMO:
            await self.action_demo(anywhere=True)
            return
        name, problem = self.book.save_model(way)
        if problem:
            self.notify(visible(f"it is not kept: {problem}"), severity="warning", markup=False)
        await self.show(lambda: start(name))

    def action_mistakes(self) -> None:
        """What is wrong in settings, keys and themes."""
        self.mistakes.open()

    def action_rules(self) -> None:
        """The rules, and what they fit in this session."""
        open_rules(self, self.state, self.opened.workspace, self.settings.trusted, self.opened.link)

    def action_servers(self) -> None:
        """The MCP servers, their tools and logs."""
        open_servers(self, self.settings, self.opened.workspace)

    def action_tools(self) -> None:
        """The tools the agent has."""
        open_tools(self, self.state, self.opened.workspace)

    def action_settings(self) -> None:
        """Every setting, to be looked at and changed."""
        if self.book is not None:
            open_settings(self, self.book)

    def action_compact(self, *, undo: bool = False) -> None:
        """Have the history condensed, or the last condensing taken back."""
        if self.opened.link is not None:
            self.opened.link.send(Condense(undo=undo))

    def action_compact_undo(self) -> None:
        """Have the model get the history whole again."""
        self.action_compact(undo=True)
