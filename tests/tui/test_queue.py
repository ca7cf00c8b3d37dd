"""Messages queued for the agent: shown above the prompt, withdrawn for editing, or dropped."""

from textual import events as keys

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from tests.tui.test_key_bursts import burst
from workbench.protocol import events as ev
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.message_queue import QueueList
from workbench.tui.widgets.prompt import Prompt


def busy() -> Script:
    script = Script().start().user("begin").answer("on it")
    script.begin("execute_bash", command="sleep 9")
    for text in ("run the tests", "and the linter", "then commit"):
        script.user(text)
    return script


def plain(queue: QueueList) -> str:
    return queue.render().plain


async def test_queued_message_is_edited_in_the_prompt_or_dropped():
    script = busy()
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        queue, prompt = app.screen.query_one(QueueList), app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: queue.display)
        assert [line.strip() for line in plain(queue).splitlines()] == [
            "○ run the tests",
            "○ and the linter",
            "○ then commit",
        ]
        await pilot.press("up")
        await wait_until(pilot, lambda: queue.has_focus)
        await pilot.press("up", "enter", "enter")
        await wait_until(pilot, lambda: client.commands)
        middle = script.events[-2].seq
        assert client.commands == [("withdraw", middle)]
        assert prompt.text == ""
        client.bring(script.add(ev.MessageWithdrawn, message=middle))
        await wait_until(pilot, lambda: prompt.text == "and the linter")
        assert "linter" not in plain(queue)
        assert prompt.has_focus
        prompt.load_text("")
        burst(app, "up", "delete")
        await wait_until(pilot, lambda: len(client.commands) == 2)
        last = next(event.seq for event in script.events if getattr(event, "text", "") == "then commit")
        assert client.commands[-1] == ("withdraw", last)
        client.bring(script.add(ev.MessageWithdrawn, message=last))
        await wait_until(pilot, lambda: len(app.state.queued) == 1)
        assert prompt.text == ""
        await pilot.press("x")
        await wait_until(pilot, lambda: prompt.has_focus and prompt.text == "x")
        client.bring(script.answer("done").events[-1], script.add(ev.RunEnded, reason="finished"))
        await wait_until(pilot, lambda: not queue.display)


async def test_long_queued_message_shows_its_length():
    script = Script().start().user("Go.").user("like this:\n" + "x\n" * 300)
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(100, 30)) as pilot:
        queue = app.screen.query_one(QueueList)
        await wait_until(pilot, lambda: queue.display)
        assert plain(queue).strip() == "○ like this: · 300 lines more"


async def test_up_in_a_text_is_the_history_and_an_empty_queue_takes_no_focus():
    client = FakeClient(busy().events)
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        queue, prompt = app.screen.query_one(QueueList), app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: queue.display)
        prompt.post_message(keys.Key("x", "x"))
        prompt.post_message(keys.Key("up", None))
        await wait_until(pilot, lambda: prompt.text == "then commit")
        assert prompt.has_focus
        await pilot.press("down", "backspace", "up", "down")
        await wait_until(pilot, lambda: prompt.has_focus)
        assert client.commands == []


async def test_screen_can_be_refreshed_while_its_parts_are_removed():
    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        screen = app.screen_stack[0]
        assert isinstance(screen, MainScreen)
        for part in [*screen.query_one(Composer).children, *screen.children]:
            await part.remove()
            screen.refresh_status()
        assert not screen.children
        assert app.is_running
