"""The keys that a model names with `is_input`: their bytes, and other spellings of their names."""

from __future__ import annotations

import re
from string import ascii_lowercase

from workbench.lazy_pattern import lazy_pattern

ENTER = b"\n"
KEYS: dict[str, bytes] = {
    "ENTER": ENTER,
    "TAB": b"\t",
    "ESC": b"\x1b",
    "UP": b"\x1b[A",
    "DOWN": b"\x1b[B",
    "RIGHT": b"\x1b[C",
    "LEFT": b"\x1b[D",
    "HOME": b"\x1b[H",
    "END": b"\x1b[F",
    "PGUP": b"\x1b[5~",
    "PGDN": b"\x1b[6~",
    "BS": b"\x7f",
    **{f"C-{letter}": bytes([number]) for number, letter in enumerate(ascii_lowercase, start=1)},
}


_SYNONYMS = {
    "RETURN": "ENTER",
    "ESCAPE": "ESC",
    "BACKSPACE": "BS",
    "PAGEUP": "PGUP",
    "PAGEDOWN": "PGDN",
    "ARROWUP": "UP",
    "ARROWDOWN": "DOWN",
    "ARROWLEFT": "LEFT",
    "ARROWRIGHT": "RIGHT",
    "BSPACE": "BS",
    "PPAGE": "PGUP",
    "NPAGE": "PGDN",
}
_WORDS = frozenset({"UP", "DOWN", "LEFT", "RIGHT", "HOME", "END", "RETURN"})
"""Names that may also be input for a program, such as `end` in Ruby; they are keys only as `END`, `End` and `<end>`."""
_CONTROL = lazy_pattern(r"(?:(?:ctrl|control)(?:[-_ ]| ?\+ ?)|c-|\^)([a-z])", re.IGNORECASE)
_IN_BRACKETS = lazy_pattern(r"<([^<>\s]{1,20})>")


def key_name(text: str) -> str:
    """Return the name of the key that `text` means, such as `C-c` for `ctrl+c`, `^C` and `<C-c>`, or an empty string.

    A name means its key in upper and lower case (`Enter`, `tab`), unless it is also text that programs read: `up` is
    text, but `Up`, `UP` and `<up>` are keys. A word with a space before or after it is text.
    """
    name = text.strip()
    if name in KEYS:
        return name
    brackets = _IN_BRACKETS.fullmatch(name)
    control = _CONTROL.fullmatch(brackets[1] if brackets else name)
    if control:
        return f"C-{control[1].lower()}"
    plain = _plain(brackets[1] if brackets else name)
    is_key = brackets or name == plain or (text == name and (plain not in _WORDS or name.istitle()))
    return _named(plain) if is_key else ""


def key_in_word(text: str) -> str:
    """Return the name of the key if the word is that name in another case, such as `ENTER` for `Enter`; otherwise
    empty.
    """
    return _named(_plain(text.strip()))


def _plain(name: str) -> str:
    return name[:20].upper().replace("_", "").replace("-", "").replace(" ", "")


def _named(plain: str) -> str:
    name = _SYNONYMS.get(plain, plain)
    return name if name in KEYS else ""


def key(text: str) -> bytes | None:
    """Return the bytes of the key that `text` names, or None."""
    return KEYS.get(key_name(text))


def control_letter(text: str) -> str:
    """Return the letter that `text` names together with the control key, such as `c` for `C-c`, or an empty string."""
    name = key_name(text)
    return name.removeprefix("C-") if name.startswith("C-") else ""
