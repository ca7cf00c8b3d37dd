"""The first-run screen: choose one of the models found, which is tested with a call and saved, or start the demo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
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
from workbench.engine.model_test import ModelTest, ModelTestOutcome
from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.tui.settings.providers import Way, read_way, wrong_way
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.wrapping import pad


class ModelTests:
    """Makes test calls; `outcomes` holds the result for each tested model."""

    def __init__(self) -> None:
        self.outcomes: dict[Way, ModelTestOutcome] = {}
        self._test: ModelTest | None = None

    async def ask(self, way: Way) -> ModelTestOutcome | None:
        """Make a test call to a model and return the result, or None if the call was stopped or followed by another."""
        self.stop()
        test = self._test = ModelTest(way.profile or way.model, way.api_base)
        outcome = await in_daemon(test.result)
        if self._test is not test:
            return None
        self.outcomes[way] = outcome
        return outcome

    def stop(self) -> None:
        """Stop the running call, if any."""
        test, self._test = self._test, None
        if test is not None:
            test.stop()


DEMO: Final = Way("scripted/demo")
"""The result with which the screen is dismissed for the demo."""
_INTRO: Final = "No model configured. Pick one to test it; if it works it is saved to your settings."
_NOTHING: Final = (
    "Nothing found: no API key in the environment, no server on the default ports of Ollama, LM Studio and "
    "vLLM. Start one and look again, set a variable such as ANTHROPIC_API_KEY before you start ohw, or name a model."
)
_OTHERS: Final = (
    ("name", "Another model", "by name and URL"),
    ("again", "Look again", "for keys and servers"),
    ("demo", "The demo", "a scripted agent fixes a small project"),
)
_LINE: Final = "provider/model, then optionally a space and the server's URL"


class FirstRunScreen(ModalScreen[Way | None]):
    """Dismisses with the chosen model, with `DEMO`, or with None; letters go to the prompt below."""

    takes_words = True
    """Letters go to the prompt: none of them is a key of the app."""
    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Not now", id="setup.close"),
        Binding("ctrl+t", "test", "Make the test call again", id="setup.test"),
    ]

    def __init__(self, find_ways: Callable[[], Sequence[Way]], typed: Callable[[str], None]) -> None:
        """`find_ways` is called in a thread to find models; `typed` is called with text for the prompt."""
        super().__init__(id="first-run")
        self._find_ways = find_ways
        self._typed = typed
        self._ways: Sequence[Way] = ()
        self._model_tests = ModelTests()
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)

    def compose(self) -> ComposeResult:
        """Yield the introduction, the models and other choices, a line for a name, and the result of the test call."""
        with Vertical(id="first-box") as box:
            box.border_title = "Welcome to ohw"
            close, again = key_of(self.app, "setup.close", "escape"), key_of(self.app, "setup.test", "ctrl+t")
            box.border_subtitle = (
                f"↑↓ enter · {again} tests again · {close} not now · {key_of(self.app, 'help', 'f1')} help"
            )
            yield Static(Content(_INTRO), id="first-intro")
            yield OptionList(id="first-rows")
            line = Input(placeholder=_LINE, select_on_focus=False, id="first-line")
            line.display = False
            yield line
            yield Static(id="first-note")

    def on_mount(self) -> None:
        """Start looking for models in a thread."""
        self._wait()
        self._fill()
        self.set_focus(self.query_one(OptionList))
        self.run_worker(self._find())

    def on_unmount(self) -> None:
        """Stop the running test call, if any."""
        self._model_tests.stop()

    def on_key(self, event: events.Key) -> None:
        """Pass letters to the prompt, and stop an enter that comes too soon after them."""
        if event.is_printable and event.character:
            if not isinstance(self.focused, Input):
                event.stop()
                self._wait()
                self._typed(event.character)
        elif not self.confirmation.hears(event.key, time.monotonic() - event.time) and event.key == "enter":
            event.stop()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Record a click, to which the same quiet time applies as to a key."""
        self.confirmation.hears("", time.monotonic() - event.time)

    def on_paste(self, event: events.Paste) -> None:
        """Pass pasted text to the prompt."""
        event.stop()
        self._typed(event.text)

    async def _find(self) -> None:
        self._show_note("● Looking for API keys and local servers …")
        ways = await in_daemon(lambda: list(self._find_ways()))
        if self.is_attached:
            self._ways = ways
            self._fill()
            if not ways:
                self._show_note(_NOTHING)
                self.query_one(OptionList).action_last()  # the demo, which needs no model
            else:
                self._show_note("")

    def _fill(self) -> None:
        rows = self.query_one(OptionList)
        before = rows.highlighted
        rows.clear_options()
        rows.add_options(_options(self._ways))
        rows.highlighted = before if before and before < rows.option_count and not self._ways else 0

    @on(OptionList.OptionSelected)
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """Test the chosen model, or use it if it has been tested; or run one of the other choices."""
        name = chosen.option.id or ""
        if not self.is_current or not self.confirmation.is_answered(self):
            return
        if name == "demo":
            self.dismiss(DEMO)
        elif name == "again":
            self.run_worker(self._find(), exclusive=True)
        elif name == "name":
            self._write("")
        elif not self._ways[int(name)].is_named:
            self._write(self._ways[int(name)].provider)
        else:
            self._choose(self._ways[int(name)])

    @on(OptionList.OptionHighlighted)
    def on_looked_at(self, looked: OptionList.OptionHighlighted) -> None:
        """Show the result of the test call to the model under the cursor, if there was one."""
        name = looked.option.id or ""
        if name.isdecimal() and self._ways[int(name)] in self._model_tests.outcomes:
            self._show_outcome(self._ways[int(name)])

    @on(Input.Submitted)
    def on_named(self, event: Input.Submitted) -> None:
        """Test or use the model named in the line, or show what is wrong with the name."""
        way = read_way(event.value)
        if wrong := wrong_way(way):
            self._show_note(f"✗ {wrong}")
        else:
            self._choose(way)

    def action_leave(self) -> None:
        """Close the input line if it is open, else the screen."""
        line = self.query_one(Input)
        if line.display:
            line.display = False
            self._model_tests.stop()
            self._show_note("")
            self.set_focus(self.query_one(OptionList))
        else:
            self.dismiss(None)

    def action_test(self) -> None:
        """Make another test call to the model in the line or under the cursor."""
        way = self._under_cursor()
        if way is not None and not wrong_way(way):
            self._model_tests.outcomes.pop(way, None)
            self._choose(way)

    def _under_cursor(self) -> Way | None:
        line, at = self.query_one(Input), self.query_one(OptionList).highlighted
        if line.display:
            return read_way(line.value)
        return self._ways[at] if at is not None and at < len(self._ways) else None

    def _write(self, begin: str) -> None:
        line = self.query_one(Input)
        line.value, line.display = begin, True
        line.cursor_position = len(begin)
        self.set_focus(line)
        self._show_note("Enter test · Esc back")

    def _choose(self, way: Way) -> None:
        """Dismiss with the model if it has been tested; otherwise test it."""
        if way in self._model_tests.outcomes:
            self.dismiss(way)
            return
        self._show_note(f"● {way.model}: testing one call …")
        self.run_worker(self._ask(way), exclusive=True)

    async def _ask(self, way: Way) -> None:
        if await self._model_tests.ask(way) is not None and self.is_attached:
            self._wait()
            self._show_outcome(way)

    def _show_outcome(self, way: Way) -> None:
        outcome = self._model_tests.outcomes[way]
        begin = "Enter starts with it and saves it to your settings"
        more = begin if outcome.works else f"{begin} anyway"
        self._show_note(f"{'✓' if outcome.works else '✗'} {outcome.line}", more)

    def _show_note(self, line: str, more: str = "") -> None:
        style = {"✓": "$sign-ok", "✗": "$sign-failed", "●": "$sign-running"}.get(line[:1], "$dim")
        parts = [Content.styled(visible(line, lines=False), style)] + ([Content(more)] if more else [])
        self.query_one("#first-note", Static).update(Content("\n").join(parts))

    def _wait(self) -> None:
        """Begin the quiet time, during which no choice is accepted."""
        self.confirmation.ask(self)


def _options(ways: Sequence[Way]) -> Iterator[Option]:
    width = min(44, max((len(way.model) for way in ways), default=14))
    for number, way in enumerate(ways):
        yield Option(_row(way.model, way.what, width), id=str(number))
    for name, title, words in _OTHERS:
        yield Option(_row(title, words, width), id=name)


def _row(name: str, words: str, width: int) -> Content:
    return Content.assemble(
        (pad(visible(name, lines=False), width), "bold"), (f"  {visible(words, lines=False)}", "$dim")
    )
