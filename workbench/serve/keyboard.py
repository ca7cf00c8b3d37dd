"""Filters what a browser sends to the program: all keys except Ctrl+Z, or in a read-only view only
those that scroll.
"""

from __future__ import annotations

import re

from workbench.lazy_pattern import lazy_pattern

_SUSPEND = "\x1a"
_SCROLLING = lazy_pattern(
    r"""
    \x1b(?:\[|O)(?:1;[25])?[A-DFH]      # arrows, Home, End, also with Shift or Ctrl
    | \x1b\[[56](?:;5)?~                # Page Up, Page Down
    | \x1b\[<6[4-7];\d{1,4};\d{1,4}M    # the wheel of the mouse
    | \x1b\[[IO]                        # the tab got or lost the focus
    | \x1b\[\?\d{1,4};\d\$y             # answers of the browser's terminal to what it was asked
    | \x1b\[\?\d{1,2}(?:;\d{1,2})*c
    """,
    re.VERBOSE,
)


def keys(text: str) -> str:
    """Return the input without Ctrl+Z: a tab has no shell that could continue a stopped program."""
    return text.replace(_SUSPEND, "")


def scrolling_keys(text: str) -> str:
    """Return only the input that scrolls, and reports by the terminal; letters, clicks and all
    other keys are dropped.
    """
    return "".join(match.group() for match in _SCROLLING.finditer(text))
