"""Numbers as reports and the view of a run show them; one that is not known is a dash."""

from __future__ import annotations

from typing import Final

from workbench.durations import measured_duration

NONE: Final = "–"


def percent(share: float | None) -> str:
    """Format a share from 0 to 1."""
    return NONE if share is None else f"{share * 100:.1f}%"


def interval(low: float | None, high: float | None) -> str:
    """Format the two ends of an interval of shares."""
    return NONE if low is None or high is None else f"{low * 100:.1f}–{high * 100:.1f}%"


def money(dollars: float | None, unpriced: int = 0) -> str:
    """Format an amount of US dollars, as the least that it can be if the price of some calls is unknown."""
    if dollars is None:
        return NONE
    if unpriced:
        return f"≥ {money(dollars)}" if dollars > 0 else "unknown"
    return f"${dollars:,.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"


def duration(seconds: float | None) -> str:
    """Format a measured duration in seconds."""
    return NONE if seconds is None else measured_duration(seconds)


def amount(number: float | None) -> str:
    """Format a number of things, which may be a median; from ten thousand on in thousands, then in millions."""
    if number is None:
        return NONE
    if number >= 999_950:
        return f"{number / 1e6:,.1f}M"
    if number >= 10_000:
        return f"{number / 1e3:.1f}k"
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def probability(p: float | None) -> str:
    """Format the result of a test."""
    if p is None:
        return NONE
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"
