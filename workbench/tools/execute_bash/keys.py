"""Names of keys as a model writes them, and the bytes a terminal sends for them; used for `is_input`."""

from __future__ import annotations

from string import ascii_lowercase

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


def key(text: str) -> bytes | None:
    """The bytes of the key that `text` names, or None."""
    name = text.strip()
    return KEYS.get(name) or KEYS.get(f"C-{name[2:].lower()}" if name.startswith("C-") else "")


def typed(text: str, *, by_line: bool = True) -> bytes:
    """The bytes to type: those of the key when `text` names one, else the text and Enter.

    A terminal in line mode ends a line with a newline; a program that reads single keys gets what Enter sends.
    """
    enter = ENTER if by_line else b"\r"
    if text.strip() == "ENTER":
        return enter
    pressed = key(text)
    return pressed if pressed is not None else text.encode("utf-8", "replace").replace(ENTER, enter) + enter
