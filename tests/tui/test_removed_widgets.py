"""What the conversation takes away is gone: no cycle keeps a removed card, however old it was."""

from __future__ import annotations

import gc
import weakref

from textual.widgets import Static

from tests.tui.fake_link import FakeLink
from tests.tui.sample_session import Script
from tests.tui.trial import wait_until, workbench_app
from workbench.tui.widgets.conversation import Conversation

_TEXT = "Step **1** begins:\n\n- one\n- two\n\n```python\nx = 1\n```\n"


async def test_a_removed_card_is_freed_without_a_look_at_the_oldest_generation():
    script = Script().start().user("Do.")
    script.answer(_TEXT)
    for number in range(3):
        script.run("execute_bash", "out", command=f"echo {number}", _exit_code=0)
    app = workbench_app(FakeLink(script.events))
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.screen.query_one(Conversation)
        await wait_until(pilot, lambda: len(panel.query("ActionCard")) == 3 and panel.query("MarkdownFence"))
        await pilot.pause()
        gc.collect()  # all of it is in the oldest generation now
        gc.disable()
        try:
            views = [*panel.children]
            kept = [weakref.ref(each) for view in views for each in view.walk_children(with_self=True)]
            panel._views.clear()
            await panel.remove_children()
            await panel.mount(Static("x"))
            del views[:]
            for _ in range(2):
                app.screen.refresh(layout=True)
                await pilot.pause()
            gc.collect(1)
            alive = {type(each).__name__ for each in (ref() for ref in kept) if each is not None}
        finally:
            gc.enable()
        assert len(kept) > 10
        assert alive & {"ActionCard", "UserText", "AgentText", "MarkdownFence"} == set()
