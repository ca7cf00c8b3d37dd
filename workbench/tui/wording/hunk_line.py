"""The line under a proposed edit: which hunks are taken, left out, edited. Pure; used by the box of a question."""

from __future__ import annotations

from workbench.text import counted
from workbench.tui.approving.proposal import Proposal
from workbench.tui.wording.pieces import Line, Piece

_MOST_MARKS = 12


def hunk_line(proposal: Proposal, current: int) -> Line:
    """`2 of 3 hunks taken   ✓ 1   × 2   ✓ 3 edited`; with many hunks only the one that is chosen."""
    count = proposal.count
    taken = count - len(proposal.out)
    words = f"{taken} of {counted(count, 'hunk')} taken"
    line = [Piece(words, "bold" if taken == count else "waiting")]
    if count <= _MOST_MARKS:
        for hunk in range(count):
            line += [Piece("  "), *_mark(proposal, hunk, current)]
    elif current >= 0:
        line += [Piece("  "), *_mark(proposal, current, current)]
    return line


def _mark(proposal: Proposal, hunk: int, current: int) -> Line:
    is_out = hunk in proposal.out
    words = f"{'×' if is_out else '✓'} {hunk + 1}{' edited' if hunk in proposal.edited else ''}"
    pointer = Piece("▌" if hunk == current else " ", "accent")
    return [pointer, Piece(words, "removed" if is_out else "added")]
