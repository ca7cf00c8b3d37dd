"""Signs of ours for a terminal that has only ASCII; used by the screen's last filter and by plain mode."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

_SAME: Final = (
    ("─━╌╍┄┅┈┉═╴╶╸╺⎯–—−―‐‑▔▁", "-"),
    ("│┃╎╏┆┇┊┋║▏▕▎▍▌▐╵╷╹╻", "|"),
    ("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬▖▗▘▝▞▚▛▜▙▟┍┑┕┙┝┥┠┨┯┷┰┸╱╲╳", "+"),
    ("█▓▇▆▅▉▊▋◼■▣", "#"),
    ("▒░▄▀▂▃⋯⋮", ":"),
    ("✓✔", "v"),
    ("✗✘×✕", "x"),
    ("●◉•◍", "*"),
    ("○◌◦◎", "o"),
    ("◐", "%"),
    ("▸▶›→»⇉↳❯", ">"),
    ("◂◀‹←«❮", "<"),
    ("▲△↑▴", "^"),
    ("▼▽↓▾⇣", "v"),
    ("◆◇", "*"),
    ("±≈", "~"),
    ("≡▤", "="),
    ("¿", "?"),
    ("⌕✎λ", "/"),
    ("·…", "."),
    ("‘’‚‛´", "'"),
    ("“”„‟", '"'),
    ("\xa0", " "),
)
TABLE: Final = {ord(sign): plain for signs, plain in _SAME for sign in signs}
"""What stands for a sign, one cell for one cell."""
_WORDS: Final = {sign: plain for sign, plain in TABLE.items() if sign != ord("·")} | {ord("…"): "..."}
"""In running text there is room; a dot that stands for a blank must not become a full stop."""


def add_sign(sign: str, plain: str) -> None:
    """Let a sign be written as that ASCII character; signs that have one already keep it."""
    if plain.isascii() and ord(sign) not in TABLE:
        TABLE[ord(sign)] = _WORDS[ord(sign)] = plain


def in_ascii(text: str) -> str:
    """Running text in ASCII: signs of ours as what looks like them, everything else as an escape that can be read."""
    if text.isascii():
        return text
    return text.translate(_WORDS).encode("ascii", "backslashreplace").decode()


def wants_ascii(env: Mapping[str, str] = os.environ) -> bool:
    """Whether the locale has no unicode; `OHW_ASCII` says it against the locale."""
    said = env.get("OHW_ASCII", "").lower()
    if said:
        return said in ("1", "true", "yes", "on")
    locale = env.get("LC_ALL") or _ctype(env) or env.get("LANG", "")
    if locale in ("C", "POSIX"):
        return True
    return "." in locale and "utf" not in locale.lower()


def _ctype(env: Mapping[str, str]) -> str:
    """The locale of signs; Python sets it to C.UTF-8 by itself where the person's own is C."""
    ctype = env.get("LC_CTYPE", "")
    return "" if ctype == "C.UTF-8" and env.get("LANG") in ("C", "POSIX") else ctype
