"""The card of the agent's question: its content, the answers it accepts, and the keys it does not handle."""

from __future__ import annotations

import pytest
from textual import events
from textual.pilot import Pilot

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.diff_app import Clock, ScreenApp
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from tests.tui.waiting import until
from workbench.client.client import CommandRefused
from workbench.protocol import events as ev
from workbench.protocol.event_base import EventBase
from workbench.tui.screens.agent_question import AnswerLine, AnswerScreen, OptionLine
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.activity import Activity
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.dock import DockedPanel
from workbench.tui.widgets.prompt import Prompt
from workbench.view.approval import quiet_time
from workbench.view.approval.questions import Later, TextAnswer
from workbench.view.state import ActionItem

OPTIONS = ["red", "blue", "green"]


def card(question: str = "Which colour?", options: object = OPTIONS, **more: object) -> tuple[ScreenApp, Clock, list]:
    """Return an app with one card alone; the list collects the events it passes on."""
    passed: list[events.Key | events.Paste] = []
    clock = Clock()
    item = ActionItem(1, 1, "a1", "ask_human", {"question": question, "options": options}, asks=True)
    return ScreenApp(AnswerScreen(item, clock=clock, **{"pass_on": passed.append, **more})), clock, passed  # type: ignore[arg-type]


def line(app: ScreenApp) -> AnswerLine:
    return app.pushed.query_one(AnswerLine)


def hints(app: ScreenApp) -> str:
    return str(app.pushed.query_one("#keys").render())


async def visible_now(pilot: Pilot[None], app: ScreenApp) -> None:
    await until(pilot, lambda: isinstance(app.screen, AnswerScreen) and hints(app), "visible")


async def arm(pilot: Pilot[None], app: ScreenApp, clock: Clock) -> None:
    await visible_now(pilot, app)
    clock.now += 60
    await until(pilot, lambda: "ready in" not in hints(app), "armed")


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (40, 12), (20, 5)])
async def test_digit_chooses_an_option_after_the_quiet_time(size: tuple[int, int]) -> None:
    app, clock, _ = card()
    async with app.run_test(size=size) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("2")
        assert await until(pilot, lambda: app.results == [TextAnswer("blue")])


async def test_free_text_including_digits_is_sent_with_enter() -> None:
    app, clock, _ = card()
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("enter", "4", "backspace", "space", *"or 2 of 3", "enter")
        assert await until(pilot, lambda: app.results == [TextAnswer("or 2 of 3")])


async def test_digits_are_text_without_options() -> None:
    app, clock, _ = card("How many?", [])
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        assert "choose" not in hints(app)
        await pilot.press("1", "2", "enter")
        await until(pilot, lambda: app.results == [TextAnswer("12")])


async def test_question_is_shown_completely_as_markdown_and_options_as_plain_text() -> None:
    app, clock, _ = card("[/foo] **which**\x1b[8m?\n\n- Second line", ["[bold]a[/x]", "b\u202ec"])
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        await until(pilot, lambda: "Second line" in text_on(app))
        assert "[/foo] which\\e[8m?" in text_on(app)
        assert "• Second line" in text_on(app)
        assert [str(choice.render()).split() for choice in app.pushed.query(OptionLine)] == [
            ["1", "[bold]a[/x]"],
            ["2", "b\\u202ec"],
        ]
        assert "ready in" in hints(app)
        clock.now += 60
        await until(pilot, lambda: "1–2 Choose" in hints(app))


async def test_keys_and_pastes_before_the_quiet_time_go_to_the_prompt() -> None:
    app, clock, passed = card()
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        for key in "1stop 2":
            clock.now += 0.1
            await pilot.press("space" if key == " " else key)
        await pilot.press("backspace", "enter")
        line(app).post_message(events.Paste("1\n2\n"))
        await until(pilot, lambda: len(passed) == 10)
        keys = [event.key if isinstance(event, events.Key) else event.text for event in passed]
        assert keys == ["1", "s", "t", "o", "p", "space", "2", "backspace", "enter", "1\n2\n"]
        assert (line(app).value, app.results) == ("", [])
        clock.now += 60
        await until(pilot, lambda: app.results == [Later(aside=True)])


async def test_single_early_choice_is_ignored() -> None:
    app, clock, passed = card()
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        await pilot.press("2", "2")
        await arm(pilot, app, clock)
        assert (line(app).value, app.results, passed) == ("", [], [])
        await pilot.press("3")
        await until(pilot, lambda: app.results == [TextAnswer("green")])


