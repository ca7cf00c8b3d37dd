"""The Decisions screen and the trusted directories: what their keys do."""

import json
from pathlib import Path

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.decision_files import keep_all_kinds, keep_decided
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.session.session_names import session_path
from workbench.tools.trust import agree, agreed, fingerprint, is_trusted
from workbench.tui.screens.decisions import DecisionsScreen
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.screens.trusted import TrustedScreen


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Locations.from_environment()


@pytest.fixture
def app(where):
    return workbench_app(FakeClient(Script().start().user("Fix it").events))


async def test_decisions_screen_filters_shows_details_switches_and_exports(app, where, tmp_path):
    keep_all_kinds()
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.action_page("decisions")
        await wait_until(pilot, lambda: "this session · 7 decisions" in text_on(app))
        await pilot.press("slash", *"denied rm")
        await wait_until(pilot, lambda: "Enter Go to the list   Esc Back" in text_on(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "1 of 7 decisions" in text_on(app) and "x Export   Esc Clear" in text_on(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen) and '"command": "rm' in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, DecisionsScreen))
        await pilot.press("x", *["backspace"] * 20, *str(tmp_path / "out.json"), "enter")
        await wait_until(pilot, lambda: "Exported 1 to" in text_on(app))
        await pilot.press("escape", "tab")
        await wait_until(pilot, lambda: "all sessions · 15 decisions" in text_on(app))
        await pilot.press("tab")
        await wait_until(pilot, lambda: "this session · 7 decisions" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, DecisionsScreen))
    (line,) = (tmp_path / "out.json").read_text().splitlines()
    assert json.loads(line)["arguments"] == {"command": "rm -rf build"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("since:soon", "since needs a date (2026-11-30, 2026-11-30T18:00, yesterday, 12h), not 'soon'"),
        ("risk:purple", "risk is low, medium, high or unknown, not 'purple'"),
        ("nothing-like-it", "No decision fits"),
    ],
    ids=["date", "choice", "words"],
)
async def test_filter_that_can_match_nothing_says_why_on_a_small_screen(app, where, text, message):
    keep_all_kinds()
    async with app.run_test(size=(84, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.action_page("decisions")
        await wait_until(pilot, lambda: "7 decisions" in text_on(app))
        await pilot.press("slash", *text, "enter")
        await wait_until(pilot, lambda: message in text_on(app))
        assert "0 of 7 decisions" in text_on(app)


async def test_export_without_a_format_names_the_formats(app, where):
    keep_all_kinds()
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.action_page("decisions")
        await wait_until(pilot, lambda: "7 decisions" in text_on(app))
        await pilot.press("x", *["backspace"] * 20, *"out.txt", "enter")
        await wait_until(pilot, lambda: "json, csv, md, not" in text_on(app))
        assert not Path("out.txt").exists()


async def test_rows_that_arrive_from_500_sessions_do_not_move_the_cursor(app, where):
    keep_decided("s1")
    raw = session_path(where, "s1").read_bytes()
    for number in range(500):
        session_path(where, f"t{number}").write_bytes(raw)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.action_page("decisions")
        await wait_until(pilot, lambda: "7 decisions" in text_on(app))
        await pilot.press("tab")
        await wait_until(pilot, lambda: "Decisions · all sessions" in text_on(app) and "$ pytest" in text_on(app))
        await pilot.press("down", "down")
        assert app.screen.query_one("#decisions-list").cursor == 2
        await wait_until(pilot, lambda: "3,507 decisions" in text_on(app))
        assert app.screen.query_one("#decisions-list").cursor == 2


async def test_second_press_revokes_the_trust_permanently(app, where, tmp_path):
    project = tmp_path / "project"
    (project / ".ohw").mkdir(parents=True)
    (project / ".ohw/rules.toml").write_text("")
    agree(where, project, fingerprint(project))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.action_page("trust")
        await wait_until(pilot, lambda: "rules · agreed by you" in text_on(app))
        await pilot.press("d")
        await wait_until(pilot, lambda: "Press d again" in text_on(app))
        assert is_trusted(project, agreed(where))
        screen = app.screen
        assert isinstance(screen, TrustedScreen)
        await wait_until(pilot, lambda: screen.confirmation.is_armed)
        await pilot.press("d")
        await wait_until(pilot, lambda: "Revoked. Sessions that are open" in text_on(app))
    assert not is_trusted(project, agreed(where))
