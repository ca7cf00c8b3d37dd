"""Asks what to allow from now on, how broadly and where; or says why nothing can be allowed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from workbench.config.locations import Locations
from workbench.protocol.events import AlwaysChoice
from workbench.rules.rule import parse_rule
from workbench.tui.key_names import key_of
from workbench.tui.screens.question_base import QuestionScreen
from workbench.tui.widgets.dock import ReservingPanel, hint_line
from workbench.tui.widgets.rule_dry_run import RuleDryRun
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.view.approval.questions import Scope
from workbench.view.approval.rule_preview import RulePreview
from workbench.view.formatting.always import SCOPES, always_lines, reason_lines
from workbench.view.formatting.key_hints import KeyHint

_SIDES: Final = 4
_AROUND: Final = 4
"""Rows for the border, the gap and the keys."""
_LAB_ROWS: Final = 7
_TALL: Final = 30
"""On terminals with at least this many rows, all sessions are searched too."""
_MOST: Final = 9


class AlwaysAnswer(NamedTuple):
    """The rules of the chosen breadth, one line each, and where they apply."""

    rule: str
    scope: Scope


class AlwaysScreen(QuestionScreen[AlwaysAnswer | None]):
    """Offers rules from the narrowest to the broadest; dismisses with the chosen ones, or None if none is saved."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"choose({number - 1})", f"Choice {number}", show=False, id=f"always.choice-{number}")
            for number in range(1, _MOST + 1)
        ),
        Binding("down", "step(1)", "Broader", show=False, id="always.broader"),
        Binding("up", "step(-1)", "Narrower", show=False, id="always.narrower"),
        Binding("tab", "scope(1)", "Where it applies", id="always.scope"),
        Binding("right", "scope(1)", "Applies more widely", show=False, id="always.wider"),
        Binding("left", "scope(-1)", "Applies less widely", show=False, id="always.less-wide"),
        Binding("y", "save", "Save the rule and approve", id="always.save"),
        Binding("escape", "back", "Back", id="always.back"),
    ]

    def __init__(
        self,
        choices: Sequence[AlwaysChoice],
        reason: str,
        try_rule: Callable[[str], RulePreview],
        *,
        reserve_rows: Callable[[int], None] = lambda rows: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`reason` says why there are no choices; `try_rule` returns what rules, one line each, would match.

        `reserve_rows` is called with the number of rows at the bottom of the screen that the panel covers.
        """
        super().__init__(clock)
        self._choices = tuple(choices[:_MOST])
        self._reason = reason
        self._try_rule = try_rule
        self._previews: dict[int, RulePreview] = {}
        self._current = 0
        self._scope = 0
        self._box = ReservingPanel(reserve_rows, id="box")
        self._summary = Static(id="said")
        self._dry_run = RuleDryRun(Locations.from_environment(), id="dry-run")
        self._keys = Static(id="keys")

    def compose(self) -> ComposeResult:
        """Yield the text and the key hints."""
        with self._box:
            yield Static(Content.styled("Always allow", "bold"), id="title")
            yield self._summary
            yield self._dry_run
            yield self._keys

    def on_mount(self) -> None:
        """Search all sessions for the first choice."""
        super().on_mount()
        self._search()

    def no_answer(self) -> None:
        """Return None: nothing is saved."""

    def on_resize(self) -> None:
        """Adapt to the size of the screen."""
        self._show()
        self.call_after_refresh(self.show_keys)

    def _show(self) -> None:
        width = max(8, self.size.width - _SIDES)
        if not self._choices:
            self._summary.update(as_content(reason_lines(self._reason, width)))
            return
        rows = max(8, self.size.height - _AROUND - (_LAB_ROWS if self.size.height >= _TALL else 0))
        if self._current not in self._previews:
            self._previews[self._current] = self._try_rule(self._choices[self._current].text)
        preview = self._previews[self._current]
        lines = always_lines(self._choices, self._current, preview, self._scope, width=width, height=rows)
        self._summary.update(as_content(lines))

    def _search(self) -> None:
        """Try the rules of the current choice on all sessions, if there is room to show the result."""
        self._dry_run.end()
        if self._choices and self.app.size.height >= _TALL:
            self._dry_run.begin(*map(parse_rule, self._choices[self._current].rules))

    def on_key(self, event: events.Key) -> None:
        """Stop `y` during the quiet time, which every key restarts."""
        if not self.quiet.accepts(event) and event.key == "y":
            event.stop()
        self.call_after_refresh(self.show_keys)

    def show_keys(self) -> None:
        """Show the active keys."""
        keys = [KeyHint(key_of(self.app, "always.back", "escape"), "Back", 1)]
        if self._choices:
            save = KeyHint("y", "Save the rule and approve") if self.quiet.check() else KeyHint("", "y (ready in 0.5s)")
            breadth = [KeyHint("↑↓", "How broadly", 2)] if len(self._choices) > 1 else []
            keys = [save, *breadth, KeyHint(key_of(self.app, "always.scope", "tab"), "Where", 3), *keys]
        self._keys.update(hint_line(self.app, keys, self.size.width - _SIDES))

    def action_choose(self, index: int) -> None:
        """Select the choice with this index."""
        if index < len(self._choices) and index != self._current:
            self._current = index
            self.quiet.begin()  # `y` saves only a rule that has been visible for a while
            self._show()
            self._search()

    def action_step(self, by: int) -> None:
        """Select a broader or narrower choice."""
        self.action_choose(min(max(self._current + by, 0), len(self._choices) - 1))

    def action_scope(self, by: int) -> None:
        """Select the next or previous place where the rule applies; after the last comes the first."""
        self._scope = (self._scope + by) % len(SCOPES)
        self._show()

    def action_save(self) -> None:
        """Dismiss with the chosen rules: the caller saves them and approves the action."""
        if self._choices:
            self.finish(AlwaysAnswer(self._choices[self._current].text, SCOPES[self._scope][0]))

    def action_back(self) -> None:
        """Close without saving."""
        self.finish(None)
