"""`ohw batch diff`: what a later run solves that an earlier one did not."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.batch.outcomes import LARGE, SMALL, outcome, solved, task, unsolved, write_run
from tests.sandbox import Sandbox
from workbench.batch.comparison_document import document_of_comparison
from workbench.batch.run_comparison import ComparedRun, RunComparison, compare_runs

TASKS = [task(f"t{i}") for i in range(8)]


def compared(before, now) -> RunComparison:
    return compare_runs(ComparedRun("one", before, TASKS), ComparedRun("two", now, TASKS))


def test_tasks_are_compared_by_model_and_tested():
    before = [unsolved(f"t{i}", cost=1.0, steps=10) for i in range(7)] + [solved("t7", cost=1.0, steps=10)]
    now = [solved(f"t{i}", cost=0.5, steps=6) for i in range(7)] + [unsolved("t7", cost=0.5, steps=6)]
    numbers = compared(before, now)
    assert (numbers.tasks, numbers.better, numbers.worse, numbers.p) == (8, 7, 1, 0.0703125)
    assert (numbers.before.rate, numbers.now.rate) == (1 / 8, 7 / 8)
    assert (numbers.before.cost, numbers.now.cost, numbers.before.steps, numbers.now.steps) == (8.0, 4.0, 80, 48)
    assert {(change.task, change.model) for change in numbers.changes} == {(f"t{i}", SMALL) for i in range(8)}


def test_only_models_of_both_runs_are_compared():
    numbers = compared([solved("t1"), solved("t1", LARGE)], [unsolved("t1"), solved("t1", "lab/new")])
    assert (numbers.models, numbers.before.own_models, numbers.now.own_models) == ([SMALL], [LARGE], ["lab/new"])
    assert (numbers.better, numbers.worse) == (0, 1)


def test_runs_without_a_common_model_are_compared_by_task():
    numbers = compared([unsolved("t1"), solved("t1", number=2)], [solved("t1", LARGE)])
    (change,) = numbers.changes
    assert (change.model, change.before.rate, change.now.rate, numbers.better) == ("", 0.5, 1.0, 1)


def test_model_that_gains_what_another_loses_changes_no_task():
    before = [solved("t1"), unsolved("t1", LARGE)]
    now = [unsolved("t1"), solved("t1", LARGE)]
    assert (compared(before, now).better, compared(before, now).worse) == (0, 0)


def test_task_without_a_check_is_neither_better_nor_worse():
    numbers = compared([outcome("docs", steps=2)], [outcome("docs", steps=3)])
    assert (numbers.tasks, numbers.checked, numbers.now.rate, numbers.now.steps) == (1, 0, None, 3)


def test_tasks_that_are_not_the_same_in_both_runs_are_named():
    outcomes = [solved(name) for name in ("t1", "t2", "t3")]
    before = [task(name) for name in ("t1", "t2", "t3")]
    now = [task("t1", prompt="Another."), task("t2", max_steps=9), task("t3", check="true")]
    numbers = compare_runs(ComparedRun("one", outcomes, before), ComparedRun("two", outcomes, now))
    assert numbers.altered == ["t1", "t3"]
    (section,) = [each for each in document_of_comparison(numbers).sections if each.title == "Altered tasks"]
    assert list(section.rows) == [("t1",), ("t3",)]


@pytest.fixture
def runs(sandbox: Sandbox) -> list[str]:
    tasks = [task("cart"), task("gone"), task("docs", check="")]
    write_run(sandbox.project / "one", tasks, [unsolved("cart"), solved("gone"), outcome("docs")])
    later = [task("cart"), task("=new\x1b[31m"), task("docs", check="")]
    write_run(sandbox.project / "two", later, [solved("cart"), solved("=new\x1b[31m"), outcome("docs")])
    return ["one", "two"]


def test_table_says_what_changed_and_names_tasks_in_one_run_only(sandbox: Sandbox, runs: list[str]):
    text = sandbox.command("batch", "diff", *runs).stdout
    assert "0/1 → 1/1" in text
    assert "1 task better, 0 worse, 0 the same; exact two-sided sign test: p = 1.000" in text
    assert "1 task without a check in at least one run" in text
    assert "gone" in text
    assert "=new\\e[31m" in text


def test_formats_are_those_of_the_report(sandbox: Sandbox, runs: list[str]):
    assert json.loads(sandbox.command("batch", "diff", "--json", *runs).stdout)["before"]["own_tasks"] == ["gone"]
    rows = list(csv.DictReader(io.StringIO(sandbox.command("batch", "diff", *runs, "--csv").stdout)))
    assert [(row["task"], row["rate_before"], row["rate_now"]) for row in rows] == [
        ("cart", "0.0", "1.0"),
        ("docs", "", ""),
    ]
    assert sandbox.command("batch", "diff", *runs, "-o", "d.html").returncode == 0
    assert "<script" not in (sandbox.project / "d.html").read_text()
    assert "| Task |" in sandbox.command("batch", "diff", *runs, "--markdown").stdout


def test_runs_without_a_common_task_are_no_error(sandbox: Sandbox):
    write_run(sandbox.project / "one", [task("cart")], [solved("cart")])
    write_run(sandbox.project / "two", [task("mail")], [])
    done = sandbox.command("batch", "diff", "one", "two")
    assert (done.returncode, "0 tasks in both runs" in done.stdout) == (0, True)


def test_help_lists_the_commands_and_a_path_is_a_file(sandbox: Sandbox):
    text = sandbox.command("batch", "--help").stdout
    assert "ohw batch report" in text
    assert "ohw batch diff" in text
    assert "RUN1" in sandbox.command("batch", "diff", "--help").stdout
    refused = sandbox.command("batch", "./report", "-o", "run")
    assert (refused.returncode, "report" in refused.stderr) == (2, True)
