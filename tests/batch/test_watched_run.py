"""A run is read again and again from its directory: what has ended, what runs, and what waits for an answer."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.batch.outcomes import LARGE, SMALL, outcome, solved, unsolved, write_run
from tests.batch.watched import START, failed_run, finished_run, running_run, tasks, write_progress
from workbench.batch.attempt_page import attempt_text
from workbench.batch.attempt_progress import AttemptProgress
from workbench.batch.attempt_states import STATE_GROUPS, URGENCY
from workbench.batch.elsewhere import ElsewhereList, RunningElsewhere
from workbench.batch.results import Results, ResultsReader
from workbench.batch.run_directory import RunDirectory
from workbench.batch.watched_run import WatchedRun
from workbench.errors import UsageError, WorkbenchError
from workbench.view.batch_watch import SORTS, curves_of, round_ticks, status_in, visible_rows


def watched(path, now=START):
    return WatchedRun(RunDirectory(path), clock=lambda: now)


@pytest.fixture
def results(tmp_path):
    with closing(Results(tmp_path / "results.sqlite")) as results:
        yield results


class Counted(ResultsReader):
    """Counts the rows that are decoded."""

    rows = 0

    def _rows_after(self, connection, row):
        rows = super()._rows_after(connection, row)
        self.rows += len(rows)
        return rows


def test_each_outcome_is_read_once(tmp_path, results):
    reader = Counted(tmp_path / "results.sqlite")
    for number in range(20):
        results.add(solved(f"t{number}"))
        assert reader.refresh()
        assert len(reader.outcomes) == number + 1
    assert not reader.refresh()
    assert reader.rows == 20


def test_repeated_attempts_replace_what_they_were(tmp_path, results):
    reader = ResultsReader(tmp_path / "results.sqlite")
    for number in range(4):
        results.add(unsolved(f"t{number}", started=1.0))
    reader.refresh()
    # The database gives the number of the last row again once that row is removed.
    results.remove(("t3", SMALL, 1))
    results.add(solved("t3", started=2.0))
    assert reader.refresh()
    assert reader.outcomes["t3", SMALL, 1].state == "solved"
    results.remove(("t0", SMALL, 1))
    assert reader.refresh()
    assert sorted(names[0] for names in reader.outcomes) == ["t1", "t2", "t3"]
    results.add(solved("t1", started=2.0))  # in place of the earlier one
    reader.refresh()
    assert reader.outcomes["t1", SMALL, 1].state == "solved"
    assert len(reader.outcomes) == 3


def test_database_without_a_table_or_with_other_content(tmp_path):
    file = tmp_path / "results.sqlite"
    reader = ResultsReader(file)
    assert not reader.refresh()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE other (x)")
    assert not reader.refresh()
    file.write_bytes(b"no database at all, and long enough to be read as one" * 40)
    with pytest.raises(WorkbenchError, match="cannot be read"):
        reader.refresh()


def test_finished_run_has_all_figures(tmp_path):
    view = watched(finished_run(tmp_path / "run")).read()
    assert (view.phase, view.done, view.total) == ("finished", 126, 126)
    assert sum(view.states.values()) == 126
    assert view.cost == pytest.approx(15.02, abs=0.01)
    assert view.pace.remaining is None
    assert set(view.states) <= set(URGENCY)


def test_running_attempts_and_those_that_wait(tmp_path):
    with running_run(tmp_path / "run", now=START) as path:
        run = watched(path)
        view = run.read()
        assert (view.phase, view.done, view.states["running"], view.states["waiting"]) == ("running", 27, 3, 1)
        assert view.pace.per_minute == pytest.approx(5.4)
        low, high = view.pace.remaining
        assert 0 < low < high
        waiting = status_in(view, ("shop-04", SMALL, 2))
        assert waiting.question.startswith("MEDIUM: ")
        assert waiting.seconds(START) == 36
        assert run.read().rows is view.rows, "nothing has changed"
        (path / "attempts" / waiting.attempt.key / "question").unlink()
        assert status_in(run.read(), ("shop-04", SMALL, 2)).state == "running"
        elsewhere = WatchedRun(RunDirectory(path), tmp_path / "no-sessions", clock=lambda: START)
        status = status_in(elsewhere.read(), ("shop-04", SMALL, 2))
        assert (status.state, status.session) == ("running", "")
        assert "on another machine" in attempt_text(run.directory, status, START)
    view = run.read()
    assert (view.phase, view.states["pending"]) == ("interrupted", 21)
    assert "runs on another machine" in attempt_text(run.directory, status_in(view, ("shop-04", SMALL, 2)), START)


def test_running_attempts_count_with_what_they_have_spent_so_far(tmp_path):
    with running_run(tmp_path / "run", now=START) as path:
        run = watched(path)
        view = run.read()
        ended = sum(outcome.cost for outcome in run._results.outcomes.values())
        assert view.cost == pytest.approx(ended + 0.04 + 0.08 + 0.12)
        assert view.pace.dollars == pytest.approx(view.cost / 5)  # in five minutes
        waiting = status_in(view, ("shop-04", SMALL, 2))
        assert (waiting.progress.steps, waiting.cost) == (6, pytest.approx(0.12))
        running = status_in(view, ("shop-03", SMALL, 2))
        assert "activity   Run the tests, 3s ago" in attempt_text(run.directory, running, START)
        write_progress(path / "attempts" / running.attempt.key, steps=9, cost=1.0, activity="Edit prices.py", at=START)
        later = run.read()
        assert later.cost == pytest.approx(ended + 1.0 + 0.08 + 0.12)
        assert status_in(later, running.attempt.names).progress.activity == "Edit prices.py"
        assert later.states == view.states
        assert [now is before for now, before in zip(later.rows, view.rows, strict=True)].count(False) == 1
        (path / "attempts" / running.attempt.key / "progress").write_text("cut of")
        assert status_in(run.read(), running.attempt.names).progress is None


def test_rows_of_running_attempts_are_those_of_a_new_reader(tmp_path):
    """What is built again in part is the same as what is built as a whole, whatever starts, ends or waits."""
    with running_run(tmp_path / "run", now=START) as path, closing(Results(path / "results.sqlite")) as results:
        run = watched(path)
        run.read()
        steps = [
            lambda files: write_progress(files, cost=0.5),
            lambda files: (files / "question").write_text("HIGH: Deploy needs an approval"),
            lambda files: (files / "lock").rename(files / "gone"),
            lambda files: results.add(solved("shop-03", SMALL, 2, cost=0.7)),
        ]
        for step in steps:
            step(path / "attempts" / status_in(run.read(), ("shop-03", SMALL, 2)).attempt.key)
            now, whole = run.read(), watched(path).read()
            assert now.rows == whole.rows
            assert {state: count for state, count in now.states.items() if count} == whole.states
            assert now.cost == pytest.approx(whole.cost)


def test_attempts_that_their_client_lists_run_on_other_machines(tmp_path):
    with running_run(tmp_path / "run", now=START) as path:
        attempt = status_in(watched(path).read(), ("shop-09", LARGE, 2)).attempt
        listed = {attempt.key: RunningElsewhere(START - 60, AttemptProgress(steps=3, cost=0.25))}
        ElsewhereList(path).store({**listed, "unknown-1": RunningElsewhere(START)})
        run = watched(path)
        status = status_in(run.read(), attempt.names)
        assert (status.state, status.session, status.cost, status.seconds(START)) == ("running", "", 0.25, 60)
    assert status_in(run.read(), attempt.names).state == "pending", "its client is gone"


def test_watched_run_can_be_continued(tmp_path):
    path = write_run(tmp_path / "run", tasks(2), [], (SMALL,))
    run = watched(path)
    assert run.read().total == 2
    directory = RunDirectory(path).open()
    directory.write(directory.options().extended((LARGE,), 2, {}))
    view = run.read()
    assert (view.is_running, view.total, list(view.models)) == (True, 8, [SMALL, LARGE])
    with pytest.raises(UsageError, match="working on"):
        RunDirectory(path).open()
    directory.close()
    assert not run.read().is_running


def test_outcomes_of_models_that_are_not_planned_any_more(tmp_path):
    path = write_run(tmp_path / "run", tasks(1), [solved("shop-01"), solved("gone", "lab/other", 3)], (SMALL,))
    view = watched(path).read()
    assert list(view.models) == [SMALL, "lab/other"]
    assert [row.task.id for row in view.rows] == ["shop-01", "gone"]


def test_tasks_are_filtered_and_sorted(tmp_path):
    specs = tasks(4)
    ended = [
        unsolved("shop-01", cost=0.1, total_seconds=5.0),
        outcome("shop-02", ending="error", cost=0.3, total_seconds=1.0),
        solved("shop-03", cost=0.2, total_seconds=9.0),
    ]
    view = watched(write_run(tmp_path / "run", specs, ended, (SMALL,))).read()

    def rows(group="all", words="", sort=SORTS[0]):
        return [row.task.id[-1] for row in visible_rows(view, group, words, sort)]

    assert {group: rows(group) for group in STATE_GROUPS if rows(group)} == {
        "all": ["1", "2", "3", "4"],
        "failed": ["2"],
        "unsolved": ["1"],
        "pending": ["4"],
        "solved": ["3"],
    }
    assert rows(words="MONEY shop") == ["3"]
    assert {sort: rows(sort=sort) for sort in SORTS} == {
        "task order": ["1", "2", "3", "4"],
        "state": ["2", "1", "4", "3"],
        "cost": ["2", "3", "1", "4"],
        "duration": ["3", "1", "2", "4"],
    }


def test_page_of_an_attempt_has_its_figures_and_the_ends_of_its_logs(tmp_path):
    run = watched(failed_run(tmp_path / "run"))
    status = status_in(run.read(), ("shop-02", SMALL, 1))
    log = run.directory.of_attempt(status.attempt.key) / "setup.log"
    log.write_text("".join(f"line {number}\n" for number in range(10_000)))
    text = attempt_text(run.directory, status, START)
    assert "⊘ setup" in text
    assert "uv: command not found" in text
    assert "line 9999" in text
    assert "line 99\n" not in text


def test_curves_rise_to_what_the_run_has_solved_and_cost(tmp_path):
    view = watched(finished_run(tmp_path / "run")).read()
    curves = curves_of(view)
    assert sum(curve.sums[-1] for curve in curves.solved) == view.states["solved"]
    assert sum(curve.sums[-1] for curve in curves.cost) == pytest.approx(view.cost)
    assert all(list(curve.sums) == sorted(curve.sums) for curve in (*curves.solved, *curves.cost))
    assert [list(round_ticks(most)) for most in (0, 7.4, 18)] == [[0, 1], [0, 2, 4, 6], [0, 5, 10, 15]]
