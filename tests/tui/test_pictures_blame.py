"""Golden pictures of the blame of a file: lines of two sessions and of the user, and an action in another session."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.blame_files import keep_blamed
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import in_each_look, text_on


@in_each_look
@pytest.mark.parametrize("kind", ["lines", "other_session"])
def test_blame(kind, look, picture, directory, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    script = keep_blamed(directory)
    app = workbench_app(FakeClient(script.events), directory=directory)

    async def show(pilot):
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        await pilot.press(*"/blame shop.py", "enter")
        await wait_until(pilot, lambda: "16 lines: " in text_on(app))
        await pilot.press("n", "n")
        if kind == "other_session":
            await pilot.press("n", "enter")
            await wait_until(pilot, lambda: "Enter opens that session" in text_on(app))

    assert picture(app, look, show)
