"""`ohw batch watch` in an app: moving in the grid, filters, the pages of attempts, and what it remembers."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.batch.outcomes import LARGE, SMALL, outcome, solved, write_run
from tests.batch.watched import MODELS, attempt_files, finished_run, running_run, tasks
from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, show_events, text_on
from workbench.batch.attempt import TaskAttempt
from workbench.batch.results import Results
from workbench.batch.run_directory import RunDirectory
from workbench.batch.watched_run import WatchedRun
from workbench.config.settings import Settings
from workbench.tui.batch_watch_app import BatchWatchApp
from workbench.tui.screens.batch_watch.attempts import AttemptPage, AttemptsScreen
from workbench.tui.screens.batch_watch.grid import WatchGrid
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.screens.race_watch import RaceWatchScreen
from workbench.view import clock
from workbench.view.batch_watch import WatchPosition


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr("workbench.tui.screens.batch_watch.watch._EVERY", 0.05)


def watch(run, position=None):
    directory = RunDirectory(run)
    return BatchWatchApp(WatchedRun(directory), position or WatchPosition(), Settings())


async def shows(pilot, *texts):
    await wait_until(pilot, lambda: all(text in text_on(pilot.app) for text in texts))


async def test_cursor_filter_search_and_order(tmp_path):
    position = WatchPosition()
    app = watch(finished_run(tmp_path / "run"), position)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "126 of 126", "14 of 14 tasks")
        await pilot.press("end", "right", "right", "right")
        await wait_until(pilot, lambda: (position.task, position.model) == ("shop-14", MODELS[2]))
        await pilot.press("f", "f", "f")
        await shows(pilot, "6 of 14 tasks · stopped")
        await pilot.press("slash", *"money")
        await shows(pilot, 'stopped · "money"')
        await pilot.press("enter", "s", "s")
        await shows(pilot, "by cost")
        await pilot.press("escape")
        await shows(pilot, "14 of 14 tasks · by cost")
    assert (position.group, position.words, position.sort) == ("all", "", "cost")


async def test_columns_that_do_not_fit_follow_the_cursor(tmp_path):
    models = tuple(f"lab/model-{number}" for number in range(12))
    ended = [solved("shop-01", model) for model in models]
    app = watch(write_run(tmp_path / "run", tasks(1), ended, models))
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "lab/model-0")
        assert "lab/model-11" not in text_on(app)
        await pilot.press(*["right"] * 11)
        await shows(pilot, "lab/model-11", "‹")
        await pilot.click(WatchGrid, offset=(20, 0))
        await wait_until(pilot, lambda: isinstance(app.screen, AttemptPage))
        assert app.screen.names[1] == "lab/model-8"


async def test_attempts_of_a_cell_and_what_one_left(tmp_path):
    run = finished_run(tmp_path / "run")
    attempt_files(run, tasks(1)[0], MODELS[0], 1)
    app = watch(run)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "126 of 126")
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, AttemptsScreen))
        await pilot.press("enter")
        await shows(pilot, "CHECK OUTPUT", "d Diff")
        await pilot.press("t")  # its outcome names no session
        assert isinstance(app.screen, AttemptPage)
        await pilot.press("d")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))
        await shows(pilot, "except KeyError")
        await pilot.press("b", "escape")
        await shows(pilot, "CHECK OUTPUT")
        await pilot.press("c")
        await wait_until(pilot, lambda: type(app.screen) is PagerScreen)
        await shows(pilot, "Output of the check", "1 failed, 4 passed")


async def test_new_outcomes_and_questions_appear_while_it_is_watched(tmp_path):
    with running_run(tmp_path / "run", now=clock.now().timestamp()) as path:
        app = watch(path, WatchPosition(task="shop-04", model=SMALL))
        async with app.run_test(size=(120, 40)) as pilot:
            await shows(pilot, "27 of 48", "1 waiting for an answer", "Install the dependencies needs an approval")
            results = Results(path / "results.sqlite")
            results.add(solved("shop-05", SMALL, 2))
            results.close()
            await shows(pilot, "28 of 48", "10 solved")
            await pilot.press("f", "f", "f", "f", "f", "enter", "down", "enter")
            await shows(pilot, "waiting for an answer", "a Answer")
            question = path / "attempts" / app.screen._status_of_attempt.attempt.key / "question"
            question.unlink()
            await shows(pilot, "● running", "t Timeline")
            await pilot.press("t")
            await wait_until(pilot, lambda: app.position.opened is not None)
    assert app.position.opened.session == "20261121-shop-04-0003"


async def test_screen_is_as_it_was_after_a_session(tmp_path):
    run = finished_run(tmp_path / "run")
    results = Results(run / "results.sqlite")
    results.add(outcome("shop-02", MODELS[1], 1, ending="error", session="20261121-shop-02-abcd"))
    results.close()
    position = WatchPosition(task="shop-02", model=MODELS[1])
    app = watch(run, position)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "126 of 126")
        await pilot.press("f")
        await shows(pilot, "· failed")
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, AttemptsScreen))
        await pilot.press("enter")
        await shows(pilot, "t Timeline")
        await pilot.press("t")
        await wait_until(pilot, lambda: any("there is no session file" in each.message for each in app._notifications))
        (run / "sessions" / "20261121-shop-02-abcd.session").write_bytes(b"")
        await pilot.press("t")
        await wait_until(pilot, lambda: position.opened is not None)
    assert position.opened.file == run / "sessions" / "20261121-shop-02-abcd.session"
    again = watch(run, position)
    async with again.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: isinstance(again.screen, AttemptPage))
        assert again.screen.names == ("shop-02", MODELS[1], 1)
        await pilot.press("escape")
        await shows(pilot, "· failed")
        assert again.query_one(WatchGrid).task_id == "shop-02"


async def test_bell_rings_for_a_new_question(tmp_path, monkeypatch):
    with running_run(tmp_path / "run", now=clock.now().timestamp()) as path:
        app = watch(path)
        bells = []
        monkeypatch.setattr(app, "bell", lambda: bells.append(1))
        async with app.run_test(size=(120, 40)) as pilot:
            await shows(pilot, "1 waiting for an answer")
            assert not bells, "it was waiting already"
            (path / "attempts" / TaskAttempt(tasks(3)[2], SMALL, 2).key / "question").write_text("HIGH: rm")
            await shows(pilot, "2 waiting for an answer")
            await wait_until(pilot, lambda: bells)


async def test_only_what_is_in_sight_of_20_000_tasks_is_painted(tmp_path, monkeypatch):
    painted = []
    line = WatchGrid.line
    monkeypatch.setattr(WatchGrid, "line", lambda grid, index, width: painted.append(index) or line(grid, index, width))
    app = watch(write_run(tmp_path / "run", tasks(20_000), [], (SMALL,)))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "20,000 of 20,000 tasks")
        await pilot.press("end")
        await shows(pilot, "shop-20000")
        assert len(set(painted)) < 100


async def test_plots_are_shown_in_place_of_the_grid(tmp_path):
    app = watch(finished_run(tmp_path / "run"))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "126 of 126")
        await pilot.press("p")
        await shows(pilot, "Solved attempts", "Cost in US dollars")
        await pilot.press("p", "down")
        await wait_until(pilot, lambda: app.position.task == "shop-02")
        assert app.query_one(WatchGrid).has_focus


async def test_plots_without_their_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "workbench.tui.screens.batch_watch.plots", None)
    app = watch(finished_run(tmp_path / "run"))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "126 of 126")
        await pilot.press("p")
        await wait_until(pilot, lambda: any("textual-plotext" in each.message for each in app._notifications))
        assert "14 of 14 tasks" in text_on(app)


async def test_second_ctrl_c_quits(tmp_path):
    app = watch(finished_run(tmp_path / "run"))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "126 of 126")
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: any("the run continues" in each.message for each in app._notifications))
        await pilot.press("ctrl+c")
    assert app.return_code == 0


async def test_run_that_disappears_is_reported_and_stays_in_sight(tmp_path):
    run = finished_run(tmp_path / "run")
    app = watch(run)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "126 of 126")
        os.truncate(run / "run.json", 0)
        os.utime(run / "run.json", (1, 1))
        await shows(pilot, "run.json", "cannot be read")
        assert "126 of 126" in text_on(app)


async def test_hostile_names_change_nothing_but_their_cells(tmp_path):
    hostile = f"lab/\x1b[2J\u202e{LARGE}"
    ended = [outcome("shop-01", hostile, ending="error", detail="\x1b]0;x\x07 [bold]no[/bold]")]
    app = watch(write_run(tmp_path / "run", tasks(1), ended, (hostile,)))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "■ error", "[bold]no[/bold]")
        await pilot.press("enter")
        await shows(pilot, "ATTEMPT", "[bold]no[/bold]")
        assert text_on(app).replace("\n", "").isprintable()


async def test_deleted_run_is_said_to_be_deleted(tmp_path):
    run = finished_run(tmp_path / "run")
    app = watch(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "126 of 126")
        shutil.rmtree(run)
        await shows(pilot, "the run was deleted")
        assert "running" not in text_on(app)


async def test_watched_race_is_closed_without_the_app(tmp_path, directory):
    run = WatchedRun(RunDirectory(finished_run(tmp_path / "run")))
    client, app = app_with(finished(), directory, "ohw-dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await show_events(pilot, client, finished())
        for keys in (("f", "escape", "escape"), ("q",)):
            app.push_screen(RaceWatchScreen(run, WatchPosition(), lambda opened: None))
            await shows(pilot, "14 of 14 tasks", "q Close")
            await pilot.press(*keys)
            await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert app.is_running
