"""The patterns of rules: one for commands, one for paths; used by `matching` and `width`."""

from __future__ import annotations

import os
import re
from functools import lru_cache


def is_exact(pattern: str) -> bool:
    """Whether a command pattern stands for itself alone."""
    return "*" not in re.sub(r"\\.", "", pattern)


def escaped(command: str) -> str:
    """The pattern that fits this command alone."""
    return command.replace("\\", "\\\\").replace("*", "\\*")


@lru_cache(512)
def command_pattern(pattern: str) -> re.Pattern[str]:
    """`*` is anything, `\\*` a star; ` *` at the end also fits no more words at all."""
    body, rest = (pattern[:-2], r"(?: .*)?") if pattern.endswith(" *") and pattern != " *" else (pattern, "")
    pieces = re.findall(r"\\.|\*+|\s+|[^\\*\s]+|\\", body, re.DOTALL)
    return re.compile("".join(map(_command_piece, pieces)) + rest, re.DOTALL)


def _command_piece(piece: str) -> str:
    if piece.startswith("*"):
        return ".*"
    if piece.isspace():
        return r"\s+"
    return re.escape(piece[1:] if len(piece) > 1 and piece[0] == "\\" else piece)


def is_address(text: str) -> bool:
    """Whether it is an address of the web, or a pattern for such."""
    return text.lower().startswith(("https://", "http://"))


@lru_cache(512)
def path_pattern(pattern: str, workspace: str, home: str, *, below: bool, folded: bool) -> re.Pattern[str]:
    """`*` is anything within a name, `**` also across folders, `/` at the end all that is below the folder.

    Addresses of the web are patterns too: `https://example.org/**`.

    With `below` a pattern fits what is below what it names; with `folded` upper and lower case are the same.
    """
    whole = f"{home}{pattern[1:]}" if pattern.startswith("~/") or pattern == "~" else pattern
    is_web = is_address(pattern)
    whole = whole if is_web or whole.startswith(("/", "**/")) else f"{workspace}/{whole}"
    is_folder = whole.endswith("/")
    whole = whole if is_web or "**" in whole else os.path.normpath(whole)
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", whole.rstrip("/"))
    body = "".join(_PATH_PIECES.get(piece) or re.escape(piece) for piece in pieces)
    end = "/.*" if is_folder and not below else "(?:/.*)?" if below or is_folder else ""
    return re.compile(body + end, re.DOTALL | (re.IGNORECASE if folded else 0))


_PATH_PIECES = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
