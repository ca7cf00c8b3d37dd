"""The dialog of `/model`: a filter, the saved models, and what providers and local servers list; `Ctrl+T` tests one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.engine.model_test import ModelTest
from workbench.text import counted, visible
from workbench.tui.settings.model_offers import SAVED, ModelOffer, as_typed, matching
from workbench.tui.settings.providers import Way
from workbench.tui.widgets.dock import DockedPanel, show_hints
from workbench.tui.widgets.strips import css_beside

_HINT: Final = "Filter, or provider/model"
_LISTING: Final = "● Asking providers and local servers for their models …"
_NONE: Final = "No API key and no local server found: /setup adds one."
_LEGEND: Final = "Context window · US dollars per million tokens in / out"
_NO_MATCH: Final = "No match. provider/model uses any other model."


class ModelChoice(ModalScreen[ModelOffer | None]):
    """Lists models; dismisses with the chosen one, or None."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Keep the model", id="models.close"),
        Binding("ctrl+t", "test", "Make one test call", id="models.test"),
        Binding("down", "move(1)", "Next model", id="models.next", show=False),
        Binding("up", "move(-1)", "Previous model", id="models.previous", show=False),
        Binding("pagedown", "move(10)", "Ten on", id="models.page-down", show=False),
        Binding("pageup", "move(-10)", "Ten back", id="models.page-up", show=False),
    ]

    def __init__(
        self,
        saved: Sequence[ModelOffer],
        current: str,
        find_ways: Callable[[], Sequence[Way]] | None,
        list_models: Callable[[Way], Sequence[ModelOffer]],
        title: str = "Switch model",
    ) -> None:
        """`current` is the session's model; `find_ways` and `list_models` are called in threads, the first unless None.

        Models that are listed are shown in the order of the ways, below the `saved` ones.
        """
        super().__init__(id="model-choice")
        self._saved = list(saved)
        self._current = current
        self._find_ways = find_ways
        self._list_models = list_models
        self._title = title
        self._listed: dict[Way, Sequence[ModelOffer]] = {}
        self._rows: list[ModelOffer | None] = []
        """The offer of each row; None for a heading."""
        self._test: ModelTest | None = None

    def compose(self) -> ComposeResult:
        """Yield the filter, the list of models and the note."""
        with DockedPanel(id="models-box"):
            yield Static(Content.styled(self._title, "bold"), id="title")
            yield Input(placeholder=_HINT, id="models-filter", compact=True)
            rows = OptionList(id="models-list")
            rows.can_focus = False
            yield rows
            yield Static(id="models-note")
            yield Static(id="keys")

    def on_mount(self) -> None:
        """Show the saved models with the cursor on the current one, and ask for the others in threads."""
        self.query_one(Input).focus()
        self._show(self._current)
        self._show_note(_LISTING if self._find_ways is not None else "")
        if self._find_ways is not None:
            self.run_worker(self._find(self._find_ways))

    def on_resize(self) -> None:
        """Show the keys that fit."""
        show_hints(self, "Enter Use   {models.test=ctrl+t} Test   {models.close=escape} Keep the model")

    async def _find(self, find_ways: Callable[[], Sequence[Way]]) -> None:
        ways = await in_daemon(lambda: [way for way in find_ways() if way.is_ready])
        self._listed = dict.fromkeys(ways, ())
        for way in ways:
            self.run_worker(self._list(way))
        if not ways:
            self._show_note("" if self._saved else _NONE)

    async def _list(self, way: Way) -> None:
        """Add the models that a provider or server lists; the cursor stays on its model."""
        offers = await in_daemon(lambda: self._list_models(way))
        if not self.is_attached:
            return
        self._listed[way] = offers or [ModelOffer("")]
        chosen = self._chosen
        self._show(chosen.name if chosen else "")
        if all(self._listed.values()) and self._test is None:
            self._show_note(_LEGEND if any(offer.about for offer in self._offers if offer.group != SAVED) else "")

    @property
    def _offers(self) -> list[ModelOffer]:
        saved = {"", *(offer.name for offer in self._saved)}
        return [*self._saved, *(each for offers in self._listed.values() for each in offers if each.name not in saved)]

    @property
    def _chosen(self) -> ModelOffer | None:
        at = self.query_one(OptionList).highlighted
        return None if at is None else self._rows[at]

    @on(Input.Changed)
    def on_typed(self) -> None:
        """Show the models that match the filter."""
        chosen = self._chosen
        self._show(chosen.name if chosen else "")

    @on(Input.Submitted)
    def on_submitted(self) -> None:
        """Dismiss with the model under the cursor."""
        if self._chosen is not None and self.is_current:
            self.dismiss(self._chosen)

    @on(OptionList.OptionSelected)
    def on_clicked(self, chosen: OptionList.OptionSelected) -> None:
        """Dismiss with the model that was clicked."""
        self.dismiss(self._rows[chosen.option_index])

    def action_move(self, by: int) -> None:
        """Move the cursor by some models; stop at the first or last one."""
        at = self.query_one(OptionList).highlighted
        models = [number for number, offer in enumerate(self._rows) if offer is not None]
        if at is not None:
            self._highlight(models[max(0, min(models.index(at) + by, len(models) - 1))])

    def action_test(self) -> None:
        """Make a test call to the model under the cursor, and show the result below the list."""
        if self._chosen is not None:
            self._stop()
            self._test = ModelTest(self._chosen.name, self._chosen.way.api_base if self._chosen.way else "")
            self._show_note(f"● Testing {self._chosen.name} …")
            self.run_worker(self._show_outcome(self._test), exclusive=True, group="test")

    async def _show_outcome(self, test: ModelTest) -> None:
        outcome = await in_daemon(test.result)
        if self.is_attached:
            self._show_note(f"{'✓' if outcome.works else '✗'} {outcome.line}")

    def _show_note(self, line: str) -> None:
        note = self.query_one("#models-note", Static)
        note.display = bool(line)
        note.update(Content(visible(line, lines=False)))

    def on_unmount(self) -> None:
        """Stop the running test call, if any."""
        self._stop()

    def _stop(self) -> None:
        if self._test is not None:
            self._test.stop()

    def _show(self, name: str) -> None:
        """Fill the list with the models that match the filter, with the cursor on `name` or else on the first."""
        query, offers = self.query_one(Input).value, self._offers
        matches, typed = matching(offers, query), as_typed(query, offers)
        lines = list(_grouped([*matches, *([typed] if typed else [])], self._current))
        self._rows = [offer for offer, _ in lines]
        box = self.query_one(OptionList)
        box.clear_options()
        box.add_options(Option(line, disabled=offer is None) for offer, line in lines)
        models = [number for number, offer in enumerate(self._rows) if offer is not None]
        at = next((number for number in models if getattr(self._rows[number], "name", "") == name), None)
        self._highlight(at if at is not None else next(iter(models), None))
        if not models and query:
            self._show_note(_NO_MATCH)

    def _highlight(self, at: int | None) -> None:
        self.query_one(OptionList).highlighted = at


def _grouped(offers: Sequence[ModelOffer], current: str) -> Iterator[tuple[ModelOffer | None, Content]]:
    """Yield a row for each offer, and before each group its heading without an offer."""
    width = min(48, max((cell_len(visible(offer.name, lines=False)) for offer in offers), default=0))
    group = ""
    for offer in offers:
        if offer.group != group:
            group = offer.group
            count = sum(each.group == group for each in offers)
            yield None, Content.styled(visible(f"{group} · {counted(count, 'model')}", lines=False), "$dim")
        is_current = offer.name == current
        name = visible(offer.name, lines=False)
        yield (
            offer,
            Content.assemble(
                ("● " if is_current else "  ", "$primary"),
                (name + " " * max(0, width - cell_len(name)), "bold" if is_current else ""),
                (visible(f"  {offer.about}" if offer.about else "", lines=False), "$dim"),
                ("  now" if is_current else "", "$primary"),
            ),
        )
