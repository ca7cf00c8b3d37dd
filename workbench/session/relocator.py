"""Replaces the paths in events and texts when a session moves from its directories to another one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from workbench.protocol.events import Event

_BEFORE: Final = r"(?<![\w.~+*?%$^#)\]}-])"
_MARKS: Final = r"""\s'"`;|&<>),:\]}“”„‘’«»–—…\x00-\x1f"""
_END: Final = rf"(?=/|[.?!]*(?:[{_MARKS}]|\\(?! )|\Z))"
"""What ends the path of a directory; a space does, although a name can contain one."""
_MAY_END: Final = r"(?![\w+~@%#^=-]|\.\w)"


class Relocator:
    """Replaces the paths of some directories in texts with the path of another one."""

    def __init__(self, before: Sequence[str], now: str) -> None:
        """`before` are the directories in which the events happened, `now` is the new one."""
        names = "|".join(re.escape(each) for each in sorted(before, key=len, reverse=True))
        self._pattern = re.compile(rf"{_BEFORE}(?:{names}){_END}")
        self._whole = re.compile(rf"\A((?:[\w-]+=)?)(?:{names})(?=/|\Z)")
        self._loose = re.compile(rf"(?:{names}){_MAY_END}")
        self._first = tuple(before)
        self._now = now.replace("\\", "\\\\")

    def text(self, text: str) -> str:
        """Return the text with the paths moved to the new directory."""
        if not any(each in text for each in self._first):
            return text
        return self._pattern.sub(self._now, text)

    def event(self, event: Event) -> Event:
        """Return the event with the paths in all its fields moved to the new directory."""
        return msgspec.convert(self.value(msgspec.to_builtins(event)), type(event))

    def value(self, value: Any) -> Any:
        """Return plain data with the paths moved to the new directory, also in keys."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {self.value(key): self.value(part) for key, part in value.items()}
            case list() | tuple():
                return [self.value(part) for part in value]
        return value

    def is_certain(self, value: Any, name: str = "") -> bool:
        """Return whether it is certain which parts of the argument `name` are paths of the directories.

        Each of them must start a word of the shell command, or the whole text of another argument.
        """
        match value:
            case str():
                return not self._loose.search(value) or self._is_certain(value, name)
            case Mapping():
                return all(self.is_certain(part, str(key)) for key, part in value.items())
            case list() | tuple():
                return all(map(self.is_certain, value))
        return True

    def _is_certain(self, text: str, name: str) -> bool:
        try:
            words, moved = _words(text, name), _words(self.text(text), name)
        except ValueError:  # a quote is not closed
            return False
        ends = [self._whole.sub("", word) for word in words]
        whole = [self._whole.sub(rf"\g<1>{self._now}", word) for word in words]
        return moved == whole and not any(map(self._loose.search, ends))


def _words(text: str, name: str) -> list[str]:
    """Return the words of a shell command, or any other argument as one word. Raises ValueError."""
    if name != "command":
        return [text]
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split, words.commenters = True, ""
    return list(words)
