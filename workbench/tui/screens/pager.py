"""The pager: shows a long text, such as a command's output, on the whole screen and searches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.protocol.commands import Command, RestoreCopy
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.strips import css_beside
from workbench.tui.widgets.text_lines import IllustratedLines, TextLines


class PagerScreen(ModalScreen[None]):
    """Shows `text`, made safe to show; `/` searches, `n` and `N` go to matches, `q` or Escape closes."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="pager.close"),
        Binding("q", "close", "Close", show=False, id="pager.quit"),
        Binding("slash", "search", "Search", id="pager.search"),
        Binding("n", "next(1)", "Next", id="pager.next"),
        Binding("N", "next(-1)", "Previous", id="pager.previous"),
    ]

    hint_names: ClassVar[tuple[tuple[str, str], ...]] = (
        ("pager.search", "Search"),
        ("pager.next", "Next"),
        ("pager.previous", "Previous"),
        ("list.first", "Start"),
        ("list.last", "End"),
        ("pager.quit", "Close"),
    )
    """The ids of the bindings in the last line, each with its effect."""

    def __init__(
        self,
        title: Content,
        text: str,
        *,
        headings: bool = False,
        styles: Mapping[int, str] | None = None,
        words: str = "",
        lines: TextLines | None = None,
    ) -> None:
        """Search for `words` at once unless they are empty; `styles` are those of lines, by number.

        `lines` replaces the widget made from `text`.
        """
        super().__init__()
        self._words = words
        self._heading = title
        self._lines = lines or TextLines(text, headings=headings, id="pager-text")
        self._lines.styles_of_lines = styles or {}
        self._status = Static(id="pager-status")
        self._hints = KeyHints()

    def compose(self) -> ComposeResult:
        """Yield the title, the text, the search line and the status line."""
        yield Static(self._heading, id="pager-title")
        yield self._lines
        search = Input(placeholder="Search", id="pager-search", select_on_focus=False)
        search.display = False
        yield search
        with Horizontal(id="pager-footer"):
            yield self._status
            yield self._hints

    def on_mount(self) -> None:
        """Focus the text and start the initial search."""
        self._lines.focus()
        self._show_status()
        if self._words.strip():
            self.call_after_refresh(self._find, self._words)

    def replace_text(self, text: str) -> None:
        """Show another text at the same position; a search has to be repeated."""
        self._lines.replace(text)
        self._show_status()

    def action_search(self) -> None:
        """Open the search line."""
        search = self.query_one("#pager-search", Input)
        search.display = True
        search.focus()

    def action_next(self, by: int) -> None:
        """Go to the next or previous match."""
        self._lines.go_to_match(by)
        self._show_status()

    def action_close(self) -> None:
        """Close the pager."""
        self.dismiss(None)

    def action_leave(self) -> None:
        """Close the search line or, if it is not focused, the pager."""
        search = self.query_one("#pager-search", Input)
        if search.has_focus:
            search.display = False
            self._lines.focus()
            return
        self.dismiss(None)

    def on_descendant_focus(self) -> None:
        """Show the keys of the widget that has the focus now."""
        self._show_status()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for the text of the line and go back to the text."""
        event.stop()
        self._find(event.value)
        self.query_one("#pager-search", Input).display = False
        self._lines.focus()

    def _find(self, words: str) -> None:
        self._lines.search(words)
        self._show_status()

    def _show_status(self) -> None:
        self._status.update(Content(self._lines.position()))
        keys = bound_keys(self)
        if self.query_one("#pager-search", Input).has_focus:
            self._hints.show([("Enter", "Search"), (keys.get("pager.close", "Esc"), "Cancel")])
        else:
            self._hints.show([(keys[name], label) for name, label in self.hint_names if name in keys])


class ActionPage(PagerScreen):
    """The details of an action; `b` restores its undo copy, if it has one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("b", "restore", "Restore the copy", id="action.restore")]
    hint_names = (("action.restore", "Restore the copy"), *PagerScreen.hint_names)

    def __init__(
        self,
        title: Content,
        text: str,
        copy_id: str,
        send: Callable[[Command], None],
        *,
        words: str = "",
        pictures: Mapping[int, str] | None = None,
        styles: Mapping[int, str] | None = None,
    ) -> None:
        """`pictures` holds base64 images by the number of the line above each; `words` are searched for at once."""
        lines = IllustratedLines(text, pictures, headings=True, id="pager-text") if pictures else None
        super().__init__(title, text, headings=True, styles=styles, words=words, lines=lines)
        self._copy_id = copy_id
        self._send = send

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable `restore` if the action has no undo copy."""
        return bool(self._copy_id) if action == "restore" else True

    def action_restore(self) -> None:
        """Ask the engine to restore the undo copy, and close; the conversation shows the result."""
        self._send(RestoreCopy(copy_id=self._copy_id))
        self.dismiss(None)
