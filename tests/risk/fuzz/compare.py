"""Compares the commands that the analysis found with those that bash ran."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.programs import rate as programs
from workbench.risk.shell.call import Call
from workbench.risk.word import UNKNOWN, Word

UNSURE = "cannot be read with certainty"
_FILE_OF_PROCESS = re.compile(r"/dev/fd/\d+")
PLACES = PathContext("/home/u/proj", "/home/u")


class Difference(NamedTuple):
    """A command that bash ran and the analysis missed, although it did not rate the line HIGH."""

    line: str
    ran: tuple[str, ...]
    risk: str
    unsure: bool
    """Whether the analysis said itself that it cannot be read with certainty."""


def differences(lines: Sequence[str], ran: Sequence[Sequence[tuple[str, ...]]]) -> list[Difference]:
    """Return the differences, at most one for each line."""
    mismatches = []
    for line, commands in zip(lines, ran, strict=True):
        with _seen() as seen:
            rating = assess_command(line, PLACES)
        risk = rating.risk
        if risk == "HIGH":
            continue
        missed = next((command for command in commands if not _is_seen(command, seen)), None)
        if missed:
            mismatches.append(Difference(line, missed, risk, any(part.reason == UNSURE for part in rating.parts)))
    return mismatches


@contextmanager
def _seen() -> Iterator[list[list[Word]]]:
    """Collect all calls that are rated within the block; the rating itself is unchanged."""
    seen: list[list[Word]] = []
    rate = programs.judge

    def listening(call: Call, name: Word) -> None:
        seen.append([name, *call.words])
        rate(call, name)

    with patch.object(programs, "judge", listening):
        yield seen


def _is_seen(command: tuple[str, ...], seen: list[list[Word]]) -> bool:
    return any(_fits(command, words) for words in seen)


def _fits(command: tuple[str, ...], words: list[Word]) -> bool:
    """Return whether the words match in order, or at least each matches somewhere."""
    if command[0] == "COPROC":  # bash prints the name of a coprocess into a substitution, and reads it as a command
        command = command[1:]
    if command[0] != words[0].text:
        return False
    command = tuple(_FILE_OF_PROCESS.sub("/dev/fd/63", argument) for argument in command)
    line = "\n".join(("", *(argument.replace("\n", " ") for argument in command[1:])))
    in_order = "".join(_pattern(word) for word in words[1:])
    if re.fullmatch(in_order, line, re.DOTALL):
        return True
    return all(any(re.fullmatch(_pattern(word), "\n" + argument.replace("\n", " "), re.DOTALL) for word in words[1:])
               for argument in command[1:])  # fmt: skip


def _pattern(word: Word) -> str:
    """Return a pattern for the words that bash may make of a word: any number of words where it is unknown."""
    if word.is_pattern or word.text == UNKNOWN or (UNKNOWN in word.text and not word.raw.startswith('"')):
        return r"(?:\n.*?)??" if word.is_pattern or word.text == UNKNOWN else r"(?:\n.*?)"
    text = _FILE_OF_PROCESS.sub("/dev/fd/63", word.text)
    return r"\n" + re.escape(text.replace("\n", " ")).replace(re.escape(UNKNOWN), ".*?")
