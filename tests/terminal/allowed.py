"""What may leave for a terminal: printable text and a few sequences; used by tests of bytes on the wire."""

from __future__ import annotations

import re

from workbench.text import HIDDEN

_HARMLESS = re.compile(
    r"\x1b\[(?:[\d;]*m|[\d;]*[HfABCDGJKX]|\?[\d;]+[hl]|\?\d+\$p|[<>=?]?[\d;]*[ucnq]|[\d;]*t|\d* q)"
    r"|\x1b[78=>]"
    r"|\x1b\][02];(?:ohw\b[^\x00-\x1f\x7f-\x9f]*)?\x07|\x1b\]22;[a-z-]*\x07|(?<=[mhlHKuqtJ ])\x07|[\r\n\t\x08]"
)
_CONCEALED = re.compile(r"\x1b\[(?:[\d;]*;)?0?8m")
_UNWANTED = re.compile(f"[{HIDDEN}]")
_JOINED = re.compile("(?<=[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])\u200d")


def strange(raw: bytes) -> list[str]:
    """All that is not allowed, each with what stands around it; bytes that are no UTF-8 count too."""
    text = raw.decode("utf-8", "surrogateescape")
    left = _JOINED.sub("", _HARMLESS.sub("", text))
    # a bell of our own comes behind a sequence or a blank; one behind a word would be somebody else's
    found = [f"concealed: {match.group()!r}" for match in _CONCEALED.finditer(text)]
    return found + [repr(left[max(0, at.start() - 20) : at.end() + 20]) for at in _UNWANTED.finditer(left)]
