"""Golden pictures of the Compare screen, and of the question whether to apply a change."""

from tests.tui.app_driver import wait_until
from tests.tui.comparisons import THERE, compared
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, at_rest, in_each_look, show_events, text_on
from workbench.protocol import live
from workbench.tui.screens.apply_changes import ApplyChangesScreen
from workbench.tui.screens.diff_viewer import DiffViewerScreen


async def open_comparison(pilot, client, app, look):
    await show_events(pilot, client, finished())
    await pilot.press(*f"/compare {THERE}", "enter")
    await wait_until(pilot, lambda: "4 files of" in text_on(app))


@in_each_look
def test_compared(look, directory, picture, monkeypatch):
    monkeypatch.setattr("workbench.view.comparison.compare_sessions", lambda *of: compared())
    checks = {each.entry.id: each.check for each in compared(is_checked=True).sessions}
    monkeypatch.setattr("workbench.view.comparison.run_checks", lambda names, command, cancel: checks)
    client, app = app_with(finished(), directory, look.theme)

    async def show(pilot):
        await open_comparison(pilot, client, app, look)
        await pilot.press("c", *"pytest", "enter")
        await wait_until(pilot, lambda: "failed (exit 1)" in text_on(app))
        await pilot.press("down", "down")
        await at_rest(pilot)

    assert picture(app, look, show)


@in_each_look
def test_applying(look, directory, picture, monkeypatch):
    monkeypatch.setattr("workbench.view.comparison.compare_sessions", lambda *of: compared())
    client, app = app_with(finished(), directory, look.theme)

    async def show(pilot):
        await open_comparison(pilot, client, app, look)
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))
        await at_rest(pilot)
        await pilot.press("X")
        await wait_until(pilot, lambda: any(command[0] == "apply" for command in client.commands))
        client.bring(live.ChangesRated(risk="MEDIUM", reasons=("changes a file",)))
        await wait_until(pilot, lambda: isinstance(app.screen, ApplyChangesScreen) and app.screen.quiet.is_armed)
        await wait_until(pilot, lambda: "y Apply" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)
