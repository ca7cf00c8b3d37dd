"""Golden pictures of the container of a session: starting, up and failed, on the first line, below and on its page."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import MODEL, begun, finished
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from tests.tui.sample_session import Script
from workbench.client.client import Disconnected
from workbench.errors import UsageError
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.sandbox.container import CANNOT_START
from workbench.sandbox.container_image import PULLING
from workbench.sandbox.container_runtime import ContainerRuntime, failure_of
from workbench.tui.screens.pager import PagerScreen

IMAGE = "python:3.12"
LONG = "ghcr.io/acme/development/images/python-with-everything:2026-11"
DISTROLESS = "gcr.io/distroless/static"
PULLED = "Copying blob sha256:3f4ca61aafcd done"
NO_SHELL = failure_of('exec: "bash": executable file not found in $PATH', DISTROLESS)
ASKED = "`-3` is read as `3`. Find out why, fix it, and add tests."


def asked() -> list[ev.Event]:
    """Return the events of a session before the first response of its model."""
    return Script().start(model=MODEL).user(ASKED).events


def state(phase: str, image: str = IMAGE, failure: str = "", detail: str = "", work: str = "idle") -> live.EngineState:
    return live.EngineState(
        state=work,
        detail=detail,
        sandbox="workspace-write",
        container=image,
        container_phase=phase,
        container_failure=failure,
        container_network="ask",
    )


@in_each_look
@pytest.mark.parametrize("image", [IMAGE, LONG], ids=["first_line", "first_line_with_a_long_name"])
def test_first_line_names_the_container(image, look, directory, picture):
    events = [*begun().events, live.EngineState(state="thinking")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(state("up", image, work="thinking"))
        await wait_until(pilot, lambda: "container" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_pulling(look, directory, picture):
    detail = f"{PULLING}: {PULLED}"
    events = [*asked(), state("starting", work="thinking", detail=detail)]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(events[-1])
        await wait_until(pilot, lambda: PULLING in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_image_without_a_shell(look, directory, picture):
    script = Script().start(model=MODEL).user(ASKED)
    script.add(ev.RunEnded, reason="error", detail=CANNOT_START.format(reason=NO_SHELL))
    events = [*script.events, live.EngineState(state="idle")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(state("failed", DISTROLESS, NO_SHELL))
        await wait_until(pilot, lambda: "no container" in text_on(app) and "has no bash" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_docker_absent(look, directory, picture, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        with pytest.raises(UsageError, match="no docker here") as absent:
            ContainerRuntime.find("docker")
    events = [*asked(), live.EngineState(state="starting")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events[:-1])
        client.bring(Disconnected(str(absent.value), for_good=True))
        await wait_until(pilot, lambda: "there is no docker here" in text_on(app))

    assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize(
    ("phase", "failure", "words"),
    [
        ("starting", "", "is being started"),
        ("up", "", "which is up"),
        ("failed", NO_SHELL, "has no bash"),
    ],
    ids=["page_starting", "page", "page_without"],
)
def test_page(phase, failure, words, look, directory, picture):
    events = [*finished()[:-1], live.EngineState(state="idle")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(state(phase, DISTROLESS if failure else IMAGE, failure))
        await wait_until(pilot, lambda: app.state.container_phase == phase)
        await pilot.press(*"/sandbox", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen) and words in text_on(app))

    assert picture(app, look, show)
