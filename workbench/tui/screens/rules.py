"""The Rules screen: each rule with the actions it matches in this session; a new rule is tried before it is saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.commands import ChangeSettings, Command
from workbench.rules.rule import Rule, RuleError, parse_rule
from workbench.rules.rule_files import add_rule, checked, drop_rule
from workbench.rules.rule_set import RuleSet
from workbench.text import counted, visible
from workbench.tui.key_names import key_of, page_hints
from workbench.tui.widgets.rule_dry_run import RuleDryRun
from workbench.tui.widgets.strips import css_beside, with_risk_color
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.approval.rule_preview import fitting
from workbench.view.formatting.actions import action_line
from workbench.view.formatting.approval import risk_badge
from workbench.view.state import ActionItem, SessionState

_COLORS: Final = {"allow": "$success", "ask": "$warning", "deny": "$error"}
_SOURCES: Final = {"session": "this session", "folder": "project rules", "person": "your rules"}
_SCOPES: Final = (
    ("session", "for this session"),
    ("folder", "for this project, in your rules"),
    ("person", "for all projects, in your rules"),
)
_NONE: Final = "There are no rules yet."
_LOW: Final = 36
"""Terminals with fewer rows show at most four rules at once while another one is tried."""
_LOWEST: Final = 24
"""Terminals with fewer rows show none then."""
_CLOSE: Final = "{rules.close=escape} Close"
_HINTS: Final = {
    "rules-list": f"↑↓ Move   Tab Try a rule   {{rules.delete=d}} Delete   {_CLOSE}",
    "rules-new": f"Enter Try   Tab Rules   {_CLOSE}",
    "rules-scopes": "↑↓ Where   Enter Save   {rules.close=escape} Back",
}
"""The keys of the screen, by the widget that has the focus."""


class RulesScreen(ModalScreen[None]):
    """Shows the rules of `rule_set` and of the session; session rules are changed by commands passed to `send`."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="rules.close"),
        Binding("d", "drop", "Delete the rule", id="rules.delete"),
    ]

    def __init__(
        self, state: SessionState, rule_set: RuleSet, send: Callable[[Command], None], locations: Locations
    ) -> None:
        super().__init__(id="rules")
        self._dry_run = RuleDryRun(locations, id="rules-dry-run")
        self._state = state
        self._rule_set = rule_set
        self._send = send
        self._rules: Sequence[Rule] = ()
        self._fits: dict[str, list[ActionItem]] = {}
        self._tried: Rule | None = None
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)
        """Confirms which rule to delete, or the saving of the tried rule."""

    def compose(self) -> ComposeResult:
        """Yield the rules, the matches of the current one, an input line to try a rule, and the scopes to save in."""
        with Vertical(id="rules-box", classes="page-box") as box:
            box.border_title = "Rules"
            yield OptionList(id="rules-list")
            yield Static(id="rules-fits")
            yield self._dry_run
            yield Static(Content("Try a rule on this session and on all others"), id="rules-dry-run-label")
            yield Input(placeholder="allow $ pytest *     deny in secrets     ask TOOL", id="rules-new")
            scopes = OptionList(*(Option(Content(f"Save it {label}")) for _, label in _SCOPES), id="rules-scopes")
            scopes.display = False
            yield scopes

    async def on_mount(self) -> None:
        """Read the rule files in a thread, then focus the rules or, if there are none, the input line."""
        await self._load()
        if not self.is_attached:
            return
        (self.query_one("#rules-list") if self._rules else self.query_one(Input)).focus()

    def on_resize(self) -> None:
        """Adapt the list and the key hints to the size."""
        self.set_class(self.size.height < _LOW, "-low")
        self._show_list()
        self._show_keys()

    def on_descendant_focus(self) -> None:
        """Show the keys of the widget that has the focus now."""
        self._show_keys()

    def _show_keys(self) -> None:
        hints = _HINTS.get((self.focused and self.focused.id) or "", _CLOSE)
        if not self._rules:
            hints = hints.replace("   Tab Rules", "")
        if self._tried is not None:
            hints = hints.replace("   {rules.delete=d} Delete", "").replace(" Close", " Back")
        self.query_one("#rules-box").border_subtitle = page_hints(self.app, hints, self.size.width)

    def _show_list(self) -> None:
        """Show the rules, if there are any and, while one is tried, the terminal has room for them."""
        is_trial = self._tried is not None
        self.set_class(is_trial, "-trial")
        is_high_enough = not is_trial or self.size.height >= _LOWEST
        self.query_one("#rules-list").display = bool(self._rules) and is_high_enough

    async def _load(self) -> None:
        self._rules = await in_daemon(lambda: self._rule_set.rules(self._state.rules))
        await self._match_rules(self._rules)
        if not self.is_attached:
            return
        rows = self.query_one("#rules-list", OptionList)
        rows.clear_options()
        rows.add_options(Option(row) for row in self._rows())
        self._show_list()
        self._show_note(_NONE if not self._rules else "", *self._rule_set.faults)
        if self._rules:
            rows.highlighted = 0
            self._show(self._rules[0])

    async def _match_rules(self, rules: Sequence[Rule]) -> None:
        for rule in rules:
            self._fits[rule.text] = await in_daemon(partial(fitting, rule, self._state))

    def _rows(self) -> Iterator[Content]:
        width = max((len(visible(rule.text, lines=False)) for rule in self._rules), default=0)
        for rule in self._rules:
            text = visible(rule.text, lines=False)
            source = _SOURCES[rule.source] + (f" in {rule.folder}" if rule.folder else "")
            verdict, rest = text[: len(rule.verdict)], text[len(rule.verdict) :]
            yield Content.assemble(
                (verdict, _COLORS[rule.verdict]),
                rest.ljust(min(width, 56) - len(verdict)),
                (f"  {_count(len(self._fits[rule.text])):<12}", ""),
                (visible(source, lines=False), "$dim"),
            )

    def _show(self, rule: Rule) -> None:
        """Show how many actions the rule matches, and the last of them."""
        matches = self._fits[rule.text]
        verb = "would have decided" if rule is self._tried else "fits"
        lines = [f"{visible(rule.text, lines=False)} {verb} {_count(len(matches))} of this session"]
        lines += [
            f"  #{action.number:<4} {risk_badge(action.risk):<9} {action_line(action, self._state.workspace)}"
            for action in matches[-(3 if rule is self._tried else 6) :]
        ]
        self._show_note(*lines, *self._rule_set.faults)

    def _show_note(self, *lines: str) -> None:
        text = Content("\n").join(with_risk_color(visible(line, lines=False)) for line in lines if line)
        self.query_one("#rules-fits", Static).update(text)

    @on(OptionList.OptionHighlighted, "#rules-list")
    def on_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the matches of the rule under the cursor, unless a rule is being tried."""
        if self._tried is None:
            self.confirmation.forget()
        if event.option_index < len(self._rules) and self._tried is None:
            self._show(self._rules[event.option_index])

    @on(Input.Submitted, "#rules-new")
    async def on_tried(self, event: Input.Submitted) -> None:
        """Show the actions that the written rule would have decided, and ask where to save it."""
        event.stop()
        try:
            rule = checked(parse_rule(event.value))
        except RuleError as error:
            self._tried = None
            self._dry_run.end()
            self._show_note(str(error))
            return
        await self._match_rules([rule])
        if not self.is_attached:
            return
        self._tried = rule
        self.confirmation.ask(rule)
        self._show(rule)
        self._dry_run.begin(rule)
        self._show_list()
        scopes = self.query_one("#rules-scopes", OptionList)
        scopes.display, scopes.highlighted = True, 0
        scopes.focus()

    @on(OptionList.OptionSelected, "#rules-scopes")
    async def on_saved(self, event: OptionList.OptionSelected) -> None:
        """Save the tried rule in the chosen scope."""
        rule, scope = self._tried, _SCOPES[event.option_index][0]
        if rule is not None and not self.confirmation.is_answered(rule):
            return
        self._end_trial()
        if rule is not None:
            await self._save(rule, scope)

    def on_key(self, event: events.Key) -> None:
        """Stop a key that was pressed before the question was visible, so that it neither deletes nor saves."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Record a click, so that one made before the question was visible does not answer it."""
        self.confirmation.hears("", time.monotonic() - event.time)

    async def _save(self, rule: Rule, scope: str) -> None:
        if scope == "session":
            self._send(ChangeSettings(rule=rule.text))
            self._state_rule(rule.text, is_there=True)
        elif await self._written(add_rule, replace(rule, folder=self._rule_set.workspace if scope == "folder" else "")):
            self.query_one(Input).value = ""
        await self._load()

    async def _written(self, change: Callable[[Path, Rule], None], rule: Rule) -> bool:
        path = self._rule_set.user_file
        try:
            if path is not None:
                await in_daemon(lambda: change(path, rule))
        except WorkbenchError as error:
            self.app.notify(visible(str(error)), severity="error", markup=False)
            return False
        return path is not None and self.is_attached

    def _state_rule(self, text: str, *, is_there: bool) -> None:
        """Update the rules in the session state at once, ahead of the engine's event."""
        others = tuple(rule for rule in self._state.rules if rule != text)
        self._state.rules = (*others, text) if is_there else others

    def _end_trial(self) -> None:
        self._tried = None
        self._dry_run.end()
        self.confirmation.forget()
        self._show_list()
        self.query_one("#rules-scopes").display = False
        self.query_one(Input).focus()

    async def action_drop(self) -> None:
        """Delete the rule under the cursor on the second press; the first one asks. No effect while a rule is tried."""
        if self._tried is not None:
            return
        at = self.query_one("#rules-list", OptionList).highlighted
        if at is None or not self._rules or not self.query_one("#rules-list").has_focus:
            return
        rule = self._rules[at]
        if rule.source == "folder":
            self._show_note(f"{rule.text} is a rule of the project; remove it from its .ohw/rules.toml")
        elif not self.confirmation.is_answered(rule):
            self.confirmation.ask(rule)
            self._show_note(f"{key_of(self.app, 'rules.delete', 'd')} again deletes: {rule.text}")
        else:
            await self._drop(rule)

    async def _drop(self, rule: Rule) -> None:
        if rule.source == "session":
            self._send(ChangeSettings(dropped_rule=rule.text))
            self._state_rule(rule.text, is_there=False)
        else:
            await self._written(drop_rule, rule)
        await self._load()

    def action_leave(self) -> None:
        """End the trial of a rule or, if there is none, close the screen."""
        if self._tried is not None:
            self._end_trial()
            return
        self.dismiss(None)


def _count(count: int) -> str:
    return "no action" if not count else counted(count, "action")
