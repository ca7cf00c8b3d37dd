"""Golden pictures of the Decisions screen and of the trusted directories."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.decision_files import keep_all_kinds
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import in_each_look, text_on
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.tools.trust import agree, agreements, fingerprint, revoke
from workbench.tui.screens.decisions import DecisionsScreen
from workbench.tui.screens.trusted import TrustedScreen


@pytest.fixture(autouse=True)
def _own_directories(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    keep_all_kinds()


@in_each_look
@pytest.mark.parametrize("kind", ["session", "all", "filtered"])
def test_decisions(kind, look, picture):
    app = workbench_app(FakeClient(Script().start().user("Fix it").events))

    async def show(pilot):
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.action_page("decisions")
        await wait_until(pilot, lambda: "this session · 7 decisions" in text_on(app))
        await wait_until(pilot, lambda: "reading" not in text_on(app))
        if kind != "session":
            await pilot.press("tab")
            await wait_until(pilot, lambda: "all sessions · 15 decisions" in text_on(app))
            await wait_until(pilot, lambda: "Not read: s9" in text_on(app) or look.width == 0)
        if kind == "filtered":
            await pilot.press("slash", *"by:you", "enter", "down")
            await wait_until(pilot, lambda: "6 of 15 decisions · by:you" in text_on(app))
        await wait_until(pilot, lambda: isinstance(app.screen, DecisionsScreen))

    assert picture(app, look, show)


@in_each_look
def test_trusted(look, picture, directory, monkeypatch):
    monkeypatch.setattr("workbench.tools.trust._now", lambda: "2026-02-03T04:05:06+00:00")
    monkeypatch.chdir(directory)
    where, named = Locations.from_environment(), []
    for name in ("calc", "notes", "shop", "site"):
        place = directory / name
        (place / ".ohw/tools").mkdir(parents=True)
        (place / ".ohw/rules.toml").write_text("")
        (place / ".ohw/tools/greet.py").write_text("")
        agree(where, place, fingerprint(place))
    (directory / "notes/.ohw/rules.toml").write_text("[[deny]]")
    named = [str(directory / "site")]
    revoke(where, named, named)
    assert len(agreements(where, named)) == 4
    app = workbench_app(FakeClient(Script().start().user("Fix it").events))

    async def show(pilot):
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.push_screen(TrustedScreen(where, named))
        await wait_until(pilot, lambda: "agreed by you" in text_on(app))

    assert picture(app, look, show)
