"""Secrets taken out of a text that comes piece by piece, wherever it is cut; used for output that streams."""

from __future__ import annotations

import re

from workbench.security.secret_shapes import SHAPES
from workbench.security.secrets import Secrets

_LONGEST_WORD = 4096
_LONGEST_BLOCK = 16_384
_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?!.*-----END)|-----BEGIN[A-Z -]*\Z", re.DOTALL)
_MARKS = tuple(mark for shape in SHAPES for mark in shape.marks)


class SecretStream:
    """Gives on what can hold no secret any more: the last word waits for what follows it, or the line it depends on."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = ""

    def feed(self, text: str) -> str:
        """What may be shown now that this has come."""
        held = self._held + text
        cut = self._cut(held)
        self._held = held[cut:]
        return self._secrets.masked(held[:cut])

    def rest(self) -> str:
        """What is left at the end."""
        held, self._held = self._held, ""
        return self._secrets.masked(held)

    def _cut(self, held: str) -> int:
        """A place that no secret goes across."""
        block = _BLOCK.search(held)
        if block and len(held) - block.start() < _LONGEST_BLOCK:
            return block.start()
        start = max(held.rfind("\n"), held.rfind("\r")) + 1
        line = held[start:]
        blank = start + max(line.rfind(" "), line.rfind("\t")) + 1
        if len(line) > max(_LONGEST_WORD, 2 * self._secrets.longest):
            return blank if blank > start else len(held)
        return start if any(mark in line for mark in _MARKS) or self._secrets.have_blanks else blank
