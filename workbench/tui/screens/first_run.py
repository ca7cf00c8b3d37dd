"""The first-run screen: offers models, the forms that test a model with a call, and the demo."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.engine.model_test import ModelTest, ModelTestOutcome
from workbench.errors import WorkbenchError
from workbench.llm.device_sign_in import needs_sign_in
from workbench.llm.key_store import Storage
from workbench.secrets.system_keyring import keyring_is_usable
from workbench.text import visible
from workbench.tui.key_names import hint_content
from workbench.tui.open_screens import open_device_sign_in
from workbench.tui.screens.form_early_input import FormEarlyInput
from workbench.tui.screens.provider_form import ProviderForm
from workbench.tui.settings.providers import OTHER, OpenForm, Way, is_offered_first, models_of, wrong_way
from workbench.tui.widgets.key_field import KeyField, StorageField
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.wrapping import pad

_KEYS = "↑↓ Move   Enter Choose   {setup.rescan=ctrl+r} Rescan   {setup.close=escape} Not now   {help=f1} Help"


class ModelTests:
    """Makes test calls, one at a time; `outcomes` holds the result for each tested model and key."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[Way, str], ModelTestOutcome] = {}
        self._test: ModelTest | None = None

    async def run(self, way: Way, key: str) -> ModelTestOutcome | None:
        """Make a test call to a model and return the result, or None if the call was stopped or followed by another."""
        self.stop()
        name, api_base = (way.profile, "") if way.profile and not key else (way.model, way.api_base)
        test = self._test = ModelTest(name, api_base, key)
        outcome = await in_daemon(test.result)
        if self._test is not test:
            return None
        self.outcomes[way, key] = outcome
        return outcome

    def stop(self) -> None:
        """Stop the running call, if any."""
        test, self._test = self._test, None
        if test is not None:
            test.stop()


DEMO: Final = Way("scripted/demo", "no key needed", title="Demo")
"""The result of the screen if the user chooses the demo."""
_INTRO: Final = "Welcome to ohw. Connect a model:"
_INTRO_IN_SESSION: Final = "The model of this session needs another API key:"
_SEARCHING: Final = "● Looking for API keys and local servers …"
_NOTHING: Final = (
    "No API keys in the environment and no local server (Ollama, LM Studio, vLLM) found. Paste a key, start a server "
    "and rescan, or run the demo."
)
_POLL: Final = 0.05
"""Seconds between two checks of whether the quiet time is over."""
_MOVES: Final = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})
_MORE: Final = Way("", title="More providers…")
_WIDEST_TITLE: Final = 34


class WayList(OptionList):
    """The ways to a model, with the cursor on the first, or on the one that the user has moved it to."""

    def __init__(self) -> None:
        super().__init__(id="first-rows")
        self.ways: Sequence[Way] = ()
        self._has_moved = False

    def on_key(self, event: events.Key) -> None:
        """Note that the user moves the cursor."""
        self._has_moved |= event.key in _MOVES

    def show(self, ways: Sequence[Way]) -> None:
        """Replace the rows, of which there is at least one."""
        number = self.highlighted or 0
        current = self.ways[number] if self._has_moved and number < len(self.ways) else None
        self.ways = ways
        self.set_options(_options(ways))
        self.highlighted = ways.index(current) if current in ways else min(number, len(ways) - 1)


