"""One word of a command, as far as its value is known before the command runs."""

from __future__ import annotations

import re
from typing import NamedTuple

UNKNOWN = "\0"
"""Stands in a word for what only the shell will know; commands with a real NUL are refused before."""


class Word(NamedTuple):
    """One word: its text (UNKNOWN for what is not known), and what the shell may still make of it."""

    text: str
    raw: str
    is_pattern: bool = False
    runs: bool = False
    """Whether a command inside it is run to make it."""

    @property
    def is_literal(self) -> bool:
        """Whether the command receives exactly this text."""
        return UNKNOWN not in self.text and not self.is_pattern

    @property
    def names_secret(self) -> bool:
        """Whether it holds a variable that by its name keeps a secret."""
        return "$" in self.raw and bool(_SECRET_VARIABLE.search(self.raw))


_SECRET_VARIABLE = re.compile(
    r"\$\{?\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|CREDENTIAL|ACCESS_KEY)", re.I
)


def literal(text: str) -> Word:
    """A word that means itself."""
    return Word(text, text)
