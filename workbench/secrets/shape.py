"""The shape of a key: a regular expression, and strings of which every match contains at least one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, TypeAlias

from workbench.lazy_pattern import lazy_pattern

Words: TypeAlias = Literal["", "long", "dashed", "encoded", "every"]
"""A part of a text's outline: "" is all of it, and "every" is all of its words.

"long" is the words of at least LONG characters, "dashed" those of them with a hyphen or underscore, and "encoded" those
of them that are not URLs.
"""


class Shape(NamedTuple):
    """A kind of secret; if the pattern has a group `secret`, only that group is masked."""

    name: str
    marks: tuple[str, ...]
    """Each match contains at least one of these strings."""
    pattern: re.Pattern[str]
    words: Words = ""
    """The part of the outline to search for the marks; "" means the whole text, as needed if a match may contain a
    space.
    """
    sign: str = ""
    """A string that each match contains and that is rare elsewhere, so it is searched for first."""
    of_setting: str = ""
    """One of `assignments.MARKS` that each match contains, in any case; texts are searched for these anyway."""
    begins: bool = False
    """Whether a match starts with its mark."""
    names: frozenset[str] = frozenset()
    """Words of which every text with a match contains at least one; empty if there are no such words."""
    gates: tuple[str, ...] = ()
    """The marks as they appear in an outline."""
    name_gates: frozenset[str] = frozenset()
    """The names as they appear in an outline."""
    word: str = ""
    """A string that some word of every text with a match contains."""
    holds: bool = True
    """Whether a stream holds back a line with a mark until it is complete; False if the secret is the match's last
    word.
    """

    def may_stand_in(self, parts: Mapping[Words, str], setting_marks: Collection[str], names: AbstractSet[str]) -> bool:
        """Return whether a text whose outline has these parts and names may contain a match."""
        if self.name_gates and self.name_gates.isdisjoint(names):
            return False
        if self.of_setting and self.of_setting not in setting_marks:
            return False
        if self.word not in parts["every"]:
            return False
        text = parts[self.words]
        return self.sign in text and any(gate in text for gate in self.gates)

    def matches(self, text: str) -> list[re.Match[str]]:
        """Return all matches in order and without overlaps."""
        if not self.begins:
            return list(self.pattern.finditer(text))
        matches: list[re.Match[str]] = []
        match = self.pattern.match
        for offset in sorted(offset for mark in self.marks for offset in _occurrences(text, mark)):
            if (here := match(text, offset)) and (not matches or offset >= matches[-1].end()):
                matches.append(here)
        return matches


LONG = 14
"""The minimum length of the words in the parts "long", "dashed" and "encoded" of an outline."""


_ZEROS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else byte for byte in range(256))


def in_outline(text: str) -> str:
    """Return the text as it appears in an outline: its UTF-8 bytes as Latin-1 characters, with every digit replaced by
    0.
    """
    return text.encode(errors="surrogatepass").translate(_ZEROS).decode("latin-1")


def outline(text: str) -> str:
    """Return the distinct lines of the text, in any order and with digits replaced by zeros; this shortens logs a lot.

    A string without digits and newlines is in the outline if and only if it is in the text (non-ASCII strings: after
    `in_outline`).
    """
    return "\n".join(set(in_outline(text).split("\n")))


def parts_of(text: str, every: AbstractSet[str]) -> dict[Words, str]:
    """Return the parts of an outline by kind; `every` is the set of all its words."""
    words = [word for word in every if len(word) >= LONG]
    dashed = [word for word in words if "-" in word or "_" in word]
    encoded = [word for word in words if "://" not in word]
    return {
        "": text,
        "long": "\n".join(words),
        "dashed": "\n".join(dashed),
        "encoded": "\n".join(encoded),
        "every": "\n".join(every),
    }


_FREE = r"(?<![A-Za-z0-9])"


def issued(name: str, marks: str, rest: str, words: Words = "dashed") -> Shape:
    """Return the shape of a token that starts with one of the issuer's prefixes (`marks`, separated by spaces)."""
    beginnings = marks.split()
    either = "|".join(re.escape(mark) for mark in beginnings)
    pattern = lazy_pattern(f"{_FREE}(?:{either}){rest}")
    return Shape(name, _shortest(beginnings), pattern, words=words, begins=True)


def _shortest(marks: list[str]) -> tuple[str, ...]:
    """Return the marks without those that start with another mark, because a search for that one finds them too."""
    return tuple(mark for mark in marks if not any(mark != other and mark.startswith(other) for other in marks))


def _occurrences(text: str, mark: str) -> Iterator[int]:
    offset = text.find(mark)
    while offset >= 0:
        yield offset
        offset = text.find(mark, offset + 1)


_FIRST = r"(?:(?<![\w.-])|(?<=\d-)|(?<=\n-)|(?<![\s\S]{2})(?<=-))"
"""The start of a command, also in a context line of grep (`file-12-line`) or a removed line of a diff (`-line`)."""
CHOSEN = r"(?=[^\s\"']{0,200}[\d!@#%^&*+?~,])(?![-$<‹{(\[/])[^\s\"'‹<>|;()`]{6,200}"
"""A password chosen by a human: six or more characters that are not only letters."""


TOKEN = r"(?=[^\s\"']{0,200}\d)(?=[^\s\"']{0,200}[A-Za-z])(?![-$<‹{(\[/])[^\s\"'‹<>|;()`:/\\]{10,200}(?![^\s\"'`;|)])"
"""A word with letters and digits that is neither a path nor a URL, such as a token."""


def of_commands(programs: str, option: str) -> Shape:
    """Return the shape of the passwords that follow an option of these programs; `programs` are separated by commas."""
    names = programs.split(",")
    either = "|".join(map(re.escape, names))
    pattern = rf"{_FIRST}(?:{either})\b[^\n|;&]{{0,300}}?(?<=\s){option}[\"']?(?P<secret>{CHOSEN})"
    first = frozenset(name.split()[0] for name in names)
    return Shape("password", _shortest(names), lazy_pattern(pattern), begins=True, names=first, holds=False)


def behind(commands: str, between: str = "", secret: str = "") -> Shape:
    """Return the shape of a word that follows a command, its options and the text `between`; `commands` are separated
    by commas.
    """
    names = commands.split(",")
    either = "|".join(map(re.escape, names))
    pattern = rf"{_FIRST}(?:{either}) +(?:--?[a-z][\w-]*(?:=\S+)? +)*{between}[\"']?(?P<secret>{secret or TOKEN})"
    first = frozenset(name.split()[0] for name in names)
    return Shape("password", _shortest(names), lazy_pattern(pattern), begins=True, names=first, holds=False)
