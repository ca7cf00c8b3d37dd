"""ASCII replacements for the characters that the interface draws, for terminals without Unicode."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

# One spelling for each meaning: characters share a row only if they mean the same wherever the interface draws them.
_SAME: Final = (
    ("─━╌╍┄┅┈┉═╴╶╸╺⎯–—−―‐‑▔▁", "-"),
    ("│┃╎╏┆┇┊┋║▏▕▎▍▌▐╵╷╹╻", "|"),
    ("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬▖▗▘▝▞▚▛▜▙▟┍┑┕┙┝┥┠┨┯┷┰┸╱╲╳", "+"),
    ("█▓▒░▇▆▅▄▃▂▀▉▊▋◼■", "#"),
    ("✓✔", "v"),
    ("✗✘✕", "x"),
    ("×", "X"),
    ("●◉◍⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "@"),
    ("•", "*"),
    ("○◦", "o"),
    ("◌", ":"),
    ("⊘", "0"),
    ("◐", "%"),
    ("›→»❯", ">"),
    ("‹←«❮", "<"),
    ("▸▶", "}"),
    ("▾▼▽", "{"),
    ("◂◀", "("),
    ("↳", "`"),
    ("↪", "_"),
    ("▲△▴", "^"),
    ("↑", "A"),
    ("↓", "V"),
    ("◆", "&"),
    ("◇", "U"),
    ("⏎", "\\"),
    ("…⋯⋮", "~"),
    ("·", "."),
    ("±≈", "="),
    ("≡", "R"),
    ("▤", "T"),
    ("▣", "I"),
    ("⇣", "D"),
    ("⇉", "S"),
    ("◎", "B"),
    ("⌕", "/"),
    ("✎", "E"),
    ("λ", "L"),
    ("‘’‚‛´", "'"),
    ("“”„‟", '"'),
    ("\xa0", " "),
)
TABLE: Final = {ord(character): plain for characters, plain in _SAME for character in characters}
"""The replacement of each character, by code point; the character and its replacement are both one cell wide."""
_WORDS: Final = {sign: plain for sign, plain in TABLE.items() if sign != ord("·")} | {ord("…"): "..."}
"""The replacements for running text: an ellipsis becomes three dots, and a middle dot is not replaced."""


def add_sign(sign: str, plain: str) -> None:
    """Add an ASCII replacement for a character; without effect if it already has one, or `plain` is not ASCII."""
    if plain.isascii() and ord(sign) not in TABLE:
        TABLE[ord(sign)] = _WORDS[ord(sign)] = plain


def in_ascii(text: str) -> str:
    """Return running text in ASCII: similar characters for those of the interface, escapes for all others."""
    if text.isascii():
        return text
    return text.translate(_WORDS).encode("ascii", "backslashreplace").decode()


def wants_ascii(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether to draw in ASCII: if `OHW_ASCII` says so or, while it is unset, if the locale's encoding is not
    Unicode.
    """
    setting = env.get("OHW_ASCII", "").lower()
    if setting:
        return setting in ("1", "true", "yes", "on")
    locale = env.get("LC_ALL") or _ctype(env) or env.get("LANG", "")
    if locale in ("C", "POSIX"):
        return True
    return "." in locale and "utf" not in locale.lower()


def _ctype(env: Mapping[str, str]) -> str:
    """Return LC_CTYPE, or an empty string if Python itself set it to C.UTF-8 because the user's locale is C."""
    ctype = env.get("LC_CTYPE", "")
    return "" if ctype == "C.UTF-8" and env.get("LANG") in ("C", "POSIX") else ctype