class FirstRunScreen(ModalScreen[Way | None]):
    """Offers models; dismisses with the chosen `Way` after its API key was saved, with `DEMO`, or with None."""

    AUTO_FOCUS = ""
    takes_words = True
    """Letters belong to the fields: none of them is a key of the app."""
    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back, or not now", id="setup.close"),
        Binding("ctrl+t", "test", "Make the test call again", id="setup.test"),
        Binding("ctrl+r", "rescan", "Look for keys and servers again", id="setup.rescan"),
    ]

    def __init__(
        self,
        find_ways: Callable[[], Sequence[Way]],
        save_key: Callable[[Way, str, Storage], None],
        form: OpenForm | None = None,
    ) -> None:
        """`find_ways` and `save_key` are called in threads; `form` is open at once."""
        super().__init__(id="first-run")
        self._find_ways, self._save_key = find_ways, save_key
        self._opened = form
        self._early = FormEarlyInput(form.typed if form else None, lambda: self.dismiss(None), self._end_early_input)
        self._ways: Sequence[Way] = ()
        self._list = WayList()
        self._has_more = True
        self._model_tests = ModelTests()
        self._is_listing = self._waits_for_list = False
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)

    def compose(self) -> ComposeResult:
        """Yield the list of ways to set up a model, the form for one of them, and the key hints."""
        with Vertical(id="first-page"):
            yield Static(
                Content.styled(_INTRO if self._opened is None else _INTRO_IN_SESSION, "bold"), id="first-intro"
            )
            yield self._list
            yield ProviderForm()
            yield Static(id="first-note")
        yield Static(hint_content(self.app, _KEYS), id="first-keys")

    @property
    def _form(self) -> ProviderForm:
        return self.query_one(ProviderForm)

    @property
    def _is_editing(self) -> bool:
        return self.has_class("-form")

    def on_mount(self) -> None:
        """Start looking for models, and for a keyring, in threads."""
        self._fill()
        self.set_focus(self._list)
        self._wait()
        self.run_worker(self._find())
        self.run_worker(self._offer_keyring())
        if self._opened is not None:
            self._open(self._opened.way, _rejected(self._opened.error))
            if self._early.is_awaited:
                self.set_focus(None)  # until the quiet time is over, letters belong to the prompt
                self._quiet = self.set_interval(_POLL, self._end_early_input)

    def on_unmount(self) -> None:
        """Stop the running test call, if any."""
        self._model_tests.stop()

    def _end_early_input(self, key: str = "") -> None:
        """Focus the field for the key once the form has been in sight for the quiet time, and fill in an early key."""
        if not self._early.is_awaited or self.confirmation.is_armed:
            self._early.end()
            self._quiet.stop()
            if self._is_editing and self.focused is None:
                self.set_focus(self._form.query_one(KeyField))
        if key:
            self._form.query_one(KeyField).paste(key)

    def on_key(self, event: events.Key) -> None:
        """Choose a row by its number; stop an Enter that comes too soon after the screen has changed."""
        if self._early.is_awaited:
            self._early.key(event)
            return
        is_heard = self.confirmation.hears(event.key, time.monotonic() - event.time)
        number = int(event.key) if event.key.isdecimal() and len(event.key) == 1 else 0
        if event.key == "enter" and not is_heard and not (self._is_editing and self._form.key):
            event.stop()
        elif not self._is_editing and 0 < number <= len(self._list.ways):
            event.stop()
            if is_heard or self._list.ways[number - 1] is not DEMO:  # a form does nothing by itself
                self._choose(number - 1)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Record a click, to which the same quiet time applies as to a key."""
        self.confirmation.hears("", time.monotonic() - event.time)

    def on_paste(self, event: events.Paste) -> None:
        """Paste an API key into the form of the provider under the cursor, if it needs one."""
        event.stop()
        if self._early.is_awaited:
            self._early.paste(event.text)
            return
        at = self._list.highlighted
        way = self._list.ways[at] if at is not None and at < len(self._list.ways) else DEMO
        if not self._is_editing and way.provider and way not in (DEMO, _MORE) and not way.is_ready:
            self._open(way)
            self._form.query_one(KeyField).paste(event.text)

    async def _offer_keyring(self) -> None:
        if await in_daemon(keyring_is_usable) and self.is_attached:
            self.query_one(StorageField).offer_keyring()

    async def _find(self) -> None:
        self._show_note(_SEARCHING)
        ways = await in_daemon(lambda: list(self._find_ways()))
        if self.is_attached:
            self._ways = ways
            self._fill()
            self._show_note("" if any(way.is_ready for way in ways) else _NOTHING)

    def _fill(self, has_more: bool | None = None) -> None:
        self._has_more = self._has_more if has_more is None else has_more
        self.set_class(not self._has_more, "-all")
        offered = [way for way in self._ways if is_offered_first(way) or not self._has_more]
        self._list.show([*offered, *[_MORE] * (len(offered) < len(self._ways)), OTHER, DEMO])
        if self._is_editing and self._opened:
            self._list.highlighted = None

    @on(OptionList.OptionSelected, "#first-rows")
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """Open the form for the chosen row, or run another choice, such as the demo."""
        if self.is_current and self.confirmation.is_answered(self):
            self._choose(chosen.option_index)

    def _choose(self, number: int) -> None:
        way = self._list.ways[number]
        self._list.highlighted = number
        if way is DEMO:
            self.dismiss(DEMO)
        elif way is _MORE:
            self._fill(has_more=False)
        else:
            self._open(way)

    def _open(self, way: Way, note: str = "") -> None:
        self.add_class("-form")
        self._list.disabled = True
        self._form.show(way, note)
        if note:
            self._form.reject_key(note)
        self._wait()
        self.on_changed()

    @on(ProviderForm.Changed)
    def on_changed(self) -> None:
        """Ask the provider or server for its models, if the API key or the URL has changed."""
        way, key = self._form.way, self._form.key
        if self._form.is_new_source() and not way.names and (way.provider or way.api_base):
            self._is_listing, self._waits_for_list = True, False
            self.run_worker(self._list_models(way, key), group="models", exclusive=True)

    async def _list_models(self, way: Way, key: str) -> None:
        models = await in_daemon(lambda: models_of(way, key))
        if not self.is_attached:
            return
        form, now, self._is_listing = self._form, self._form.way, False
        is_current = (way.provider, way.api_base, key) == (now.provider, now.api_base, form.key)
        if is_current:
            form.set_names(models.names)
        if is_current and models.is_rejected and key:
            form.reject_key(_rejected(f"HTTP {models.status}"))
        elif self._waits_for_list:
            self.on_submitted()

    @on(ProviderForm.Submitted)
    def on_submitted(self) -> None:
        """Test the model, or use it as it is if it has been tested."""
        way, key = self._form.way, self._form.key
        if not (key or self.confirmation.is_answered(self)):
            return
        outcome = self._model_tests.outcomes.get((way, key))
        if not way.name:  # a key that was typed, not pasted, was not used to list the models yet
            self.on_changed()
        if self._is_listing and not way.name:
            self._waits_for_list = True
            self._form.show_note("● Asking for the models …")
        elif wrong := wrong_way(way):
            self._form.show_problem(wrong)
        elif outcome is not None and not outcome.rejects_key:
            self.run_worker(self._use(way, key), exclusive=True)
        else:
            self._form.show_note(f"● Testing {way.model} …")
            self.run_worker(self._test(way, key), exclusive=True)

    def action_test(self) -> None:
        """Make another test call to the model in the form."""
        if self._is_editing:
            self._model_tests.outcomes.pop((self._form.way, self._form.key), None)
            self.on_submitted()

    def action_rescan(self) -> None:
        """Look for API keys and local servers again."""
        if not self._is_editing:
            self.run_worker(self._find(), exclusive=True)

    def action_leave(self) -> None:
        """Close the form if it is open, else the list of all providers if it is, else the screen."""
        if not self._is_editing and self._has_more:
            self.dismiss(None)
        if not self._is_editing:
            return self._fill(has_more=True)
        self._early.end()
        self._model_tests.stop()
        self.remove_class("-form")
        self._list.disabled = False
        self.set_focus(self._list)
        self._wait()

    async def _test(self, way: Way, key: str) -> None:
        if not await _is_signed_in(self.app, way, key):
            return self._form.show_note("✗ Not signed in")
        outcome = await self._model_tests.run(way, key)
        if outcome is None or not self.is_attached:
            return
        self._wait()
        if outcome.works:
            self._form.show_note(f"✓ {outcome.line}")
            await self._use(way, key)
        elif outcome.rejects_key:
            self._form.reject_key(_rejected(outcome.line))
        else:
            self._form.show_failure(f"✗ {outcome.line}")

    async def _use(self, way: Way, key: str) -> None:
        """Save the key and dismiss with the way; show what is wrong if the key cannot be saved."""
        storage = self._form.storage
        try:
            if key:
                await in_daemon(lambda: self._save_key(way, key, storage))
        except WorkbenchError as error:
            self._form.show_note(f"✗ The key is not saved: {error}")
        else:
            if self.is_attached:
                self.dismiss(way)

    def _show_note(self, line: str) -> None:
        self.query_one("#first-note", Static).update(_note(line))

    def _wait(self) -> None:
        """Begin the quiet time, during which no choice is accepted."""
        self.confirmation.ask(self)


async def _is_signed_in(app: App[Any], way: Way, key: str) -> bool:
    """Let the user sign in if the model needs it; return False if they cancel."""
    if key or not way.has_sign_in or not needs_sign_in(way.model):
        return True
    answer: asyncio.Future[bool] = asyncio.Future()

    def done(is_signed_in: bool | None) -> None:
        if not answer.done():
            answer.set_result(bool(is_signed_in))

    open_device_sign_in(app, way.model, done)
    return await answer


def _note(line: str) -> Content:
    return Content.styled(line, "$sign-running" if line.startswith("●") else "$dim")


def _rejected(line: str) -> str:
    """Return what is wrong with a key, given the line of a test call."""
    status = re.search(r"HTTP (\d{3})", line)
    if status is None:
        return "✗ No key. Paste one"
    return f"✗ {status[1]}: this key was rejected. Paste another one, or Tab to change it."


def _options(rows: Sequence[Way]) -> Iterator[Option]:
    width = min(_WIDEST_TITLE, max(len(way.title) for way in rows))
    widest = max(len(way.what) for way in rows)
    for number, way in enumerate(rows, 1):
        yield Option(
            Content.assemble(
                (f" {number if number < 10 else ' '} ", "$primary"),
                (pad(visible(way.title, lines=False), width), "bold"),
                (f"  {pad(visible(way.what, lines=False), min(widest, 44))}", "$dim"),
                ("  ✓ ready" if way.is_ready else "", "$sign-ok"),
            )
        )
