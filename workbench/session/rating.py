"""The local rating as the log keeps it; used by the actions of a session."""

from __future__ import annotations

from workbench.security.assessment import Assessment
from workbench.session.events import Segment

MOST_SEGMENTS = 60
"""Parts of a command that one event keeps; the most dangerous stay."""
_ORDER = {"HIGH": 0, "MEDIUM": 1, "UNKNOWN": 2, "LOW": 3}


def segments(local: Assessment) -> tuple[Segment, ...]:
    """The parts of an assessment, in the order of the command."""
    kept = list(range(len(local.parts)))
    if len(local.parts) > MOST_SEGMENTS:
        kept = sorted(sorted(kept, key=lambda at: _ORDER[local.parts[at].risk])[:MOST_SEGMENTS])
    return tuple(
        Segment(text=part.text, risk=part.risk, reason=part.reason) for part in map(local.parts.__getitem__, kept)
    )