async def test_card_opened_by_the_user_drops_early_keys_and_stays() -> None:
    app, clock, _ = card(pass_on=None)
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        await pilot.press("1", "enter", "x")
        assert (line(app).value, app.results) == ("", [])
        await arm(pilot, app, clock)
        await pilot.press("1")
        await until(pilot, lambda: app.results == [TextAnswer("red")])


async def test_escape_postpones_at_any_time_and_keeps_the_draft() -> None:
    app, _, _ = card()
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        await pilot.press("escape")
        await until(pilot, lambda: app.results == [Later()])
    app, clock, _ = card(draft="half an ")
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press(*"answer", "escape")
        assert await until(pilot, lambda: app.results == [Later("half an answer")])


async def test_paste_is_one_line_of_text_and_never_sends() -> None:
    app, clock, _ = card()
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        line(app).post_message(events.Paste("1\n\tb\x1b[8m\r\n"))
        await until(pilot, lambda: line(app).value == "1 b\\e[8m")
        assert app.results == []


async def test_click_chooses_after_the_quiet_time_but_not_when_it_focuses_the_window() -> None:
    app, clock, _ = card()
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        third = app.pushed.query(OptionLine).last()
        await pilot.click(third)
        await arm(pilot, app, clock)
        app.app_focus = False
        app.app_focus = True
        await pilot.click(third)
        assert app.results == []
        await arm(pilot, app, clock)
        await pilot.click(third)
        await until(pilot, lambda: app.results == [TextAnswer("green")])


async def test_long_question_scrolls_and_keeps_the_line_visible() -> None:
    app, clock, _ = card("\n".join(f"line {number}" for number in range(80)), ["x" * 300] * 6)
    async with app.run_test(size=(60, 15)) as pilot:
        await arm(pilot, app, clock)
        asked = app.pushed.query_one("#asked")
        assert line(app).region.bottom <= 15
        await pilot.press("pagedown", "down")
        await until(pilot, lambda: asked.scroll_offset.y == 11)
        await pilot.press("pageup", "up", "ctrl+up", "ctrl+down")
        await until(pilot, lambda: asked.scroll_offset.y == 0 and app.behind == [-3, 3])


async def test_withdrawn_question_closes_and_its_draft_is_kept() -> None:
    app, clock, _ = card()
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("x")
        await until(pilot, lambda: line(app).value == "x")
        app.pushed.withdraw()  # type: ignore[attr-defined]
        assert await until(pilot, lambda: app.results == [Later("x", aside=True)])


# The card on the main screen.


def asked(*questions: dict[str, object]) -> Script:
    script = Script().start().user("Paint it.")
    for arguments in questions or ({"question": "Which colour?", "options": OPTIONS},):
        script.propose("ask_human", **arguments)
    return assess(script, "a1")


def assess(script: Script, action_id: str) -> Script:
    script.add(
        ev.ActionAssessed, action_id=action_id, risk="LOW", fingerprint="f", needs_decision=False, needs_answer=True
    )
    return script


def answered(script: Script, action_id: str, text: str) -> list[EventBase]:
    before = len(script.events)
    script.add(ev.ActionDecided, action_id=action_id, verdict="approved", by="rule")
    script.add(ev.ActionStarted, action_id=action_id)
    script.end(action_id, text)
    return script.events[before:]


async def opened(pilot: Pilot[int]) -> None:
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, AnswerScreen))


async def take_answers(pilot: Pilot[int]) -> None:
    await opened(pilot)
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, AnswerScreen) and pilot.app.screen.quiet.is_armed)


async def test_answer_is_sent_once_and_the_next_question_opens() -> None:
    script = asked({"question": "Which?", "options": OPTIONS}, {"question": "Sure?"})
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await take_answers(pilot)
        assert not isinstance(app.screen, ApprovalScreen)
        await pilot.press("3")
        await wait_until(pilot, lambda: client.commands == [("answer", "a1", "green")])
        client.bring(*answered(script, "a1", "green"), assess(script, "a2").events[-1])
        await take_answers(pilot)
        await pilot.press("y", "enter")
        await wait_until(pilot, lambda: client.commands[1:] == [("answer", "a2", "y")])


