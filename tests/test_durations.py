"""Each duration has the form of its precision, also where it is rounded up to the next unit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench
from workbench.durations import measured_duration, rough_duration, whole_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *[
            (0.0, "0s"),
            (0.001, "0.00s"),
            (0.024, "0.02s"),
            (0.094, "0.09s"),
            (0.096, "0.1s"),
            (0.6, "0.6s"),
            (9.94, "9.9s"),
        ],
        *[(9.96, "10s"), (42.4, "42s"), (59.4, "59s"), (59.6, "1m 00s"), (65, "1m 05s"), (3_599.4, "59m 59s")],
        *[(3_599.6, "1h 00m"), (7_800, "2h 10m"), (360_000, "100h 00m")],
    ],
)
def test_measured_durations(seconds: float, text: str):
    assert measured_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9, "0s"), (24, "24s"), (59.9, "59s"), (60, "1m 00s"), (125, "2m 05s"), (3_599.9, "59m 59s"), (7_800, "2h 10m")],
)
def test_durations_of_what_still_runs_never_show_more_than_has_passed(seconds: float, text: str):
    assert whole_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0s"), (99, "99s"), (99.6, "2 min"), (720, "12 min"), (5_900, "98 min"), (5_980, "1.7 h"), (7_200, "2.0 h")],
)
def test_sums_and_estimates_are_rough(seconds: float, text: str):
    assert rough_duration(seconds) == text


def test_no_other_module_formats_minutes_with_seconds_or_hours_with_minutes():
    form = re.compile(r"\}(m|h) ?\{[^}]*:02d?\}(s|m)")
    sources = Path(workbench.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if form.search(path.read_text())] == ["durations.py"]
