"""Text from outside made safe to show, to store and to send; called by every layer."""

from __future__ import annotations

import re

HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
"""C0 (but tab and newline), DEL, C1, bidirectional and invisible signs, tags: for a set of a pattern."""
_UNSAFE = re.compile(f"[{HIDDEN}]")
_UNSAFE_OR_BREAK = re.compile(f"[{HIDDEN}\n\t]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def visible(text: str, *, lines: bool = True) -> str:
    """The text with every control, bidirectional and invisible character as an escape that can be seen.

    Newlines and tabs stay, unless `lines` is false: then the result is a single line.
    """
    return (_UNSAFE if lines else _UNSAFE_OR_BREAK).sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    sign = match.group()
    if sign in _NAMES:
        return _NAMES[sign]
    code = ord(sign)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def well_formed(text: str) -> str:
    """The text without lone surrogates and NUL, so that it can be stored as UTF-8 and sent to a model."""
    return _SURROGATE.sub("\ufffd", text).replace("\x00", "\ufffd")


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters: head and tail at whole lines, and how many lines are left out between."""
    if len(text) <= limit:
        return text
    head = _to_line_end(text, limit // 2)
    tail = _to_line_start(text, len(text) - limit // 2)
    lines = text.count("\n", head, tail)
    said = f"[… {lines} lines left out …]" if lines > 1 else f"[… {tail - head} characters left out …]"
    return f"{text[:head]}{'' if text[:head].endswith(chr(10)) else chr(10)}{said}\n{text[tail:]}"


def _to_line_end(text: str, at: int) -> int:
    cut = text.rfind("\n", at // 2, at)
    return cut + 1 if cut >= 0 else at


def _to_line_start(text: str, at: int) -> int:
    cut = text.find("\n", at, at + (len(text) - at) // 2)
    return cut + 1 if cut >= 0 else at


def first_line(text: str, width: int = 80) -> str:
    """The first line that says something, safe to show, at most `width` characters."""
    line = next((part for part in text.splitlines() if part.strip()), "").strip()
    shown = visible(line, lines=False)
    return shown if len(shown) <= width else shown[: width - 1] + "…"
