"""Links of messages: which are found, the question before one is opened, and where there is no browser."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from tests.tui.diff_app import Clock, ScreenApp
from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import Script
from tests.tui.waiting import until
from workbench.processes.browser import open_command
from workbench.tui.screens.link import LinkScreen
from workbench.tui.widgets.conversation_messages import AgentText
from workbench.view.urls import urls_in

ONE, TWO = "https://example.org/a_(b)?q=1#x", "http://localhost:8000/"


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        (f"See {ONE}, then {TWO}.", [ONE, TWO]),
        (f"[docs]({ONE}) and <{TWO}> and `{TWO}`", [ONE, TWO]),
        (f"**{ONE}** ({TWO})", [ONE, TWO]),
        ("https://exa\u0430mple.org/ https:// file:///etc/passwd javascript:x ftp://a.b", ["https://exa"]),
        ("https://[bad/", []),
        ("nothing", []),
    ],
    ids=["prose", "markdown", "emphasis", "other", "broken", "none"],
)
def test_links_are_found_without_what_surrounds_them(text: str, urls: list[str]):
    assert urls_in(text) == urls


def question(*urls: str, opens: bool = True) -> tuple[ScreenApp, Clock, list[str]]:
    opened: list[str] = []
    clock = Clock()

    def opener(url: str) -> bool:
        opened.append(url)
        return opens

    return ScreenApp(LinkScreen(urls or (ONE,), opener, clock=clock)), clock, opened


def words(app: ScreenApp) -> str:
    return " ".join(str(app.pushed.query_one(f"#{part}").render()) for part in ("title", "text", "keys"))


async def arm(pilot: Pilot[None], app: ScreenApp, clock: Clock) -> None:
    await until(pilot, lambda: isinstance(app.screen, LinkScreen) and "ready in" in words(app), "visible")
    clock.now += 60
    await until(pilot, lambda: "y Open" in words(app), "armed")


@pytest.mark.parametrize(("keys", "expected"), [("y", [ONE]), ("escape", []), ("c", [])])
async def test_only_y_after_the_quiet_time_opens_a_link(keys: str, expected: list[str]):
    app, clock, opened = question()
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, LinkScreen), "visible")
        await pilot.press("y")
        assert opened == []
        await arm(pilot, app, clock)
        assert ONE in words(app)
        await pilot.press(keys)
        await until(pilot, lambda: app.results == [None])
        assert opened == expected
        assert app.clipboard == (ONE if keys == "c" else "")


async def test_each_link_of_a_message_can_be_chosen():
    app, clock, opened = question(ONE, TWO)
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        assert "1 of 2" in words(app)
        await pilot.press("right")
        await until(pilot, lambda: TWO in words(app))
        await arm_again(pilot, app, clock)
        await pilot.press("y")
        await until(pilot, lambda: opened == [TWO])


async def arm_again(pilot: Pilot[None], app: ScreenApp, clock: Clock) -> None:
    clock.now += 60
    await until(pilot, lambda: "y Open" in words(app), "armed")


async def test_link_is_copied_where_there_is_no_browser():
    app, clock, _ = question(opens=False)
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("y")
        assert await until(pilot, lambda: app.clipboard == ONE)


@pytest.mark.parametrize(
    ("env", "platform", "program"),
    [
        ({"DISPLAY": ":0"}, "linux", "xdg-open"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", "xdg-open"),
        ({"WSL_DISTRO_NAME": "Ubuntu"}, "linux", "wslview"),
        ({}, "darwin", "open"),
        ({}, "linux", None),
    ],
    ids=["x11", "wayland", "wsl", "mac", "no desktop"],
)
def test_program_that_opens_links_depends_on_the_desktop(tmp_path, env: dict[str, str], platform: str, program):
    for name in ("xdg-open", "wslview", "open"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    command = open_command({**env, "PATH": str(tmp_path)}, platform)
    assert command == (None if program is None else (program,))


async def test_o_on_a_message_asks_about_its_links():
    script = Script().start().user("Go.").answer(f"See {ONE} for more.")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.query(AgentText))
        app.query_one(AgentText).focus()
        await pilot.press("o")
        assert await until(pilot, lambda: isinstance(app.screen, LinkScreen))
