"""The view of a run in a terminal, and the numbers in it."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from tests.batch.runs import QUICK, task, write_tasks
from tests.batch.test_batch import FINISH, WRITE
from tests.sandbox import Sandbox
from tests.terminal.terminal import Terminal
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_progress import AttemptProgress
from workbench.batch.pace import remaining_seconds
from workbench.batch.progress import Progress, RunningAttempt, outcome_line
from workbench.batch.task import TaskSpec


def outcome(number: int, **fields: object) -> AttemptOutcome:
    return AttemptOutcome(f"t{number}", "m", 1, **{"ending": "finished", "total_seconds": 10.0, **fields})


def test_view_changes_in_place_and_ends_with_all_outcomes(sandbox: Sandbox):
    model = sandbox.script(WRITE, FINISH)
    tasks = write_tasks(sandbox, *(task(number, check="false" if number == 3 else "true") for number in range(8)))
    arguments = ["batch", tasks, "-o", "run", "--model", model, "--sandbox", "off", "--max-parallel", "2"]
    with Terminal(arguments, 80, 24, {**sandbox.env, **QUICK}, cwd=sandbox.project) as terminal:
        terminal.wait_for("8 of 8")
        text = terminal.wait_for("check: exit code 1")
        assert terminal.wait_exit() == 0
    assert "7 solved · 1 unsolved" in text
    assert text.count("of 8") == 1


def test_view_has_the_slowest_the_newest_failures_and_the_remaining_time():
    now = [0.0]
    running = {str(n): RunningAttempt(TaskAttempt(TaskSpec(f"r{n}", "x"), "m", 1), float(10 - n)) for n in range(6)}
    questions = {"r4": "HIGH: Install\x1b[2J it needs an approval"}
    spent = {"r5": AttemptProgress(3, cost=0.5, activity="Run\x1b[2J it", at=time.time() - 600)}
    progress = Progress(
        40,
        running,
        clock=lambda: now[0],
        question_of=lambda attempt: questions.get(attempt.task.id, ""),
        progress_of=lambda attempt: spent.get(attempt.task.id),
    )
    now[0] = 60.0
    for number in range(10):
        progress.add(outcome(number, solved=number != 4, cost=0.1, detail="check: exit code 1" if number == 4 else ""))
    assert progress.lines(100) == [
        "██████░░░░░░░░░░░░░░░░░░  10 of 40   9 solved · 1 unsolved   $1.50",
        "1m 00s · 10.0/min · $1.50/min · 50s to 50s left",
        "● r5  m #1   55s   3 steps  $0.5000   Run\\e[2J it, 10m 00s ago",
        "? r4  m #1   54s   HIGH: Install\\e[2J it needs an approval",
        "● r3  m #1   53s",
        "● r2  m #1   52s",
        "  and 2 more",
        "✗ unsolved  t4 #1   check: exit code 1   m",
    ]
    assert all(len(line) <= 40 for line in progress.lines(40))


def test_hostile_names_and_details_change_nothing_but_their_line():
    hostile = AttemptOutcome("t\x1b[2J", "m\n", 1, "error", "line\x1b]0;x\x07\nnext")
    for line in (outcome_line(hostile, as_json=False), outcome_line(hostile, as_json=True)):
        assert line.isprintable()


@given(st.lists(st.floats(0.1, 1e5), min_size=5, max_size=50), st.integers(1, 10**5), st.integers(1, 500))
def test_remaining_time_is_around_the_mean(durations: list[float], remaining: int, parallel: int):
    low, high = remaining_seconds(durations, remaining, parallel)
    expected = remaining * sum(durations) / len(durations) / parallel
    assert 0 <= low <= expected * 1.000001
    assert expected <= high * 1.000001
