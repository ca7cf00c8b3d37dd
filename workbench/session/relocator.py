"""Moves what a log says from the directories in which it happened to another one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from workbench.protocol.events import Event


class Relocator:
    """Replaces the paths of some directories in texts by that of another one."""

    def __init__(self, before: Sequence[str], now: str) -> None:
        """`before` are the directories in which the events happened."""
        names = "|".join(re.escape(each) for each in sorted(before, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w.~-])(?:{names})(?![\w-]|\.\w)")
        self._first = tuple(before)
        self._now = now.replace("\\", "\\\\")

    def text(self, text: str) -> str:
        """Return the text with the paths of the new directory."""
        if not any(each in text for each in self._first):
            return text
        return self._pattern.sub(self._now, text)

    def event(self, event: Event) -> Event:
        """Return the event with the paths of the new directory, in whatever field."""
        return msgspec.convert(self.value(msgspec.to_builtins(event)), type(event))

    def value(self, value: Any) -> Any:
        """Return plain data with the paths of the new directory, also in keys."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {self.value(key): self.value(part) for key, part in value.items()}
            case list() | tuple():
                return [self.value(part) for part in value]
        return value