async def test_text_in_the_prompt_prevents_opening_until_f8() -> None:
    script = asked()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("h", "i")
        client.bring(script.events[-1])
        await wait_until(pilot, lambda: app.state.waiting)
        assert "The agent has a question · F8" in app.screen.query_one(Activity).render().plain
        assert not isinstance(app.screen, AnswerScreen)
        await pilot.press("f8")
        await take_answers(pilot)
        await pilot.press("escape", "enter")
        await wait_until(pilot, lambda: client.commands == [("send", "hi")])
        assert not isinstance(app.screen, AnswerScreen)
        assert app.state.waiting


async def test_text_typed_while_the_card_opens_goes_to_the_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = asked()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        with monkeypatch.context() as patch:
            patch.setattr(quiet_time, "QUIET", 1e9)  # so that a slow machine does not count as a slow user
            client.bring(script.events[-1])
            await opened(pilot)
            await pilot.press(*"1 moment", "enter", *"2")
        await wait_until(pilot, lambda: not isinstance(app.screen, AnswerScreen))
        assert app.screen.query_one(Prompt).text == "2"
        assert client.commands == [("send", "1 moment")]
        await pilot.press("backspace")
        await opened(pilot)


async def test_reopened_card_has_its_draft() -> None:
    client = FakeClient(asked().events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await take_answers(pilot)
        await pilot.press(*"pin", "escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, AnswerScreen))
        await pilot.press("f8")
        await take_answers(pilot)
        await pilot.press("k", "enter")
        await wait_until(pilot, lambda: client.commands == [("answer", "a1", "pink")])
        client.bring(CommandRefused("another screen is in charge"))
        await opened(pilot)
        assert app.screen.query_one(AnswerLine).value == "pink"


async def test_card_closes_if_another_screen_answered_or_the_run_stopped() -> None:
    script = asked()
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        client.bring(*answered(script, "a1", "mauve"))
        await wait_until(pilot, lambda: not isinstance(app.screen, AnswerScreen))
        await wait_until(pilot, lambda: "mauve" in app.screen.query_one(ActionCard).render().plain)
        assert client.commands == []


async def test_conversation_shows_question_and_options_and_opens_the_card() -> None:
    client = FakeClient(asked({"question": "Which?\nOf these", "options": ["red", "[/x]\x1b"]}).events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, AnswerScreen))
        text = app.screen.query_one(ActionCard).render().plain
        assert text.startswith("? Which? …")
        assert "needs an answer" in text
        assert "needs approval" not in text
        for row in ("Of these", "1  red", "2  [/x]\\e"):
            assert f" │ {row}" in text
        app.screen.query_one(ActionCard).action_open()
        await opened(pilot)
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, AnswerScreen))


async def test_answered_question_opens_its_details() -> None:
    script = asked()
    answered(script, "a1", "blue")
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.screen.query(ActionCard))
        assert not isinstance(app.screen, AnswerScreen)
        app.screen.query_one(ActionCard).action_open()
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen))


def panel_of(app) -> DockedPanel:
    return app.screen.query_one(DockedPanel)


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_question_is_docked_below_the_agents_words_which_stay_in_sight(size: tuple[int, int]) -> None:
    script = Script().start().user("Paint it.")
    script.answer("\n\n".join(f"Paragraph {number}." for number in range(30)))
    script.propose("ask_human", question="Which colour?", options=OPTIONS)
    app = workbench_app(FakeClient(assess(script, "a1").events))
    async with app.run_test(size=size) as pilot:
        await take_answers(pilot)
        await wait_until(pilot, lambda: "Paragraph 29." in text_on(app))
        region = panel_of(app).region
        assert (region.x, region.right, region.bottom) == (0, *size)
        assert app.screen.query_one("#keys").region.bottom == size[1]
        assert not app.screen_stack[0].query_one(ActionCard).display


@pytest.mark.parametrize("way", ["escape", "answer"])
async def test_conversation_gets_its_rows_back_when_the_question_closes(way: str) -> None:
    script = asked()
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await take_answers(pilot)
        body = app.screen_stack[0].query_one("#body")
        await wait_until(pilot, lambda: body.styles.margin.bottom > 0)
        assert not app.screen_stack[0].query_one(ActionCard).display
        if way == "escape":
            await pilot.press("escape")
        else:
            client.bring(*answered(script, "a1", "mauve"))
        await wait_until(pilot, lambda: body.styles.margin.bottom == 0)
        assert app.screen.query_one(ActionCard).display
        assert app.screen.query_one(Prompt).show_cursor
