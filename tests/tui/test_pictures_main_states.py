"""Golden pictures of rarer states of the main screen: one app for all of them at each size."""

import pytest
from msgspec.structs import replace
from textual import events as keys

from tests.sample_images import png
from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import working
from tests.tui.pictures import Look, app_with, at_rest, in_each_look, in_looks, is_settled, show_events
from tests.tui.sample_session import START
from workbench.client.client import Disconnected
from workbench.protocol import live
from workbench.session.mentions import message
from workbench.tui.widgets.composer import Attachments
from workbench.tui.widgets.message_queue import QueueList
from workbench.tui.widgets.prompt import Prompt


def with_queue(place):
    """Return the session at work with two queued messages."""
    events = working()
    seq = max(getattr(event, "seq", 0) for event in events)
    texts = [("This is how it should look: @expected.png", ["expected.png"]), ("And say so in the README.", [])]
    waiting = [
        replace(message(str(place), text, named), seq=seq + 1 + at, at=START) for at, (text, named) in enumerate(texts)
    ]
    return [*events[:-1], *waiting, events[-1]]


async def writing(app, pilot):
    prompt = app.screen.query_one(Prompt)
    prompt.post_message(keys.Paste("expected.png"))
    prompt.post_message(keys.Paste("\n".join(f"{number}.50" for number in range(214))))
    await wait_until(pilot, lambda: app.screen.query_one(Attachments).images and "pasted" in prompt.text)
    await pilot.press("escape")


async def choosing_in_the_queue(app, pilot):
    prompt = app.screen.query_one(Prompt)
    prompt.load_text("")
    await pilot.press("k")
    await wait_until(pilot, lambda: app.screen.query_one(QueueList).has_focus)


async def timeline_alone(app, pilot):
    await pilot.press("f2", "f6")
    await wait_until(pilot, lambda: app.screen.has_class("-zoomed"))


async def changes_open(app, pilot):
    await pilot.press("f6", "f4")
    await wait_until(pilot, lambda: app.focused is not None and app.focused.id == "changes")


async def not_saved(app, pilot):
    app.screen.client.bring(live.EngineState(state="acting", detail="not saved: no space left on device"))
    await wait_until(pilot, lambda: "saved" in app.state.work_detail)


async def engine_gone(app, pilot):
    app.screen.client.bring(Disconnected("The agent process stopped. Your next answer or message restarts it"))
    await wait_until(pilot, lambda: app.state.work == "lost")


async def controlled_by_another_screen(app, pilot):
    app.screen.client.bring(live.EngineState(state="idle"), live.ControlState(has_control=False, others=1))
    await wait_until(pilot, lambda: not app.state.has_control)


STATES = [
    writing,
    choosing_in_the_queue,
    timeline_alone,
    changes_open,
    not_saved,
    engine_gone,
    controlled_by_another_screen,
]
"""Each follows from those before it."""


@in_each_look
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_states(state, look, directory, picture):
    (directory / "expected.png").write_bytes(png(640, 480))
    events = with_queue(directory)
    client, app = app_with(events, directory, look.theme, terminal={"vim": True})

    async def show(pilot):
        await show_events(pilot, client, events)
        for each in STATES[: STATES.index(state) + 1]:
            await each(app, pilot)
            await at_rest(pilot)

    assert picture(app, look, show)


@in_looks(Look(44, 11, "ohw-dark"))
def test_tiny(look, directory, picture):
    events = working()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        client.bring(live.EngineState(state="acting"))
        await wait_until(pilot, lambda: app.state.work == "acting" and is_settled(app, events))

    assert picture(app, look, show)
