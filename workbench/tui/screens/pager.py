"""A whole text over the whole screen, with search: outputs, arguments, thoughts. Opened from cards and the timeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.protocol.commands import Command, RestoreCopy
from workbench.tui.widgets.painting import css_beside
from workbench.tui.widgets.text_lines import IllustratedLines, TextLines


class PagerScreen(ModalScreen[None]):
    """Shows `text`, safe whatever it holds; `/` searches, `n` and `N` go on, `q` or Escape closes."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="pager.close"),
        Binding("q", "close", "Close", show=False, id="pager.quit"),
        Binding("slash", "search", "Search", id="pager.search"),
        Binding("n", "next(1)", "Next", id="pager.next"),
        Binding("N", "next(-1)", "Previous", id="pager.previous"),
    ]

    own_keys = ""
    """What is said of keys beside those of every pager."""

    def __init__(
        self, title: Content, text: str, *, headings: bool = False, words: str = "", lines: TextLines | None = None
    ) -> None:
        """`words` are searched at once; `lines` show the text where plain ones will not do."""
        super().__init__()
        self._words = words
        self._heading = title
        self._lines = lines or TextLines(text, headings=headings, id="pager-text")
        self._status = Static(id="pager-status")

    def compose(self) -> ComposeResult:
        """Title, text, and a line for the search."""
        yield Static(self._heading, id="pager-title")
        yield self._lines
        search = Input(placeholder="search", id="pager-search", select_on_focus=False)
        search.display = False
        yield search
        yield self._status

    def on_mount(self) -> None:
        """The text has the keys."""
        self._lines.focus()
        self._say()
        if self._words.strip():
            self.call_after_refresh(self._find, self._words)

    def action_search(self) -> None:
        """Ask for what to search."""
        search = self.query_one("#pager-search", Input)
        search.display = True
        search.focus()

    def action_next(self, by: int) -> None:
        """The next or previous place that matches."""
        self._lines.go_to_match(by)
        self._say()

    def action_close(self) -> None:
        """Back to where one came from."""
        self.dismiss(None)

    def action_leave(self) -> None:
        """Escape leaves the search first, then the pager."""
        search = self.query_one("#pager-search", Input)
        if search.has_focus:
            search.display = False
            self._lines.focus()
            return
        self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search and show the first match from here on."""
        event.stop()
        self._find(event.value)
        self.query_one("#pager-search", Input).display = False
        self._lines.focus()

    def _find(self, words: str) -> None:
        self._lines.search(words)
        self._say()

    def _say(self) -> None:
        keys = f"{self.own_keys}/ search · n N next, previous · home end page up, down · q close"
        self._status.update(Content.assemble((f"{self._lines.position()}   ", "$dim"), (keys, "$dim")))


class ActionPage(PagerScreen):
    """Opened from cards and the timeline; `b` brings the copy back, where there is one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("b", "restore", "Bring the copy back", id="action.restore")]

    def __init__(
        self,
        title: Content,
        text: str,
        copy_id: str,
        send: Callable[[Command], None],
        *,
        words: str = "",
        pictures: Mapping[int, str] | None = None,
    ) -> None:
        """`pictures` (base64) stand below the lines of these numbers."""
        lines = IllustratedLines(text, pictures, headings=True, id="pager-text") if pictures else None
        super().__init__(title, text, headings=True, words=words, lines=lines)
        self._copy_id = copy_id
        self._send = send
        self.own_keys = "b bring the copy back · " if copy_id else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The key is there only where there is a copy."""
        return bool(self._copy_id) if action == "restore" else True

    def action_restore(self) -> None:
        """Have the engine bring the copy back; what came of it is said in the conversation."""
        self._send(RestoreCopy(copy_id=self._copy_id))
        self.dismiss(None)
