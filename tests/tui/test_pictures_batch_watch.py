"""Golden pictures of `ohw batch watch`: running, finished and failed runs, one attempt, and the plots."""

from tests.batch.outcomes import SMALL
from tests.batch.watched import failed_run, finished_run, running_run, tasks
from tests.tui.app_driver import wait_until
from tests.tui.pictures import in_each_look, text_on
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
            await wait_until(pilot, lambda: "needs an approval" in text_on(app))

        assert picture(app, look, show)


@in_each_look
def test_finished(look, picture, tmp_path):
    app = watch_app(finished_run(tmp_path / "nightly"), look)

    async def show(pilot):
        await wait_until(pilot, lambda: "126 of 126" in text_on(app))
        await pilot.press("down", "right")
        await wait_until(pilot, lambda: "[" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_failed(look, picture, tmp_path):
    app = watch_app(failed_run(tmp_path / "nightly"), look)

    async def show(pilot):
        await wait_until(pilot, lambda: "7 of 9" in text_on(app))
        await pilot.press("f")
        await wait_until(pilot, lambda: "7 of 9 tasks" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_waiting_attempt(look, picture, tmp_path):
    with running_run(tmp_path / "nightly", now=clock.now().timestamp()) as run:
        app = watch_app(run, look, page=(tasks(4)[3].id, SMALL, 2))

        async def show(pilot):
            await wait_until(pilot, lambda: "a Answer" in text_on(app))

        assert picture(app, look, show)


@in_each_look
def test_plots(look, picture, tmp_path):
    app = watch_app(finished_run(tmp_path / "nightly"), look, shows_plots=True)

    async def show(pilot):
        await wait_until(pilot, lambda: "Cost in US dollars" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_report(look, picture, tmp_path):
    app = watch_app(finished_run(tmp_path / "nightly"), look)

    async def show(pilot):
        await wait_until(pilot, lambda: "126 of 126" in text_on(app))
        await pilot.press("r")
        await wait_until(pilot, lambda: "Solved by model" in text_on(app))

    assert picture(app, look, show)
