"""Intervals and tests of reports, against published values and by their properties."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.batch.statistics import mean_of, median_of, sign_test, wilson

COUNTS = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("solved", "n", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (50, 100, 0.4038, 0.5962),
        (81, 263, 0.2553, 0.3662),  # Newcombe, Statistics in Medicine 17 (1998), table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_interval_is_that_of_published_tables(solved, n, low, high):
    assert wilson(solved / n, n) == pytest.approx((low, high), abs=5e-5)


def test_without_samples_any_share_is_possible():
    assert wilson(0.0, 0) == (0.0, 1.0)


@given(COUNTS)
def test_interval_contains_the_rate_and_is_within_zero_and_one(count):
    solved, n = count
    low, high = wilson(solved / n, n)
    assert 0 <= low <= solved / n <= high <= 1
    assert low < high


@given(COUNTS)
def test_interval_of_failures_mirrors_that_of_successes(count):
    solved, n = count
    low, high = wilson(solved / n, n)
    assert wilson(1 - solved / n, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(st.floats(0, 1), st.integers(1, 5000))
def test_more_samples_make_the_interval_narrower(rate, n):
    (low, high), (low_of_more, high_of_more) = wilson(rate, n), wilson(rate, n + 1)
    assert high_of_more - low_of_more <= high - low + 1e-12


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [
        (7, 1, 0.0703125),
        (8, 0, 0.0078125),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (9, 1, 22 / 1024),
        (3, 3, 1.0),
        (1, 0, 1.0),
        (0, 0, 1.0),
    ],
)
def test_sign_test_is_exact(better, worse, p):
    assert sign_test(better, worse) == p


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_is_the_share_of_splits_that_are_as_uneven(better, worse):
    n, distance = better + worse, abs(better - worse)
    uneven = sum(comb(n, i) for i in range(n + 1) if abs(n - 2 * i) >= distance)
    assert sign_test(better, worse) == pytest.approx(uneven / 2**n)
    assert sign_test(better, worse) == sign_test(worse, better)


def test_sign_test_of_many_tasks_neither_overflows_nor_underflows():
    assert sign_test(10_000, 10_000) == 1.0
    assert 0.0455 < sign_test(10_100, 9_900) < 0.17
    assert sign_test(20_000, 0) == pytest.approx(0.0)


def test_mean_and_median_of_nothing_are_unknown():
    assert (mean_of([]), median_of([])) == (None, None)
    assert (mean_of([1, 2, 6]), median_of([1, 2, 6]), median_of([1, 2])) == (3, 2, 1.5)
