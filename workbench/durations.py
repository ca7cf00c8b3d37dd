"""Durations as text in three precisions: as measured, in whole seconds, and rough."""

from __future__ import annotations


def measured_duration(seconds: float) -> str:
    """Return how long something took: `0.02s`, `0.6s`, `42s`, `3m 05s`, `2h 10m`."""
    if seconds < 0.095:
        return f"{seconds:.2f}s" if seconds > 0 else "0s"
    return f"{seconds:.1f}s" if seconds < 9.95 else _whole(round(seconds))


def whole_duration(seconds: float) -> str:
    """Return for how long something has been running, or an agent has, without a fraction: `0s`, `42s`, `3m 05s`."""
    return _whole(int(seconds))


def rough_duration(seconds: float) -> str:
    """Return a sum or an estimate of durations: `40s`, `12 min`, `3.5 h`."""
    if seconds < 99.5:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.0f} min" if seconds < 5_970 else f"{seconds / 3_600:.1f} h"


def _whole(seconds: int) -> str:
    if seconds >= 3_600:
        return f"{seconds // 3_600}h {seconds % 3_600 // 60:02d}m"
    return f"{seconds // 60}m {seconds % 60:02d}s" if seconds >= 60 else f"{seconds}s"
