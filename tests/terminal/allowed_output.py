"""The output that may reach a terminal: visible text and a few sequences, by name; for tests of the bytes sent.

A new sequence of the workbench gets a line in `SCREEN`, as narrow as possible: the tests then accept output that
matches it and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.terminal.sequence_parser import Piece, pieces
from workbench.text import HIDDEN

_COLOUR = r"(?:[0123479]|2\d|[34][0-79]|9[0-7]|10[0-7]|[34]8;2;\d{1,3};\d{1,3};\d{1,3}|[34]8;5;\d{1,3})"
_MODES = "(?:1000|1003|1004|1006|1015|1049|2004|2026|2048|25|7)"

SCREEN: Mapping[str, tuple[str, str]] = {
    "end of a line": ("control", r"[\r\n]"),
    "colours and styles, never concealed": ("csi", f"(?:{_COLOUR}(?:;{_COLOUR})*)?m"),
    "the cursor's place": ("csi", r"\d{1,3};\d{1,3}H"),
    "modes of the screen, the mouse and pastes": ("csi", rf"\?{_MODES}[hl]"),
    "which modes there are": ("csi", r"\?(?:2026|2048)\$p"),
    "how keys are told": ("csi", r">25u|<u"),
    "the pointer's shape": ("osc", r"22;[a-z-]{1,20}"),
    "the title kept and given back": ("csi", "2[23];2t"),
    "progress": ("osc", "9;4;[03-4];0"),
    "a notice": ("osc", r"(?:9|777;notify;ohw);ohw\b[^;\x00-\x1f\x7f-\x9f]*"),
    "the title": ("osc", r"[02];ohw[^\x00-\x1f\x7f-\x9f]*"),
}
"""Name -> kind of the piece, and the pattern that its whole body must match."""

PLAIN: Mapping[str, tuple[str, str]] = {"lines and columns": ("control", r"[\n\t]")}
"""The output of commands that show no screen."""

_UNSEEN = re.compile(f"[{HIDDEN}]")
_JOINED = re.compile("(?<=[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])\u200d")


def strange(raw: bytes, *, bells: int = 0, allowed: Mapping[str, tuple[str, str]] = SCREEN) -> list[str]:
    """Return everything not allowed, each with its surroundings; also bytes that are not UTF-8, and surplus bells."""
    text = raw.decode("utf-8", "surrogateescape")
    problems = []
    for piece in pieces(text):
        if piece.whole == "\x07" and bells:
            bells -= 1
        elif not _is_allowed(piece, allowed):
            before = text[max(0, piece.at - 30) : piece.at]
            problems.append(f"{piece.kind} {piece.whole!r} behind {before!r}")
    return problems


def _is_allowed(piece: Piece, allowed: Mapping[str, tuple[str, str]]) -> bool:
    if piece.kind == "text":
        return not _UNSEEN.search(_JOINED.sub("", piece.whole))
    return any(piece.kind == kind and re.fullmatch(body, piece.body) for kind, body in allowed.values())
