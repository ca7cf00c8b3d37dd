"""Changes of directory in a command line: `cd`, `pushd`, `popd`, and commands that make one for their caller."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from workbench.risk.shell.origins import TEMPORARY
from workbench.risk.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

MOVES_CALLER = frozenset({"eval", "command", "builtin", "time", "!"})
"""Commands whose inner command runs in the same shell, so that its change of directory lasts."""
_OWN_SHELL = frozenset({"subshell", "command_substitution", "process_substitution", "pipeline"})

_MOVE = re.compile(rb"\b(?:cd|pushd|popd)\b")
_MOVER = re.compile(rb"(?:\w+=\S*\s+)*[\\'\"]*(?:cd|pushd|popd|eval|command|builtin|time)\b")
_DOWN = re.compile(rb"cd +(?!\S*\.\.)[\w@+][\w.@+/-]*")


def change(scan: Scan, word: Word | None) -> None:
    """Apply `cd WORD`; None is the home directory, which is not known where the line sets HOME."""
    _go(scan, _target(scan, scan.reader.home()) if word is None else _target(scan, word))


def push(scan: Scan, word: Word | None) -> None:
    """Apply `pushd`; None stands for all of its forms but a directory, which rotate or change a stack that is not known
    as a whole.
    """
    if word is None or word.text.startswith("+"):
        scan.stack.clear()
        _go(scan, None)
    else:
        scan.stack.append(scan.folder)
        _go(scan, _target(scan, word))


def pop(scan: Scan, *, plain: bool) -> None:
    """Apply `popd`: back to where the last `pushd` of this line was; unknown with arguments or without one."""
    back = scan.stack.pop() if scan.stack and plain else None
    if back is None:
        scan.stack.clear()
    _go(scan, back)


def taken_over(scan: Scan, child: Scan) -> None:
    """Apply the change of directory of a command that ran in the same shell."""
    scan.stack = child.stack
    if child.moves:
        _go(scan, child.folder)


def called(scan: Scan, name: str) -> None:
    """Apply the call of a function that changes the directory: to where is not known."""
    if name in scan.movers:
        _go(scan, None)


def moves_caller(body: Node) -> str:
    """Return how a function's body changes the directory of the shell that calls it: "" not, "down" below where it is,
    "away" to anywhere.
    """
    text = body.text or b""
    if body.type in _OWN_SHELL or not _MOVE.search(text):
        return ""
    if body.type == "command":
        return "down" if _DOWN.fullmatch(text) else "away" if _MOVER.match(text) else ""
    found = {moves_caller(child) for child in body.children}
    return "away" if "away" in found else "down" if "down" in found else ""


def _target(scan: Scan, word: Word) -> str | None:
    """Where `cd` leads; None where that is not known.

    Bash goes up from the name it came by, the kernel from the real directory; where these differ it depends on
    `set -P`, which other shells do not have.
    """
    if word.text == "-" or word.text[:1] == "+" or (word.is_pattern and not _is_new(word)):
        return None
    path = scan.absolute(word)
    if path is None or ".." not in path.split("/"):
        return path
    by_name = os.path.normpath(path)
    return by_name if scan.places.resolved(by_name) == scan.places.resolved(path) else None


def _go(scan: Scan, path: str | None) -> None:
    move, scan.moves = scan.moves, scan.moves + 1
    if scan.stops or path == scan.folder:
        scan.folder = path
    elif move in scan.fails:
        scan.gone = path or ""
    else:
        scan.folder, scan.unsure = path, True


def _is_new(word: Word) -> bool:
    """Whether it is a variable that holds the name of a new temporary directory."""
    return word.text == TEMPORARY and word.raw.lstrip('"').startswith("$")
