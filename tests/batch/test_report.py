"""`ohw batch report`: the numbers, and the formats they are written in."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tests.batch.outcomes import LARGE, SMALL, outcome, solved, task, unsolved, write_run
from tests.sandbox import Sandbox
from workbench.batch.document import ReportDocument
from workbench.batch.html_report import html_of
from workbench.batch.markdown_report import markdown_of
from workbench.batch.report import BatchReport, report_of
from workbench.batch.report_document import document_of
from workbench.batch.results import read_outcomes
from workbench.batch.run_directory import RunOptions
from workbench.batch.statistics import wilson
from workbench.batch.text_report import print_document

TASKS = [task("cart"), task("tax"), task("mail"), task("docs", check="")]
OUTCOMES = [
    solved("cart", number=1, steps=2),
    solved("cart", number=2),
    solved("tax", number=1),
    unsolved("tax", number=2, steps=10),
    unsolved("mail", number=1),
    outcome("mail", number=2, ending="stuck", detail="the same call 4 times"),
    outcome("docs", number=1),
    outcome("docs", number=2, ending="limit", detail="max_steps is reached"),
    solved("cart", LARGE, 1, cost=2.0),
    solved("tax", LARGE, 1, cost=2.0),
    outcome("mail", LARGE, 1, ending="setup", detail="exit code 127", cost=0.0),
    outcome("mail", LARGE, 2, ending="interrupted", cost=0.0),
]
HOSTILE = "<script>alert(1)</script>|`x`\x1b]0;owned\x07\u202e[a](http://evil)\n=1+1"


def report(outcomes=OUTCOMES, tasks=TASKS) -> BatchReport:
    return report_of("nightly", RunOptions((SMALL, LARGE), 2), tasks, outcomes)


def text_of(document: ReportDocument, width: int = 120) -> str:
    output = io.StringIO()
    print_document(document, Console(width=width, file=output, highlight=False, markup=False))
    return output.getvalue()


def test_solved_is_the_mean_over_tasks_and_n_is_the_number_of_tasks():
    small, large = report().models
    assert (small.tasks, small.checked, small.solved) == (3, 6, 3)
    assert small.rate == pytest.approx((1 + 0.5 + 0) / 3)
    assert (small.low, small.high) == wilson(0.5, 3)
    assert (large.tasks, large.rate) == (2, 1.0)


def test_attempts_without_a_check_are_done_and_in_no_rate():
    small, _ = report().models
    assert (small.unchecked, small.done) == (2, 1)
    only = report([outcome("docs")], [task("docs", check="")]).models[0]
    assert (only.rate, only.low, only.cost_per_solved, only.tasks) == (None, None, None, 0)


def test_attempts_in_which_no_agent_ran_are_in_no_rate():
    _, large = report().models
    assert (large.ran, large.never_ran, large.interrupted) == (2, 1, 1)
    assert "Not counted: 1 attempt without a result" in text_of(document_of(report()))


def test_solution_of_an_attempt_that_failed_is_none():
    broken = outcome("cart", ending="error", solved=True)
    assert report([broken]).models[0].rate == 0.0
    assert report([outcome("cart", ending="limit", solved=True)]).models[0].rate == 1.0


def test_cost_per_solved_task_includes_attempts_that_failed():
    small, large = report().models
    assert small.cost_per_solved == pytest.approx(6 * 0.5 / 3)
    assert large.cost_per_solved == pytest.approx(2.0)
    assert (small.steps, small.seconds, small.cost) == (4, 10.0, pytest.approx(4.0))
    assert (small.input, small.output) == (8000, 400)


def test_endings_come_with_their_most_frequent_details():
    first = report().endings[0]
    assert (first.model, first.ending, first.attempts, first.solved) == (SMALL, "finished", 6, 3)
    assert first.details == [("check: exit code 1", 2)]
    assert {each.ending for each in report().endings if each.model == SMALL} == {"finished", "stuck", "limit"}


def test_flaky_and_hardest_tasks_are_named():
    numbers = report()
    assert [(each.task, each.model, each.solved, each.attempts) for each in numbers.flaky] == [("tax", SMALL, 1, 2)]
    assert numbers.solved_by_none == ["mail"]
    assert numbers.solved_by_all == ["cart"]


def test_models_are_compared_on_the_tasks_that_both_tried():
    (pair,) = report().pairs
    assert (pair.tasks, pair.first_better, pair.second_better, pair.p) == (2, 0, 1, 1.0)
    assert (pair.first_rate, pair.second_rate) == (0.75, 1.0)
    eight = [task(f"t{i}") for i in range(8)]
    outcomes = [each for i in range(8) for each in (solved(f"t{i}"), unsolved(f"t{i}", LARGE))]
    outcomes[0], outcomes[1] = unsolved("t0"), solved("t0", LARGE)
    assert report(outcomes, eight).pairs[0].p == pytest.approx(0.0703, abs=1e-4)


def test_unknown_prices_are_never_nothing():
    text = text_of(document_of(report([solved("cart", cost=0.0, unpriced=3), solved("cart", LARGE, unpriced=1)])))
    assert re.search(rf"{SMALL} +unknown +unknown", text)
    assert re.search(rf"{LARGE} +≥ \$0\.5000 +≥ \$0\.5000", text)
    assert "The price of 4 model calls is unknown" in text


def test_attempts_that_are_still_missing_are_counted():
    assert "4 tasks, 2 models, 11 of 16 attempts ended" in text_of(document_of(report()))


@pytest.mark.parametrize("width", [30, 80, 120, 200])
def test_table_fits_the_terminal(width):
    text = text_of(document_of(report()), width)
    assert max(map(len, text.splitlines())) <= width
    for value in ("50.0%", "1 of 2", "lab/large", "stuck"):
        assert value in text


def test_run_without_a_check_shows_no_solved_rate():
    text = text_of(document_of(report([outcome("docs")], [task("docs", check="")])))
    assert "1 of 1" in text
    assert "Without a check nothing shows that a task is solved" in text
    assert "Solved by model" not in text
    assert "95%" not in text


def hostile() -> ReportDocument:
    first = [solved(HOSTILE, HOSTILE, 1, detail=HOSTILE), unsolved(HOSTILE, HOSTILE, 2, detail=HOSTILE)]
    return document_of(report([*first, unsolved(HOSTILE, LARGE)], [task(HOSTILE)]))


def test_hostile_names_do_not_control_the_terminal():
    text = text_of(hostile())
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("href", "src", "style") for name, _ in attrs)


def test_page_is_inert_whatever_the_names_are():
    page = "\n".join(html_of(hostile()))
    tags = _Tags()
    tags.feed(page)
    assert tags.tags.isdisjoint({"script", "a", "img", "iframe", "object", "link"})
    assert "default-src 'none'" in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", page)


def test_charts_are_well_formed_and_show_each_model():
    page = "\n".join(html_of(document_of(report())))
    charts = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    assert len(charts) == 4
    for chart in charts:
        assert {"small", "large"} <= {(each.text or "").rpartition("/")[2] for each in chart.iter("text")}
    assert "prefers-color-scheme: dark" in page


def test_markdown_has_no_markup_of_others():
    lines = list(markdown_of(hostile()))
    rows = [line for line in lines if "alert" in line]
    assert rows
    for row in rows:
        outside = re.sub(r"`[^`]*`", "", row)
        assert "<" not in outside
        assert "](" not in outside
        assert len(re.findall(r"(?<!\\)\|", row)) == len(re.findall(r"(?<!\\)\|", lines[lines.index(row) - 1]))


def test_formats_are_chosen_by_flag_and_extension(sandbox: Sandbox):
    run = write_run(sandbox.project / "run #1?", TASKS, OUTCOMES)
    numbers = json.loads(sandbox.command("batch", "report", str(run), "--json").stdout)
    assert numbers["models"][0]["rate"] == pytest.approx(0.5)
    for name, start in (("r.md", "# Batch run"), ("r.html", "<!doctype html>"), ("r.csv", "task,model,attempt,state")):
        assert sandbox.command("batch", "report", str(run), "-o", name).returncode == 0
        assert (sandbox.project / name).read_text().startswith(start)
    assert "Solved by model" in sandbox.command("batch", "report", str(run)).stdout
    refused = sandbox.command("batch", "report", str(run), "-o", "r.doc")
    assert (refused.returncode, "must end in .md" in refused.stderr) == (2, True)


def test_csv_has_a_row_for_each_attempt_and_no_formulas(sandbox: Sandbox):
    names = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\uff1d1", HOSTILE]
    run = write_run(
        sandbox.project / "run", [task(name) for name in names], [solved(n, check_status=-9) for n in names]
    )
    text = sandbox.command("batch", "report", str(run), "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(names) == text.count("\n") - 1
    assert not any(row["task"].startswith(("=", "+", "-", "@", "\uff1d")) for row in rows)
    assert {(row["check_status"], row["solved"], row["state"]) for row in rows} == {("-9", "1", "solved")}
    assert "\x1b" not in text


@pytest.mark.parametrize("form", [[], ["--markdown"], ["--html"], ["--csv"], ["--json"]])
def test_run_in_which_nothing_has_ended_is_reported(sandbox: Sandbox, form):
    run = write_run(sandbox.project / "run", TASKS, [])
    done = sandbox.command("batch", "report", str(run), *form)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("task,model") if form == ["--csv"] else re.search('0 of 8|"ended": 0', done.stdout)


def test_run_that_another_client_works_on_can_be_read(sandbox: Sandbox):
    from workbench.batch.run_directory import RunDirectory

    run = write_run(sandbox.project / "run", TASKS, OUTCOMES)
    directory = RunDirectory(run).open()
    assert sandbox.command("batch", "report", str(run)).returncode == 0
    directory.close()


def test_directory_without_a_run_is_refused(sandbox: Sandbox):
    done = sandbox.command("batch", "report", str(sandbox.project))
    assert (done.returncode, "there is no run in" in done.stderr) == (2, True)


def test_outcomes_that_no_version_wrote_are_refused(sandbox: Sandbox, tmp_path: Path):
    run = write_run(sandbox.project / "run", TASKS, OUTCOMES)
    import sqlite3

    with sqlite3.connect(run / "results.sqlite") as connection:
        connection.execute("UPDATE attempts SET ending = 'vanished'")
    done = sandbox.command("batch", "report", str(run))
    assert (done.returncode, "cannot be read" in done.stderr) == (1, True)
    assert read_outcomes(tmp_path / "none") == []
