"""The rule that "always" would save: itself, where it would be kept, what it would have matched. From a question."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from workbench.tui.screens.question import QuestionScreen
from workbench.tui.widgets.painting import as_content, css_beside
from workbench.tui.widgets.question_box import packed
from workbench.view.approval.questions import Scope
from workbench.view.approval.rule_trial import Trial
from workbench.view.formatting.approval import SCOPES, Hint, always_lines

_WIDEST = 96
_AROUND: Final = 6


class AlwaysScreen(QuestionScreen[Scope | None]):
    """Dismisses with the scope in which the rule is to be kept, or None."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "scope(0)", "This session", id="always.session"),
        Binding("2", "scope(1)", "This folder", id="always.folder"),
        Binding("3", "scope(2)", "Everywhere", id="always.person"),
        Binding("down", "step(1)", "Wider", show=False, id="always.wider"),
        Binding("up", "step(-1)", "Narrower", show=False, id="always.narrower"),
        Binding("y", "save", "Save the rule and approve", id="always.save"),
        Binding("escape", "back", "Back", id="always.back"),
    ]

    def __init__(self, rule: str, trial: Trial, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._rule = rule
        self._trial = trial
        self._scope = 0
        self._box = Vertical(id="box")
        self._said = Static(id="said")
        self._keys = Static(id="keys")

    def compose(self) -> ComposeResult:
        """What it says, and the keys."""
        self._box.border_title = Content.styled("Always allow?", "bold")
        with self._box:
            yield self._said
            yield self._keys

    def unanswered(self) -> None:
        """Nothing is saved."""

    def on_resize(self) -> None:
        """Take the room there is now."""
        self._show()
        self.call_after_refresh(self.tell)

    def _show(self) -> None:
        width = min(_WIDEST, self.size.width - 2)
        self._box.styles.width = width
        room = max(8, self.size.height - _AROUND)
        self._said.update(as_content(always_lines(self._rule, self._trial, self._scope, width=width - 4, room=room)))

    def on_key(self, event: events.Key) -> None:
        """A key before the quiet time is over begins it anew, and saves nothing."""
        if not self.heard(event) and event.key == "y":
            event.stop()
        self.call_after_refresh(self.tell)

    def tell(self) -> None:
        """Show the keys that work now."""
        save: Hint = ("y", "save the rule and approve") if self.is_armed else ("", "y in a moment…")
        keys = (save, ("1 2 3", "where"), ("esc", "back"))
        self._keys.update(Content("\n").join(packed(keys, self.size.width - 8)))

    def action_scope(self, scope: int) -> None:
        """Keep it there."""
        self._scope = scope
        self._show()

    def action_step(self, by: int) -> None:
        """The next wider or narrower place."""
        self.action_scope(min(max(self._scope + by, 0), len(SCOPES) - 1))

    def action_save(self) -> None:
        """Save it, and approve what was asked."""
        self.leave(SCOPES[self._scope][0])

    def action_back(self) -> None:
        """Nothing is saved."""
        self.leave(None)
