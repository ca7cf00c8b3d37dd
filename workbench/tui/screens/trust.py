"""The trust screen: asks before the tools, rules and sub-agents of a directory take effect."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.text import visible_path
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.screens.question_base import QuestionScreen
from workbench.tui.widgets.dock import SIDES, DockedPanel, show_hints
from workbench.tui.widgets.strips import css_beside, update_content
from workbench.view.approval.trust import TrustQuestion, brings, contents, started_by

_MOST: Final = 8
_GAP: Final = 2
_QUIET: Final = "Enter (ready in 0.5s)"
_TYPED: Final = "Your text is in the prompt"
_KEYS_AFTER_TEXT: Final = "↑↓ Choose an answer   {trust.no=escape} No"
_MOVES: Final = frozenset({"up", "down", "home", "end", "pageup", "pagedown"})
_CHOICES: Final = (
    "No: ignore them in this session",
    "Review them first",
    "Yes: trust exactly this version",
)


class TrustScreen(QuestionScreen[bool]):
    """Asks whether to trust a directory, and dismisses with the answer; text typed meanwhile goes to the prompt.

    Enter and clicks answer only after the quiet time of a question. After text, which goes to the prompt, Enter was
    meant to send it, so it answers only once a row was chosen.
    """

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "refuse", "No, not now", id="trust.no")]

    def __init__(
        self, question: TrustQuestion, typed: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`typed` is called with text that was meant for the prompt."""
        super().__init__(clock)
        self.id = "trust"
        self._question = question
        self._typed = typed
        self._has_typed = False
        """Whether text went to the prompt since a row was chosen."""

    def compose(self) -> ComposeResult:
        """Yield the summary of the directory's files and the three answers."""
        with DockedPanel(id="trust-box"):
            yield Static(Content.styled("Trust this directory?", "bold"), id="title")
            yield Static(self._summary(), id="trust-text")
            yield OptionList(*(Option(Content(choice)) for choice in _CHOICES), id="trust-choices")
            yield Static(id="keys")

    def on_mount(self) -> None:
        """Focus the answers with the cursor on "no"."""
        super().on_mount()
        choices = self.query_one(OptionList)
        choices.focus()
        choices.highlighted = 0

    def on_resize(self) -> None:
        """Fit the list of files and the keys to the width."""
        update_content(self.query_one("#trust-text", Static), self._summary())
        self.show_keys()

    def show_keys(self) -> None:
        """Show the active keys."""
        keys = "↑↓ Move   Enter Choose   {trust.no=escape} No"
        is_armed = self.quiet.check()
        if self._has_typed:
            show_hints(self, _KEYS_AFTER_TEXT, _TYPED)
        else:
            show_hints(self, *((keys,) if is_armed else ("", _QUIET)))

    def no_answer(self) -> bool:
        """Return False: the directory is not trusted."""
        return False

    def on_key(self, event: events.Key) -> None:
        """Pass letters to the prompt, which restarts the quiet time, and stop an Enter that comes too early."""
        may_answer = self.quiet.accepts(event)
        if event.is_printable and event.character:
            event.stop()
            self._pass_on(event.character)
        elif event.key == "enter" and (self._has_typed or not may_answer):
            event.stop()
        elif event.key in _MOVES:
            self._has_typed = False
        self.show_keys()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Record a click, to which the same quiet time applies as to a key."""
        self.quiet.accepts(event)

    def on_paste(self, event: events.Paste) -> None:
        """Pass pasted text to the prompt."""
        event.stop()
        self._pass_on(event.text)

    def _pass_on(self, text: str) -> None:
        self._typed(text)
        self._has_typed = True
        self.quiet.restart()
        self.show_keys()

    @on(OptionList.OptionSelected)
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """Show the files, or dismiss with the chosen answer unless it came too early."""
        if not self.is_current:
            return  # a second enter, after the one that answered
        if chosen.option_index == 1:
            self._read()
        elif self.quiet.arming.is_over:
            self.finish(chosen.option_index == 2)

    def action_refuse(self) -> None:
        """Answer no."""
        self.finish(False)

    def _read(self) -> None:
        title = Content(f"What {visible_path(str(self._question.directory))} contains")
        self.app.push_screen(PagerScreen(title, contents(self._question)))

    def _summary(self) -> Content:
        directory = self._question.directory
        names = self._question.names
        labels = {name: visible_path(name) for name in names[:_MOST]}
        kinds = {name: self._question.kind_of(name) for name in labels}
        column = max(map(cell_len, labels.values()), default=0)
        free = self.app.size.width - SIDES - column - 2 * _GAP
        is_beside = all(cell_len(kind) <= free for kind in kinds.values())
        rows = []
        for name, label in labels.items():
            gap = " " * (column - cell_len(label) + _GAP) if is_beside else f"\n{' ' * 2 * _GAP}"
            rows.append(Content.assemble(" " * _GAP, (label, "bold"), gap, (kinds[name], "$dim")))
            rows += [Content.styled(f"    {line}", "$warning") for line in started_by(self._question, name)]
        if len(names) > _MOST:
            rows.append(Content.styled(f"  and {len(names) - _MOST} more", "$dim"))
        return Content("\n").join(
            [
                Content.assemble(
                    (visible_path(str(directory)), "bold $primary"), f" contains {brings(self._question)}:"
                ),
                Content(""),
                *rows,
                Content(""),
                Content("Nothing has run. Nothing takes effect unless you say yes."),
                Content.styled("Trust covers exactly this version; changes ask again.", "$dim"),
            ]
        )
