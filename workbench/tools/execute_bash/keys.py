"""Names of keys as a model writes them, and the bytes a terminal sends for them; used for `is_input`."""

from __future__ import annotations

from string import ascii_lowercase

KEYS: dict[str, bytes] = {
    "ENTER": b"\n",
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


def typed(text: str) -> bytes:
    """The bytes to type: those of the key when `text` names one, else the text and Enter."""
    name = text.strip()
    key = KEYS.get(name) or KEYS.get(name[:2] + name[2:].lower() if name.startswith("C-") else "")
    return key if key is not None else text.encode("utf-8", "replace") + b"\n"


def is_key(text: str) -> bool:
    """Whether the text names a key."""
    name = text.strip()
    return name in KEYS or (name.startswith("C-") and f"C-{name[2:].lower()}" in KEYS)
