"""Golden pictures of `ohw batch watch`: running, finished and failed runs, one attempt, and the plots."""

import pytest

from tests.batch.outcomes import SMALL as SMALL_MODEL
from tests.batch.watched import MODELS, attempt_files, failed_run, finished_run, running_run, tasks
from tests.tui.app_driver import wait_until
from tests.tui.pictures import LARGE, SMALL, USUAL, in_each_look, in_looks, text_on
from workbench.batch.run_directory import RunDirectory
from workbench.batch.watched_run import WatchedRun
from workbench.config.settings import Settings
from workbench.tui.batch_watch_app import BatchWatchApp
from workbench.view import clock
from workbench.view.batch_watch import WatchPosition


def watch_app(run, look, **chosen):
    directory = RunDirectory(run)
    watched = WatchedRun(directory, clock=lambda: clock.now().timestamp())
    return BatchWatchApp(watched, WatchPosition(**chosen), Settings(theme=look.theme))


@in_each_look
def test_running(look, picture, tmp_path):
    with running_run(tmp_path / "nightly", now=clock.now().timestamp()) as run:
        app = watch_app(run, look, task="shop-04", model="lab/small")

        async def show(pilot):
            await wait_until(pilot, lambda: "27 of 48" in text_on(app))

        assert picture(app, look, show)


@in_each_look
def test_finished(look, picture, tmp_path):
    app = watch_app(finished_run(tmp_path / "nightly"), look)

    async def show(pilot):
        await wait_until(pilot, lambda: "126 of 126" in text_on(app))
        await pilot.press("down", "right")
        await wait_until(pilot, lambda: "[" in text_on(app))

    assert picture(app, look, show)


@in_looks(SMALL, USUAL)
def test_failed(look, picture, tmp_path):
    app = watch_app(failed_run(tmp_path / "nightly"), look)

    async def show(pilot):
        await wait_until(pilot, lambda: "7 of 9" in text_on(app))
        await pilot.press("f")
        await wait_until(pilot, lambda: "7 of 9 tasks" in text_on(app))

    assert picture(app, look, show)


@in_looks(SMALL)
def test_failed_attempt(look, picture, tmp_path):
    run = failed_run(tmp_path / "nightly")
    app = watch_app(run, look, page=(tasks(2)[1].id, SMALL_MODEL, 1))

    async def show(pilot):
        await wait_until(pilot, lambda: "SETUP OUTPUT" in text_on(app))

    assert picture(app, look, show)


@in_looks(USUAL)
def test_waiting_attempt(look, picture, tmp_path):
    with running_run(tmp_path / "nightly", now=clock.now().timestamp()) as run:
        app = watch_app(run, look, page=(tasks(4)[3].id, SMALL_MODEL, 2))

        async def show(pilot):
            await wait_until(pilot, lambda: "a Answer" in text_on(app))

        assert picture(app, look, show)


@in_looks(USUAL)
def test_diff(look, picture, tmp_path):
    run = finished_run(tmp_path / "nightly")
    attempt_files(run, tasks(1)[0], MODELS[0], 1)
    app = watch_app(run, look, page=("shop-01", MODELS[0], 1))

    async def show(pilot):
        await wait_until(pilot, lambda: "CHECK OUTPUT" in text_on(app))
        await pilot.press("d")
        await wait_until(pilot, lambda: "except KeyError" in text_on(app))

    assert picture(app, look, show)


@in_looks(SMALL)
def test_attempts_of_a_cell(look, picture, tmp_path):
    app = watch_app(finished_run(tmp_path / "nightly"), look)

    async def show(pilot):
        await wait_until(pilot, lambda: "126 of 126" in text_on(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "#3" in text_on(app))

    assert picture(app, look, show)


@in_looks(USUAL, LARGE)
def test_plots(look, picture, tmp_path):
    app = watch_app(finished_run(tmp_path / "nightly"), look, shows_plots=True)

    async def show(pilot):
        await wait_until(pilot, lambda: "Cost in US dollars" in text_on(app))

    assert picture(app, look, show)


@pytest.fixture
def plain_terminal(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("OHW_ASCII", "1")


@in_looks(SMALL)
@pytest.mark.usefixtures("plain_terminal")
def test_without_colors_and_unicode(look, picture, tmp_path):
    with running_run(tmp_path / "nightly", now=clock.now().timestamp()) as run:
        app = watch_app(run, look)

        async def show(pilot):
            await wait_until(pilot, lambda: "27 of 48" in text_on(app))

        assert picture(app, look, show)
