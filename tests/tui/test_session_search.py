"""The search through the session: messages and actions are found, also far above what is mounted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import STEADY, Script, long_session, working_session
from workbench.tui.screens.main.search import SessionSearch
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.prompt import Prompt
from workbench.view.session_search import find_in

SESSION = working_session().events[:34]


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("FAILING TEST", ["you"]),
        ("so i read", ["reasoning"]),
        ("drops the sign", ["agent"]),
        ("ls -la", ["action 2, command"]),
        ("test_negative - assert", ["action 4, result"]),
        ("nowhere at all", []),
        ("  ", []),
    ],
)
def test_messages_reasoning_commands_and_results_are_searched(words, where):
    assert [found.where for found in find_in(working_session().state().items, words)] == where


@STEADY
@given(st.text(), st.text())
def test_match_is_shown_on_one_safe_line(before, words):
    script = Script().start().user(f"{before}{words}")

    for match in find_in(script.state().items, words):
        assert not any(sign in match.excerpt for sign in "\n\r\t\x1b\u202e")
    assert bool(find_in(script.state().items, words)) == bool(words.casefold().strip())


def status_text(app) -> str:
    return str(app.screen.query_one("#search-found").render())


async def test_match_far_above_is_shown_and_its_page_opens_at_the_words():
    app = workbench_app(FakeClient(list(long_session(400))))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.screen.query(ActionCard))
        await pilot.press("ctrl+f", *"echo 17", "0")
        await wait_until(pilot, lambda: "1/1" in status_text(app))
        matches = lambda: [card.item.action_id for card in app.screen.query("ActionCard.-found").results(ActionCard)]
        await wait_until(pilot, lambda: matches() == ["a171"])
        assert app.screen.query_one(SessionSearch).has_focus_within
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.focused, ActionCard))
        conversation = app.screen.query_one(Conversation)
        await wait_until(
            pilot, lambda: app.focused.region.y in range(conversation.region.y, conversation.region.bottom)
        )
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen))
        await wait_until(pilot, lambda: "1 of " in str(app.screen.query_one("#pager-status").render()))
        assert len(app.screen_stack[0].query("*")) < 400


async def test_newest_match_comes_first_then_n_cycles_and_escape_ends():
    app = workbench_app(FakeClient(SESSION))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.screen.query(ActionCard))
        await pilot.press("ctrl+f", *"calc.py")
        await wait_until(pilot, lambda: "3/3" in status_text(app))
        await pilot.press("enter", "n")
        await wait_until(pilot, lambda: "1/3" in status_text(app))
        await wait_until(pilot, lambda: isinstance(app.focused, ActionCard) and app.focused.item.number == 3)
        await pilot.press("N")
        await wait_until(pilot, lambda: "3/3" in status_text(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).has_focus)
        assert not app.screen.query_one(SessionSearch).display
        assert not app.screen.query(".-found")


async def test_missing_match_keeps_the_position_and_is_reported():
    app = workbench_app(FakeClient(SESSION))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.screen.query(ActionCard))
        await pilot.press("ctrl+f", *"xyzzy")
        await wait_until(pilot, lambda: status_text(app) == "not found")
        await pilot.press("enter", "escape", "n")
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "n")
        assert not app.screen.query_one(SessionSearch).display
