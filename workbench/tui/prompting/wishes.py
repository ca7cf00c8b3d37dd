"""What the text before the cursor asks to be completed, and how a path is written in a message; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from workbench.session.written_mentions import BEHIND

Kind = Literal["command", "argument", "file", "history"]

_COMMAND = re.compile(r"/([\w.:-]*)")
_ARGUMENT = re.compile(r"/([\w-]+) (\S*)")
_OPEN_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<,;:='"]))@("[^"]*|[^\s"]*)$""")


@dataclass(frozen=True)
class Wish:
    """The part of the line from `start` to the cursor is to become something; `of` is the command of an argument."""

    kind: Kind
    query: str
    start: int
    of: str = ""


def wish_at(lines: list[str], row: int, column: int) -> Wish | None:
    """What is asked for where the cursor stands."""
    before = lines[row][:column]
    if row == 0 and len(lines) == 1 and before.startswith("/"):
        if found := _COMMAND.fullmatch(before):
            return Wish("command", found[1], 0)
        if found := _ARGUMENT.fullmatch(before):
            return Wish("argument", found[2], found.start(2), found[1])
    if found := _OPEN_MENTION.search(before):
        return Wish("file", found[1].lstrip('"'), found.start())
    return None


def mention_of(path: str) -> str:
    """How a path is written in a message."""
    return f'@"{path}"' if re.search(r"[\s\"]", path) or path[-1:] in BEHIND else f"@{path}"
