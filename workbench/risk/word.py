"""A word of a command, with as much of its value as is known before the command runs."""

from __future__ import annotations

import glob
import re
from typing import NamedTuple

from workbench.lazy_pattern import lazy_pattern

UNKNOWN = "\0"
"""The placeholder in a word for content known only to the shell; commands with a real NUL are rejected earlier."""


class Word(NamedTuple):
    """A word of a command: its text, with UNKNOWN for unknown content, and how the shell may still expand it."""

    text: str
    raw: str
    is_pattern: bool = False
    runs: bool = False
    """Whether the shell runs a command to expand the word."""
    splits: bool = False
    """Whether the shell may split an unknown value into several words, or none."""
    matches: bool = False
    """Whether the shell may put the names of several files in its place."""

    @property
    def spreads(self) -> bool:
        """Whether the command may receive several words in its place."""
        return self.splits or self.matches

    @property
    def is_literal(self) -> bool:
        """Whether the command receives exactly this text."""
        return UNKNOWN not in self.text and not self.is_pattern

    @property
    def pattern(self) -> str:
        """The text as a glob pattern: characters that the shell does not expand are escaped."""
        return self.text if self.is_pattern or _GLOB_CHARACTERS.isdisjoint(self.text) else glob.escape(self.text)

    @property
    def names_secret(self) -> bool:
        """Whether the word contains a variable that is named like a secret."""
        return "$" in self.raw and bool(_SECRET_VARIABLE.search(self.raw))


_GLOB_CHARACTERS = frozenset("*?[")
_SECRET_VARIABLE = lazy_pattern(
    r"\$\{?\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|CREDENTIAL|ACCESS_KEY)", re.I
)


def literal(text: str) -> Word:
    """Return a word that the command receives exactly as `text`."""
    return Word(text, text)
