"""Tells which commands only look at the workspace, for plan mode.

LOW is not enough for that: it also covers commands that change the shell (`cd`, `x=1`, `set -e`), never end (`yes`), or
ask another program (`docker ps`). So there is a second list here, of programs and forms, and both must agree: the words
that this module reads must be those that the rating has read.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from workbench.risk.assessment import Assessment, Part
from workbench.risk.paths import within

_PROGRAMS: Final = re.compile(
    "ls|cat|head|tail|wc|tree|find|[ef]?grep|rg|sort|uniq|cut|tr|nl|tac|rev|fold|column|comm|join|paste|diff|cmp|stat|file|"
    "du|jq|sed|awk|pwd|echo|test|true|false|which|basename|dirname|realpath|readlink|md5sum|sha1sum|sha256sum|cksum|"
    "strings|od|xxd|hexdump"
)
_GIT: Final = re.compile(
    "log|show|diff|status|blame|grep|ls-files|ls-tree|rev-parse|rev-list|describe|shortlog|cat-file|merge-base|name-rev|"
    "show-ref|for-each-ref|whatchanged|count-objects"
)
_GIT_LISTS: Final[Mapping[str, frozenset[str]]] = {
    "branch": frozenset({"-a", "-r", "-v", "-vv", "--all", "--list", "--show-current", "--remotes"}),
    "tag": frozenset({"-l", "--list", "-n"}),
    "remote": frozenset({"-v", "--verbose"}),
    "reflog": frozenset({"show", "--all", "--oneline", "--stat"}),
}
"""Commands of git that list something with these arguments only, and change it with others."""
_GIT_OPTIONS: Final = ("--no-pager", "-P")
_FOLLOWS: Final = re.compile(r"-[A-Za-z0-9]*[fF]\w*|--follow.*|--retry|--pid.*")
"""Options of `tail` with which it never ends."""
_QUIET: Final = re.compile(r"(?<=\s)2>\s?(?:/dev/null|&1)(?=[\s;|]|$)")
_JOINTS: Final = frozenset({";", "|", "&&", "||"})
_NOWHERE: Final = "/dev/null"


def only_looks(arguments: Mapping[str, Any], local: Assessment, workspace: str) -> bool:
    """Return whether a call of a shell only reads files of the workspace, whatever the model says about it.

    The shell is the same afterwards, nothing is written, and no other program or machine is asked.
    """
    command = arguments.get("command")
    if not isinstance(command, str) or any(arguments.get(name) for name in ("is_input", "reset")):
        return False
    if local.risk != "LOW" or not local.parts or not all(_is_harmless(part, workspace) for part in local.parts):
        return False
    words = _segments(command)
    rated = [list(part.words) for part in local.parts if not part.depth]
    if any(_names_path_outside(word, workspace) for segment in words if segment[0] == "git" for word in segment):
        return False
    return bool(words) and words == rated and all(_looks(part.words) for part in local.parts)


def _names_path_outside(word: str, workspace: str) -> bool:
    """Return whether an argument of git leads out of the workspace; git reads such files for some commands alone."""
    path = word.partition("=")[2] if word.startswith("-") else word
    return path.startswith("/") and not within(os.path.normpath(path), workspace)


def _is_harmless(part: Part, workspace: str) -> bool:
    if part.risk != "LOW" or part.changes or part.deletes or part.protected or part.opaque:
        return False
    is_inside = all(path == _NOWHERE or within(os.path.normpath(path), workspace) for path in part.paths)
    return is_inside and not part.unplaced and not part.is_lost


def _segments(command: str) -> list[list[str]]:
    """Return the words of the plain commands that the line joins; empty if there is any other syntax of the shell."""
    if "\n" in command or "\r" in command or "\\" in command:
        return []
    lexer = shlex.shlex(_QUIET.sub(" ", command), posix=True, punctuation_chars=";|&()<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    segments: list[list[str]] = [[]]
    for token in tokens:
        if token in _JOINTS:
            segments.append([])
        elif token and set(token) <= set(";|&()<>"):
            return []
        else:
            segments[-1].append(token)
    return segments if all(segments) else []


def _looks(words: Sequence[str]) -> bool:
    if not words:
        return False
    name, *rest = words
    if name == "git":
        return _git_looks(rest)
    return bool(_PROGRAMS.fullmatch(name)) and not (name == "tail" and any(map(_FOLLOWS.fullmatch, rest)))


def _git_looks(words: Sequence[str]) -> bool:
    while words and words[0] in _GIT_OPTIONS:
        words = words[1:]
    if not words:
        return False
    name, *rest = words
    return bool(_GIT.fullmatch(name)) or (name in _GIT_LISTS and _GIT_LISTS[name].issuperset(rest))
