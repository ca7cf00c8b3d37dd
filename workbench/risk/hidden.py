"""Text that shows as something else than it is: control codes, invisible and reordering signs; used by the analysis."""

from __future__ import annotations

import re

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}\ud800-\udfff]")
_JOINER = re.compile("(?<![\U0001f000-\U0001faff\u2600-\u27bf\ufe0f])\u200d")
_DRAWN_OVER = re.compile(
    "(?<=\\w)[\u0334-\u0338\u0488\u0489\u20d2-\u20d4\u20e5\u20e6\u20ea\u20eb]|(?<=[^\\W\\d]|[./_-])[\ufe0e\ufe0f]"
)
"""Strokes through a letter or digit, and behind one a choice of how it is drawn, of which there is none."""
_COLOURS = re.compile(r"\x1b\[(?:0|1|2|3|4|22|23|24|39|49|[34]\d|9\d|10\d|[34]8;[\d;]+)?(?:;\d+)*m")
_CONCEALED = re.compile(r"\x1b\[(?:[\d;]*;)?0*8(?:;[\d;]*)?m")
_MARKUP = re.compile(r"\[@\w+\s*=")
_PADDING = (" " * 80, "\n" * 20, "\t" * 20)


def hides(text: str, *, colours: bool = False) -> str:
    """What is hidden in a text, in a few words, or nothing; with `colours` plain colour codes may be in it."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return _padded(text)
    if colours and not _CONCEALED.search(text):
        text = _COLOURS.sub("", text)
    if _HIDDEN.search(text) or _JOINER.search(text):
        return "holds control codes or invisible signs"
    if _DRAWN_OVER.search(text):
        return "holds signs that are drawn over letters"
    return _padded(text)


def _padded(text: str) -> str:
    return "blanks push text out of view" if any(blanks in text for blanks in _PADDING) else ""


def has_markup_action(text: str) -> bool:
    """Whether a text would become something to click where markup is read."""
    return bool(_MARKUP.search(text))
