"""The form for one provider on the first-run screen: API key, URL and model, with the outcome of the test call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from workbench.llm.key_store import Storage
from workbench.secrets.pasted_keys import split_key
from workbench.text import counted, visible
from workbench.tui.key_names import hint_content
from workbench.tui.settings.providers import Way
from workbench.tui.widgets.key_field import KeyField, StorageField
from workbench.tui.widgets.strips import entitle

_MOST_NAMES: Final = 200
_MOVED: Final = "● That looked like an API key: it is in the field for keys now, and was shown nowhere."
_KEYS: Final = "Enter Test and start   Tab Next field   {setup.close=escape} Back"
_KEYS_AFTER_FAILURE: Final = (
    "Enter Start anyway   {setup.test=ctrl+t} Test again   Tab Next field   {setup.close=escape} Back"
)


class PlainInput(Input):
    """A field whose text is shown; an API key that is pasted into it is never shown, but reported."""

    class KeyEntered(Message):
        """Posted when an API key was pasted or typed into this field; the field does not contain it."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def on_paste(self, event: events.Paste) -> None:
        """Report a pasted API key instead of inserting it."""
        key, _ = split_key(event.text)
        if key:
            event.stop()
            event.prevent_default()
            self.post_message(self.KeyEntered(key))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Remove a typed API key from the field."""
        key, rest = split_key(event.value)
        if key:
            self.value = rest
            self.post_message(self.KeyEntered(key))


class ModelInput(PlainInput):
    """The name of a model; up and down go through the names that fit what was typed."""

    BINDINGS = [  # noqa: RUF012
        Binding("down", "go(1)", "Next model", show=False, id="model-input.down"),
        Binding("up", "go(-1)", "Previous model", show=False, id="model-input.up"),
    ]

    class Went(Message):
        """Posted to go to the next or previous name."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def action_go(self, step: int) -> None:
        """Go to the next or previous name."""
        self.post_message(self.Went(step))


