"""Golden pictures of a rewind: the checkpoints, and the preview with a conflict."""

from msgspec.structs import replace

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, at_rest, in_each_look, show_events, text_on
from tests.tui.test_rewind import DELTAS, REWOUND, ROWS
from workbench.protocol import live
from workbench.tui.screens.rewind import RewindPreviewScreen

CONFLICT = replace(REWOUND, copies=("ed23cd73",))


@in_each_look
def test_checkpoints(look, directory, picture, monkeypatch):
    monkeypatch.setattr("workbench.view.rewind.read_checkpoints", lambda path: ROWS)
    client, app = app_with(finished(), directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, finished())
        await pilot.press(*"/rewind", "enter")
        await wait_until(pilot, lambda: "4 checkpoints" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)


@in_each_look
def test_preview(look, directory, picture, monkeypatch):
    monkeypatch.setattr("workbench.view.rewind.read_checkpoints", lambda path: ROWS)
    client, app = app_with(finished(), directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, finished())
        await pilot.press(*"/rewind", "enter")
        await wait_until(pilot, lambda: "4 checkpoints" in text_on(app))
        await pilot.press(*"docs", "up", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, RewindPreviewScreen))
        client.bring(live.RewindReady(rewound=CONFLICT, deltas=DELTAS))
        await wait_until(pilot, lambda: "README.md" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)
