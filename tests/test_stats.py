"""`ohw stats`: what sessions cost by day, model and project, who decided in them, and how long they waited."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.tui.decision_files import keep_all_kinds, keep_decided
from tests.tui.sample_session import START
from tests.tui.session_files import keep
from tests.tui.usage_files import call, keep_spent
from workbench.cli.main import main
from workbench.config.locations import Locations
from workbench.view import clock
from workbench.view.stats import as_json, read_stats
from workbench.view.usage import stats_page

DAY = f"{START.astimezone():%Y-%m-%d}"
EARLIER = f"{(START - timedelta(days=5)).astimezone():%Y-%m-%d}"


@pytest.fixture(autouse=True)
def where(tmp_path, monkeypatch) -> Locations:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(clock, "_standing", [START])
    return Locations.from_environment()


def numbers(where: Locations, days: int = 30) -> dict[str, Any]:
    return as_json(read_stats(where, days))


def page(where: Locations, days: int = 30, width: int = 120) -> str:
    lines = stats_page(read_stats(where, days), width)
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


def test_cost_and_tokens_are_summed_by_day_model_and_project(where):
    keep_spent()
    keep("s4", "Another project", call(0.25), at=START, workspace="/home/ada/code/shop")
    data = numbers(where)
    assert data["sessions"] == 3
    assert data["total"]["cost"] == pytest.approx(2.15)
    assert {day: totals["cost"] for day, totals in data["by_day"].items()} == pytest.approx({DAY: 0.65, EARLIER: 1.5})
    assert data["by_model"]["gpt-5-mini (sub-agents)"]["calls"] == 1
    projects = {name: totals["cost"] for name, totals in data["by_project"].items()}
    assert projects == pytest.approx({"/home/ada/code/calc": 1.9, "/home/ada/code/shop": 0.25})
    assert data["total"]["input"] == 7 * 40_000
    assert data["total"]["cached"] == 7 * 30_000


def test_only_the_days_asked_for_count_and_a_cost_without_a_price_is_unknown(where):
    keep_spent()
    assert numbers(where, 1)["sessions"] == 1
    assert numbers(where, 5)["sessions"] == 1
    assert numbers(where, 6)["sessions"] == 2
    everything = numbers(where, 0)
    assert everything["sessions"] == 3
    assert everything["since"] is None
    assert everything["by_model"]["local/llama"]["cost"] is None


def test_decisions_are_counted_by_risk_and_by_who_made_them(where):
    keep_decided("s1")
    keep_decided("s1-tester", parent="s1")
    counts = {(each["risk"], each["by"]): (each["allowed"], each["denied"]) for each in numbers(where)["decisions"]}
    assert counts == {
        ("HIGH", "you"): (1, 1),
        ("HIGH", "rules"): (0, 1),
        ("MEDIUM", "you"): (1, 0),
        ("MEDIUM", "rules"): (1, 0),
        ("LOW", "rules"): (1, 0),
        ("LOW", "modes"): (1, 0),
    }


def test_time_that_questions_waited_for_the_user_is_summed(where):
    keep_decided("s1")  # each event comes a second after the one before
    assert numbers(where)["waited"] == {"questions": 3, "seconds": 3.0, "median": 1.0}
    assert "Waited for you: 3s in 3 questions, median 1s" in page(where)


def test_page_shows_every_table_and_fits_its_width(where):
    keep_spent()
    keep_decided("s5")
    shown = page(where)
    assert shown.startswith("Last 30 days · 3 sessions\n")
    assert [line for line in shown.splitlines() if line and not line.startswith(" ")][2:] == [
        "By day",
        "By model",
        "By project",
        "Decided by    you                 rules               modes",
    ]
    assert "  ▲ HIGH      1 (1 denied)        0 (1 denied)        –" in shown
    for width in (20, 40, 80):
        assert all(len(line) <= width for line in page(where, width=width).splitlines())


def test_without_sessions_the_page_says_so(where):
    assert page(where) == "Last 30 days · 0 sessions"
    assert numbers(where)["total"]["calls"] == 0


def test_command_prints_the_page_or_json_and_names_what_cannot_be_read(where, capsys):
    keep_all_kinds()
    assert main(["stats", "--days", "0"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("All sessions · 2 sessions\n")
    assert output.err.startswith("ohw: not read: s9: ")
    assert main(["stats", "--json", "--days", "99999999999"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert sum(each["allowed"] + each["denied"] for each in data["decisions"]) == 15


def test_number_of_days_that_is_none_is_a_usage_error(where, capsys):
    assert main(["stats", "--days", "-1"]) == 2
    assert "'-1' is not a number of at least 0" in capsys.readouterr().err
