"""Streams the words of an answer in plain-text calls: the call itself is held back, thinking goes its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from workbench.llm.model import Delta

_CALLS: Final = ("<function=", "<tool_call>")
_THINK: Final = "<think>"
_THOUGHT: Final = "</think>"


class CallHider:
    """Between a model's deltas and whoever shows them; `end` gives out what was held back and was no tag."""

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        self._on_delta = on_delta
        self._held = ""
        self._inside: Literal["words", "thinking", "call"] = "words"

    def take(self, delta: Delta) -> None:
        """Pass on what can be nothing but words."""
        if delta.kind != "text":
            self._on_delta(delta)
            return
        self._held += delta.text
        while self._inside != "call" and self._step():
            pass
        if self._inside == "call":
            self._held = ""

    def end(self) -> None:
        """The answer is whole."""
        if self._inside != "call":
            self._say(len(self._held))

    def _step(self) -> bool:
        """Say what comes before the next tag; whether there was one."""
        tags = (_THOUGHT,) if self._inside == "thinking" else (*_CALLS, _THINK)
        found = [(at, tag) for tag in tags if (at := self._held.find(tag)) >= 0]
        if not found:
            self._say(len(self._held) - _begun(self._held, tags))
            return False
        at, tag = min(found)
        self._say(at)
        self._held = self._held[len(tag) :]
        self._inside = "call" if tag in _CALLS else "thinking" if tag == _THINK else "words"
        return True

    def _say(self, length: int) -> None:
        text, self._held = self._held[:length], self._held[length:]
        if text:
            self._on_delta(Delta("reasoning" if self._inside == "thinking" else "text", text))


def _begun(text: str, tags: tuple[str, ...]) -> int:
    """How many characters at the end may be the beginning of a tag."""
    longest = max(map(len, tags)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(tag.startswith(text[-length:]) for tag in tags):
            return length
    return 0
