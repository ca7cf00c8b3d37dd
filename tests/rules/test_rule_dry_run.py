"""A rule is tried on the decisions of all sessions: what it would have allowed, asked about and denied."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.sandbox import Sandbox
from tests.tui.decision_files import MODE, act, keep_all_kinds
from tests.tui.sample_session import START
from tests.tui.session_files import keep
from workbench.config.locations import Locations
from workbench.config.modes import MODES
from workbench.protocol.events import ActionProposed
from workbench.rules.policy import PROTECTED, mode_label
from workbench.rules.rule import parse_rule
from workbench.view.approval.rule_dry_run import DryRunReport, report_lines, try_on_all

ASK_ALL = 'mode "Ask every time"'


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return Locations.from_environment()


def tried(where: Locations, rule: str) -> DryRunReport:
    return try_on_all([parse_rule(rule)], where, lambda _: None, lambda: False)


def push(name: str, risk: Any, by: Any, rule: str, asked_by: str = "") -> list[Any]:
    return act(name, "execute_bash", risk, by, rule, asked_by, command=f"git push origin {name[0]}")


CASES = {
    "it ran by the mode": (push("a", "LOW", "mode", MODE), ("allow", "allow", "ask", "deny")),
    "it ran by a rule": (push("a", "MEDIUM", "rule", "allow $ git *"), ("allow", "allow", "ask", "deny")),
    "the mode asked about it": (push("a", "MEDIUM", "person", "", MODE), ("ask", "allow", "ask", "deny")),
    "it was denied by the user": (push("a!", "MEDIUM", "person", "", MODE), ("ask", "allow", "ask", "deny")),
    "it is HIGH": (push("a", "HIGH", "person", "", MODE), ("ask", "ask", "ask", "deny")),
    "the mode asks every time": (push("a", "LOW", "person", "", ASK_ALL), ("ask", "ask", "ask", "deny")),
    "a rule asked about it": (push("a", "LOW", "person", "", "ask $ git push *"), ("ask", "ask", "ask", "deny")),
    "its path is protected": (push("a", "MEDIUM", "person", "", PROTECTED), ("ask", "ask", "ask", "deny")),
    "a check asked about it": (
        push("a", "LOW", "person", "", "a check"),
        ("ask", "ask", "ask", "deny"),
    ),
    "a rule denied it": (push("a!", "LOW", "rule", "deny $ git *"), ("deny", "deny", "deny", "deny")),
    "plan mode denied it": (push("a!", "MEDIUM", "mode", 'mode "Plan"'), ("deny", "deny", "deny", "deny")),
}


@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
@pytest.mark.parametrize(("events", "outcomes"), CASES.values(), ids=CASES)
def test_what_a_rule_would_have_done(where, verdict, events, outcomes):
    keep("s1", "x", *events)
    before, after = outcomes[0], outcomes[1 + ("allow", "ask", "deny").index(verdict)]
    report = tried(where, f"{verdict} $ git push *")
    assert dict(report.counts) == {(before, after): 1}
    assert [(each.before, each.after) for each in report.changed] == ([] if before == after else [(before, after)])
    assert report.is_complete


@pytest.mark.parametrize("mode", MODES)
def test_the_questions_of_modes_that_ask_by_risk_alone_are_answered(where, mode):
    keep("s1", "x", *push("a", "MEDIUM", "person", "", mode_label(mode)))
    after = "allow" if mode in ("medium", "edits", "high") else "ask"
    assert dict(tried(where, "allow $ git push *").counts) == {("ask", after): 1}


@pytest.mark.parametrize(
    ("rule", "count"),
    [
        ("allow $ pytest *", 2),
        ("deny $ curl *", 2),
        ("allow $ pytest other", 0),
        ("deny str_replace_editor", 2),
        ("ask in /home/ada/code/calc/src", 2),
        ("deny grep", 2),
    ],
    ids=str,
)
def test_rules_of_every_kind_are_tried_on_all_sessions(where, rule, count):
    keep_all_kinds()
    report = tried(where, rule)
    assert (report.sessions, report.decisions) == (2, 15)
    assert sum(report.counts.values()) == count


def test_a_command_that_only_looks_alike_is_not_fitted(where):
    keep("s1", "x", *act("a", "execute_bash", "HIGH", "mode", MODE, command="pytest -q; rm -rf ~"))
    assert not tried(where, "allow $ pytest *").counts
    assert dict(tried(where, "deny $ rm *").counts) == {("allow", "deny"): 1}


def test_a_call_that_became_no_action_is_passed_over(where):
    keep("s1", "x", ActionProposed(action_id="a", response_id="r", call_id="a", tool="execute_bash", error="no JSON"))
    assert tried(where, "deny execute_bash").decisions == 0


def test_the_report_names_first_what_the_user_denied(where):
    keep("s1", "x", *push("a", "MEDIUM", "person", "", MODE), *push("b!", "MEDIUM", "person", "", MODE))
    keep("s2", "x", *push("c", "LOW", "mode", MODE), at=START - timedelta(days=1))
    report = tried(where, "allow $ git push *")
    assert report.against_you == 1
    assert report_lines(report) == [
        "In all sessions (2 sessions, 3 decisions): 3 would run (2 asked then)",
        "! 1 of these would run although you rejected them",
        "! ◆ MEDIUM  $ git push origin b · rejected by you, would run",
        "  ◆ MEDIUM  $ git push origin a · asked then, would run",
    ]
    assert report_lines(report, most=1)[-1] == "  and 1 more that would change"
    assert report_lines(tried(where, "deny $ nothing"))[-1].endswith("it fits no action")


def test_a_report_grows_and_a_trial_that_is_stopped_says_that_it_is_not_complete(where, monkeypatch):
    for number in range(20):
        keep(f"s{number}", "x", *(event for at in range(60) for event in push(f"a{at}", "LOW", "mode", MODE)))
    whole = tried(where, "deny $ git push *")
    assert (whole.decisions, whole.is_complete) == (1200, True)
    sizes: list[int] = []
    report = try_on_all(
        [parse_rule("deny $ git push *")], where, lambda each: sizes.append(each.decisions), lambda: bool(sizes)
    )
    assert sizes[0] < 1200
    assert not report.is_complete
    assert "so far …" in report_lines(report)[0]


@pytest.mark.parametrize("after", [1, 59, 60, 61])
def test_trial_that_is_stopped_at_any_decision_is_not_complete(where, monkeypatch, after):
    for number in range(2):
        keep(f"s{number}", "x", *(event for at in range(60) for event in push(f"a{at}", "LOW", "mode", MODE)))
    monkeypatch.setattr("workbench.view.approval.rule_dry_run._EVERY", 0)
    sizes: list[int] = []
    rules = [parse_rule("deny $ git push *")]
    report = try_on_all(
        rules, where, lambda each: sizes.append(each.decisions), lambda: bool(sizes) and sizes[-1] >= after
    )
    assert (report.decisions, report.is_complete) == (after, False)


@pytest.mark.starts
def test_the_command_tries_a_rule_on_all_sessions(sandbox: Sandbox, monkeypatch):
    for name, value in sandbox.env.items():
        monkeypatch.setenv(name, value)
    keep_all_kinds()
    done = sandbox.ohw("rules", "try", "deny $ pytest *")
    assert (done.returncode, done.stderr) == (0, "")
    first, second, *rest = done.stdout.splitlines()
    assert (first, second) == (
        "deny $ pytest *",
        "In all sessions (2 sessions, 15 decisions): 2 would be denied (2 ran then)",
    )
    assert rest == ["  ◆ MEDIUM  $ pytest -q tests/test_calc.py · ran then, would be denied"] * 2
    several = sandbox.command("rules", "try", "deny $ pytest *", "ask  grep", " allow $ rm *").stdout.splitlines()
    assert [line for line in several if line[:3] in ("den", "ask", "all")] == [
        "deny $ pytest *",
        "ask grep",
        "allow $ rm *",
    ]
    assert sum(line.startswith("In all sessions") for line in several) == 3
    assert sandbox.command("rules", "try", "deny", "$", "pytest", "*").stdout == done.stdout
    wrong = sandbox.command("rules", "try", "permit x")
    assert (wrong.returncode, "`ohw rules try 'allow $ pytest *'` tries one" in wrong.stderr) == (2, True)
