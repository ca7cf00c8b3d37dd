"""A comparison of two futures of one session, for pictures and tests of the Compare screen."""

from __future__ import annotations

from tests.tui.picture_sessions import AFTER, BEFORE, TESTS_AFTER, TESTS_BEFORE
from tests.tui.sample_session import WORKSPACE
from workbench.protocol.events import FileDelta
from workbench.session.comparison.check import CheckResult
from workbench.session.comparison.final_files import FinalDifference
from workbench.session.comparison.steps import FirstDifference, SessionStep
from workbench.session.storage.session_list import SessionSummary
from workbench.view.comparison import Comparison, Pair, SessionFigures
from workbench.view.stats import Totals

HERE, THERE = "20261121-negative-amounts-3f2a", "20261121-negative-amounts-8c1d"
AMOUNTS = '"""Amounts in cents."""\n\nCENTS = 100\n'
CHECK = "python -m pytest -q"


def _entry(name: str, model: str, **more: object) -> SessionSummary:
    text = "`-3` is read as `3`. Find out why, fix it, and add tests."
    return SessionSummary(id=name, title=text, workspace=WORKSPACE, model=model, events=40, ended="finished", **more)  # type: ignore[arg-type]


def _delta(name: str, before: str | None, after: str | None, cut: str = "") -> FileDelta:
    return FileDelta(path=f"{WORKSPACE}/{name}", before=before, after=after, cut=cut)


FILES = (
    _delta("docs/logo.png", "(binary: 3,204 bytes, 1a)\n", "(binary: 3,310 bytes, 2b)\n", "binary"),
    _delta("src/amounts.py", None, AMOUNTS),
    _delta("src/calc.py", BEFORE, AFTER),
    _delta("tests/test_calc.py", TESTS_AFTER, TESTS_BEFORE),
)
STEPS = FirstDifference(
    SessionStep(13, "answer", "str_replace_editor: src/calc.py", "a"),
    SessionStep(13, "message", "Put the amounts into a module of their own.", "b"),
    12,
)


def compared(*, is_checked: bool = False) -> Comparison:
    """Return the comparison, with the results of a check if requested."""
    first = SessionFigures(
        _entry(HERE, "anthropic/claude-sonnet-4-5"),
        9,
        14,
        Totals(0.42, 0, 412_000, 0, 0, 18_000, 9, 74.0),
        185.0,
        2,
        8,
        3,
    )
    second = SessionFigures(
        _entry(THERE, "openai/gpt-5-mini", forked_from=HERE, forked_at=12),
        21,
        32,
        Totals(0.09, 0, 903_000, 0, 0, 31_000, 21, 160.0),
        410.0,
        4,
        42,
        1,
    )
    if is_checked:
        first = _checked(first, CheckResult(0, 3.2, "12 passed in 2.91s\n", is_confined=True))
        failed = "tests/test_calc.py ...F\nFAILED tests/test_calc.py::test_total\n1 failed, 11 passed in 3.05s\n"
        second = _checked(second, CheckResult(1, 3.4, failed, is_confined=True))
    return Comparison((first, second), (Pair(STEPS, FinalDifference(FILES, versions=("1a" * 20, "2b" * 20))),))


def _checked(figures: SessionFigures, check: CheckResult) -> SessionFigures:
    return SessionFigures(**{**vars(figures), "check": check})
