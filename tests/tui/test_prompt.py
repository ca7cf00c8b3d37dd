import pytest
from textual import events

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol.live import EngineState
from workbench.tui.screens.main.submitter import RETRY
from workbench.tui.widgets.prompt import Prompt


async def test_keys_typed_at_once_are_all_kept_and_sent_as_one_message():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press(*"hello", "space", *"there", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", "hello there")]
        assert app.screen.query_one(Prompt).text == ""


async def test_keys_in_one_burst_are_handled_in_order():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        for key in ("a", "x", "backspace", "b", "ctrl+j", "c", "enter", "d", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await wait_until(pilot, lambda: len(client.commands) == 2)
        assert client.commands == [("send", "ab\nc"), ("send", "d")]
        assert app.screen.query_one(Prompt).text == ""


async def test_new_lines_do_not_send_and_the_prompt_grows_to_eight_lines():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test(size=(100, 40)) as pilot:
        prompt = app.screen.query_one(Prompt)
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c", "alt+enter", "d")
        await wait_until(pilot, lambda: prompt.size.height == 4)
        assert prompt.text == "a\nb\nc\nd"
        for _ in range(20):
            await pilot.press("ctrl+j")
        await wait_until(pilot, lambda: prompt.size.height == 8)
        assert client.commands == []


async def test_paste_never_sends_and_hides_nothing():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        prompt.post_message(events.Paste("one\r\ntwo\x1b[2J\u202e\n\n"))
        await wait_until(pilot, lambda: prompt.text)
        assert prompt.text == "one\ntwo\\e[2J\\u202e\n\n"
        assert client.commands == []


async def test_large_paste_is_one_mark_and_sent_completely_without_its_mentions(tmp_path):
    (tmp_path / "a.py").touch()
    client = FakeClient()
    app = workbench_app(client, directory=tmp_path)
    long = "\n".join(f"line {number} @a.py" for number in range(214))
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        await pilot.press(*"see:")
        prompt.post_message(events.Paste(long))
        prompt.post_message(events.Paste(long.replace("line", "row")))
        prompt.post_message(events.Paste(long))
        await wait_until(pilot, lambda: prompt.text.count("pasted") == 3)
        assert prompt.text == "see:[pasted 214 lines][pasted 214 lines, 2][pasted 214 lines]"
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", f"see:{long}{long.replace('line', 'row')}{long}")]


async def test_blank_text_is_not_sent():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press("space", "space", "enter", "x", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", "  x")]


@pytest.mark.parametrize(
    ("reason", "typed", "sent"),
    [("error", [], [RETRY]), ("error", ["space"], []), ("interrupted", [], []), ("finished", [], [])],
    ids=["error", "blanks", "interrupted", "finished"],
)
async def test_enter_in_an_empty_prompt_tries_again_only_after_an_error(reason, typed, sent):
    script = Script().start().user("Fix it.")
    script.add(ev.RunEnded, reason=reason, detail="the server is gone")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        client.bring(EngineState(state="idle"))
        await wait_until(pilot, lambda: app.state.work == "idle" and app.state.ended == reason)
        assert ("Enter Retry" in text_on(app)) == (reason == "error")
        assert text_on(app).lower().count("retry") == (reason == "error"), "nothing is said twice"
        await pilot.press(*typed, "enter", "enter", *"x", "enter")
        await wait_until(pilot, lambda: client.commands and client.commands[-1][1].strip() == "x")
        assert [text for _, text in client.commands[:-1]] == sent


async def test_up_and_down_at_the_edges_step_through_the_history_and_keep_the_draft():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        await pilot.press("a", "enter", "b", "ctrl+j", "b", "enter", "c")
        await wait_until(pilot, lambda: len(client.commands) == 2)
        seen = []
        for key in ("up", "up", "up", "up", "down", "down", "down"):
            await pilot.press(key)
            seen.append(prompt.text)
        assert seen == ["b\nb", "b\nb", "a", "a", "b\nb", "c", "c"]


async def test_history_of_an_opened_session_is_included():
    client = FakeClient(Script().start().user("from before").events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press("up")
        assert await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "from before")


async def test_unknown_command_is_reported_and_the_text_stays():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press(*"/nosuch", "enter")
        await wait_until(pilot, lambda: app._notifications)
        (notice,) = app._notifications
        assert notice.message == "Unknown command /nosuch. Type / for the list."
        assert app.screen.query_one(Prompt).text == "/nosuch"
        assert client.commands == []


async def test_path_is_a_message_not_a_command():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press(*"/usr/bin", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", "/usr/bin")]


async def test_commands_run_their_actions():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press(*"/mode", "space", *"plan", "enter", *"/stop", "enter", *"/tasks", "enter")
        await wait_until(pilot, lambda: app.focused is not None and app.focused.id == "tasks")
        assert client.commands == [("mode", "plan"), ("interrupt",)]
        await pilot.press("escape", *"/help", "enter")
        await wait_until(pilot, lambda: app.screen.id == "help-screen")
        await pilot.press("escape", *"/quit", "enter")
    assert app.return_code == 0


@pytest.mark.parametrize(
    "keys", [[*"/exit", "enter"], [*"/quit", "enter"], [*"exit", "enter"], [*" quit", "enter"], ["ctrl+d"], ["ctrl+q"]]
)
async def test_each_usual_way_to_quit_quits(keys):
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*keys)
        await wait_until(pilot, lambda: app.return_code is not None)
    assert (app.return_code, client.commands) == (0, [])


async def test_text_is_edited_by_ctrl_d_and_keeps_its_question_marks():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press(*"why??", "home", "ctrl+d", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", "hy??")]
        await pilot.press("question_mark")
        await wait_until(pilot, lambda: app.screen.id == "help-screen")
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.is_running


@pytest.mark.parametrize(("number", "copied"), [("", "the third"), ("2", "the second"), ("3", "first\n\n```\nx\n```")])
async def test_copy_copies_an_answer_counted_from_the_end(number, copied):
    script = Script().start().user("Go.").answer("first\n\n```\nx\n```").user("On.").answer("the second").user("On.")
    client = FakeClient(script.answer("the third").events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*"/copy", *([" ", number] if number else []), "enter")
        await wait_until(pilot, lambda: app.clipboard == copied)
        assert client.commands == []


@pytest.mark.parametrize("number", ["9", "0", "-1", "two", ""])
async def test_copy_reports_that_there_is_no_such_answer(number):
    events = Script().start().user("Go.")
    client = FakeClient((events.answer("the only one") if number else events).events)
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*"/copy", *(f" {number}" if number else ""), "enter")
        await wait_until(pilot, lambda: app._notifications)
        (notice,) = app._notifications
        assert notice.message.endswith("this session has 1 answer" if number else "this session has 0 answers")
        assert app.clipboard == ""


async def test_invalid_mode_is_reported():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press(*"/mode", "space", *"wild", "enter")
        await wait_until(pilot, lambda: app._notifications)
        assert client.commands == []
        assert any("wild" in notice.message for notice in app._notifications)
