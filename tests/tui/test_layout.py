"""Growing widgets get the space they need, whatever else changes at the same moment."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from workbench.tui.textual_seam.layout import SingleLayoutPass
from workbench.tui.textual_seam.screen import LowLatencyScreen


class Stream(Vertical, SingleLayoutPass):
    """A container laid out like messages and the texts within them."""

    DEFAULT_CSS = "Stream { layout: stream; height: auto; }"


class Text(Static, SingleLayoutPass):
    """The widget that grows."""


class Talk(LowLatencyScreen):
    """A text within two containers, and lines beside it."""

    CSS = "#all { layout: stream; height: 1fr; } Static { height: auto; }"

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="all"):
            yield Static(Content("before"), id="before")
            with Stream(id="message"), Stream():
                yield Text(id="text")
            yield Static(Content("beside"), id="beside")
            yield Static(Content("after"), id="after")
            yield Static(Content("last"), id="last")


@pytest.mark.parametrize("beside_first", [False, True])
async def test_text_in_nested_streams_is_visible_after_a_change_beside_it(beside_first: bool):
    app = App[None]()
    async with app.run_test(size=(40, 12)) as pilot:
        talk = Talk()
        await app.push_screen(talk)
        await pilot.pause()
        changes = {"#text": "one\ntwo\nthree", "#beside": "other words"}
        with app.batch_update():
            for selector, words in sorted(changes.items(), reverse=not beside_first):
                talk.query_one(selector, Static).update(Content(words))
                await pilot.pause()
        await pilot.pause()
        assert talk.query_one("#message").region.height == 3
        assert talk.query_one("#last").region.y == 6


async def test_replacement_of_a_widget_moves_those_below():
    app = App[None]()
    async with app.run_test(size=(40, 12)) as pilot:
        talk = Talk()
        await app.push_screen(talk)
        await pilot.pause()
        with app.batch_update():
            await talk.query_one("#beside").remove()
            new = Text(Content("a\nb\nc"), id="new")
            await talk.query_one("#all").mount(new, after="#message")
            talk.query_one("#last", Static).update(Content("still the last"))
            new.refresh(layout=True)
            await pilot.pause()
        await pilot.pause()
        assert [talk.query_one(each).region.y for each in ("#new", "#after", "#last")] == [2, 5, 6]