class ProviderForm(Vertical):
    """Edits the data of a model; `way` and `key` are the current contents of the fields."""

    class Submitted(Message):
        """Posted when the user has pressed enter in a field."""

    class Changed(Message):
        """Posted when another list of models may be available: an API key was pasted, or its field lost the focus."""

    def __init__(self) -> None:
        super().__init__(id="first-form")
        self._way = Way("")
        self._names: Sequence[str] = ()
        self._fitting: Sequence[str] = ()
        self._typed = ""
        self._asked: tuple[str, str] | None = None
        self._rejected_key: str | None = None
        """The key, possibly empty, that the note says was rejected; None if it says something else."""
        self._failed: tuple[Way, str] | None = None
        """The contents of the fields whose test failed, with which Enter starts anyway."""
        self.border_subtitle = hint_content(self.app, _KEYS)

    def compose(self) -> ComposeResult:
        """Yield the fields, the names of models, and the outcome."""
        with Horizontal(id="form-address-row", classes="form-row"):
            yield Static("URL", classes="form-label")
            yield PlainInput(placeholder="https://…/v1", select_on_focus=False, compact=True, id="form-address")
        with Horizontal(id="form-key-row", classes="form-row"):
            yield Static("API key", classes="form-label")
            yield KeyField(id="form-key")
            yield StorageField(id="form-storage")
        with Horizontal(classes="form-row"):
            yield Static("Model", classes="form-label")
            yield ModelInput(select_on_focus=False, compact=True, id="form-model")
            yield Static(id="form-count")
        names = OptionList(id="form-names")
        names.can_focus = False
        yield names
        yield Static(id="form-note")

    @property
    def way(self) -> Way:
        """The provider or server and the model that the fields describe."""
        name, url = self.query_one(ModelInput).value.strip(), self._url.value.strip()
        provider = self._way.provider
        if not provider and url:
            provider = "openai"
            name = name.removeprefix("openai/")
        model = f"{provider}/{name}" if provider else name
        has_new_key = bool(self.key)
        is_same = (model, url) == (self._way.model, self._way.api_base)
        profile = self._way.profile if is_same or self._way.profile else ""
        return replace(self._way, model=model, api_base=url, profile=profile, has_new_key=has_new_key)

    @property
    def key(self) -> str:
        """The API key that was entered; empty if there is none."""
        return self.query_one(KeyField).key if self.query_one("#form-key-row").display else ""

    @property
    def storage(self) -> Storage:
        """The place where the API key will be saved."""
        return self.query_one(StorageField).storage

    @property
    def _url(self) -> Input:
        return self.query_one("#form-address", Input)

    def show(self, way: Way, note: str = "") -> None:
        """Fill the fields from a `Way`, and focus the first one that must be completed."""
        self._way, self._asked = way, None
        self.border_title = visible(way.title or way.model, lines=False)
        is_local = bool(way.names) and not way.profile
        self.query_one("#form-key-row").display = not (is_local or way.has_sign_in)
        self.query_one("#form-address-row").display = bool(way.api_base) or way.provider in ("", "azure")
        has_key = way.is_ready and not way.names and not way.profile
        self.query_one(KeyField).start(f"{way.what} · paste another to replace it" if has_key else "type or paste it")
        self._url.value = way.api_base
        self.set_names(way.names)
        model = self.query_one(ModelInput)
        model.value = way.name
        model.placeholder = "Its name" if way.provider or way.api_base else "Its name; without a URL, provider/model"
        self.show_note(note)
        needs_key = not (way.is_ready or is_local or way.has_sign_in)
        first: Widget = self.query_one(KeyField) if needs_key or note else model
        self.screen.set_focus(self._url if not way.provider and not way.api_base else first)

    def set_names(self, names: Sequence[str], note: str = "") -> None:
        """Offer these names; an empty field gets the only one. Several are listed, to choose from."""
        self._names = names[:_MOST_NAMES]
        model = self.query_one(ModelInput)
        model.suggester = SuggestFromList(self._names, case_sensitive=False) if names else None
        if len(names) == 1 and not model.value:
            model.value = names[0]
            model.cursor_position = len(model.value)
        self.query_one("#form-count", Static).update(
            Content.styled(f"▾ {counted(len(names), 'model')}" if names else note, "$dim")
        )
        self._typed = model.value
        self._show_fitting(everything=True)

    def show_problem(self, problem: str) -> None:
        """Show what is wrong with the fields; if only a name is missing, let the user choose one of those offered."""
        if self._names and not self.way.name:
            self.screen.set_focus(self.query_one(ModelInput))
            self.show_note(f"Choose one of {counted(len(self._names), 'model')} with ↑↓, then press Enter")
        else:
            self.show_note(f"✗ {problem}")

    def show_failure(self, line: str) -> None:
        """Show that the test of the current contents failed; Enter then starts with them anyway."""
        self._failed = self.way, self.key
        self.show_note(line)
        self._show_keys()

    def _show_keys(self) -> None:
        has_failed = self._failed is not None and self._failed == (self.way, self.key)
        entitle(self, hint_content(self.app, _KEYS_AFTER_FAILURE if has_failed else _KEYS), as_subtitle=True)

    def show_note(self, line: str) -> None:
        """Show an outcome."""
        self._rejected_key = None
        style = {"✓": "$sign-ok", "✗": "$sign-failed", "●": "$sign-running"}.get(line[:1], "$dim")
        self.query_one("#form-note", Static).update(Content.styled(visible(line, lines=False), style))

    def reject_key(self, line: str) -> None:
        """Show that the API key was rejected; the next one entered replaces it."""
        field = self.query_one(KeyField)
        field.reject()
        self.query_one("#form-key-row").display = True
        self.show_note(line)
        self._rejected_key = field.key
        self.screen.set_focus(field)

    @on(PlainInput.KeyEntered)
    def on_key_entered(self, event: PlainInput.KeyEntered) -> None:
        """Move an API key from another field to its own field, and show a note about that."""
        event.stop()
        field = self.query_one(KeyField)
        self.query_one("#form-key-row").display = True
        field.action_clear()
        field.paste(event.key)
        self.screen.set_focus(field)
        self.show_note(_MOVED)

    def is_new_source(self) -> bool:
        """Return whether the API key or URL has changed since the last call, so that another list may be available."""
        now = (self.key, self._url.value.strip())
        is_new, self._asked = now != self._asked, now
        return is_new

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the names while the model is edited."""
        self._show_fitting(everything=True)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Report that a field has lost the focus."""
        if event.widget in (self._url, self.query_one(KeyField)):
            self.post_message(self.Changed())

    @on(KeyField.Changed)
    def on_key_changed(self, event: KeyField.Changed) -> None:
        """Report a pasted API key."""
        event.stop()
        self._show_keys()
        if self.key and self._rejected_key not in (None, self.key):
            self.show_note("")  # what was said about the rejected one is not about this key
        if event.is_pasted:
            self.post_message(self.Changed())

    @on(Input.Submitted)
    @on(KeyField.Submitted)
    def on_field_submitted(self, event: Message) -> None:
        """Submit the form."""
        event.stop()
        self.post_message(self.Submitted())

    @on(Input.Changed, "#form-address")
    def on_url_changed(self, event: Input.Changed) -> None:
        """Update the keys: another URL was not tested."""
        event.stop()
        self._show_keys()

    @on(Input.Changed, "#form-model")
    def on_model_changed(self, event: Input.Changed) -> None:
        """Show the names that fit."""
        event.stop()
        self._show_keys()
        at = self.query_one("#form-names", OptionList).highlighted
        if at is None or event.value != self._fitting[at]:
            self._typed = event.value
            self._show_fitting()

    @on(ModelInput.Went)
    def on_went(self, event: ModelInput.Went) -> None:
        """Put the next or previous name into the field."""
        names = self.query_one("#form-names", OptionList)
        if self._fitting:
            at = -1 if names.highlighted is None else names.highlighted
            names.highlighted = max(0, min(len(self._fitting) - 1, at + event.step))
            self._use(self._fitting[names.highlighted])

    @on(OptionList.OptionSelected)
    def on_clicked(self, event: OptionList.OptionSelected) -> None:
        """Use a clicked name."""
        event.stop()
        self._use(self._fitting[event.option_index])

    def _use(self, name: str) -> None:
        model = self.query_one(ModelInput)
        model.value = name
        model.cursor_position = len(name)

    def _show_fitting(self, everything: bool = False) -> None:
        """List the names that contain what was typed; with `everything`, all names if it is empty or one of them."""
        box, typed = self.query_one("#form-names", OptionList), self._typed.lower().strip()
        every = everything and (not typed or self._typed in self._names)
        self._fitting = [name for name in self._names if every or typed in name.lower()]
        box.clear_options()
        box.add_options([Content(visible(name, lines=False)) for name in self._fitting])
        box.highlighted = self._fitting.index(self._typed) if self._typed in self._fitting else None
        box.display = bool(self._fitting) and self.query_one(ModelInput).has_focus
