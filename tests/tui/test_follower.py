"""Events that arrive faster than the screen can mount them wait; rows that would leave unseen are never mounted."""

from __future__ import annotations

import asyncio

from textual.widgets import Static

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.tui.widgets.conversation import Conversation
from workbench.view.follower import FRAME, Follower
from workbench.view.state import Changed, SessionState


async def test_events_arriving_while_the_screen_is_busy_are_shown_together():
    script = Script().start().user("Do.")
    client, changes, behind = FakeClient(script.events), list[Changed | None](), [True]
    follower = Follower(client, SessionState(), changes.append, lambda: behind[0])
    running = asyncio.create_task(follower.run())
    try:
        for number in range(6):
            first = len(script.events)
            script.run("execute_bash", "out", command=f"echo {number}", _exit_code=0)
            client.bring(*script.events[first:])
            while number == 0 and len(changes) < 2:
                await asyncio.sleep(FRAME)
            await asyncio.sleep(FRAME)
        assert len(changes) == 2  # everything, then the first action
        behind[0] = False
        await asyncio.sleep(5 * FRAME)
        assert [len(each.added) for each in changes if each is not None] == [1, 5]
    finally:
        running.cancel()


async def test_screen_that_stays_busy_still_gets_the_next_events():
    script = Script().start().user("Do.")
    client, changes = FakeClient(script.events), list[Changed | None]()
    running = asyncio.create_task(Follower(client, SessionState(), changes.append, lambda: True).run())
    try:
        for number in range(2):
            first = len(script.events)
            script.run("execute_bash", "out", command=f"echo {number}", _exit_code=0)
            client.bring(*script.events[first:])
            async with asyncio.timeout(10):
                while len(changes) < number + 2:
                    await asyncio.sleep(FRAME)
        assert [len(each.added) for each in changes if each is not None] == [1, 1]
    finally:
        running.cancel()


async def test_screen_is_busy_until_all_widgets_are_mounted_and_removed():
    script = Script().start().user("Do.")
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.screen.query_one(Conversation)
        await wait_until(pilot, lambda: bool(panel.children) and not panel.is_behind)
        mounted = panel.mount(Static("x"), Static("y"))
        assert panel.is_behind
        await mounted
        assert panel.is_behind  # two that the window does not know stay to be removed
        await panel.children[-1].remove()
        assert not panel.is_behind
