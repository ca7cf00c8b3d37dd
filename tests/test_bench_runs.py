"""The command that runs the measures repeats them on a busy machine, keeps the quietest run, and compares runs."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator

import pytest

from tests.bench import __main__ as command
from tests.bench import runs
from tests.bench.measure import Measure
from tests.bench.runs import MOST_RUNS, Result, change, repeated


class _Machine:
    """A machine whose pressure during each run is known."""

    def __init__(self, shares: Iterator[float | None]) -> None:
        self._shares = shares

    def __call__(self) -> _Machine:
        return self

    @property
    def share(self) -> float | None:
        return next(self._shares)


def _measure(value: float, *, reference: float | None = None, limit: float = 10) -> Measure:
    return Measure("a step", value, "ms", reference, limit, value <= limit)


def _result(value: float, *, reference: float | None = None, spread: float | None = None) -> Result:
    return Result(_measure(value, reference=reference), spread)


@pytest.mark.parametrize(
    ("shares", "count", "value"),
    [
        ((0.0, 0.0), 2, 1),
        ((0.9, 0.1), 2, 2),
        ((0.9, 0.5, 0.7), MOST_RUNS, 2),
        ((None, None), 2, 1),
    ],
)
def test_measures_are_repeated_while_the_machine_is_busy(monkeypatch, shares, count, value):
    monkeypatch.setattr(runs, "Pressure", _Machine(iter(shares)))
    taken = itertools.count(1)

    result = repeated(lambda: [_measure(next(taken))], math.inf)

    assert next(taken) - 1 == count
    assert result[0].measure.value == value
    assert result[0].spread == (count - 1) / value


def test_nothing_is_repeated_when_the_time_is_up(monkeypatch):
    monkeypatch.setattr(runs, "Pressure", _Machine(iter([0.9])))
    taken = itertools.count(1)

    assert repeated(lambda: [_measure(next(taken))], 0.0)[0].spread is None


@pytest.mark.parametrize(
    ("before", "now", "grown", "is_worse"),
    [
        (_result(1), _result(1.1), 0.1, False),
        (_result(1), _result(1.5), 0.5, True),
        (_result(1, spread=0.5), _result(1.5), 0.5, False),
        (_result(1, reference=1), _result(3, reference=3), 0.0, False),
        (_result(3), _result(1), -2 / 3, False),
    ],
)
def test_a_result_is_worse_only_beyond_the_spread(before, now, grown, is_worse):
    found = change(now, before)

    assert found is not None
    assert found[0] == pytest.approx(grown)
    assert found[1] is is_worse


def test_command_writes_results_and_fails_if_a_later_run_is_worse(monkeypatch, tmp_path, capsys):
    saved = tmp_path / "before.json"
    monkeypatch.setattr(command, "results_of", lambda area, until: [_result(1)])
    assert command.main(["risk", "--json", str(saved)]) == 0
    assert json.loads(saved.read_text())["a step"]["measure"]["value"] == 1

    monkeypatch.setattr(command, "results_of", lambda area, until: [_result(2)])
    assert command.main(["risk", "--against", str(saved)]) == 1
    assert "+100% WORSE" in capsys.readouterr().out


def test_measure_over_its_limit_fails(monkeypatch, capsys):
    monkeypatch.setattr(command, "results_of", lambda area, until: [_result(11)])

    assert command.main(["risk"]) == 1
    assert "1 over" in capsys.readouterr().out
