"""Recognizes commands that only read files of the workspace, for plan mode.

LOW is not enough for that: it also covers commands that change the shell (`x=1`, `set -e`), never end (`yes`), or ask
another program (`docker ps`). So this module has a list of its own, of programs and forms of commands. A command is
accepted only if it is LOW and on this list, and if both parse it into the same words.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Assessment, Part
from workbench.risk.paths import within

_PROGRAMS: Final = lazy_pattern(
    "ls|cat|head|tail|wc|tree|find|[ef]?grep|rg|fd|ag|sort|uniq|cut|tr|nl|tac|rev|fold|column|comm|join|paste|diff|cmp|"
    "stat|file|du|df|jq|yq|sed|awk|pwd|echo|printf|test|true|false|which|type|basename|dirname|realpath|readlink|md5sum|"
    "sha1sum|sha256sum|cksum|base64|zcat|strings|od|xxd|hexdump|seq|expr|date|uname|whoami|id|nproc"
)
_VERSION: Final = frozenset({"--version", "-V"})
_GIT: Final = lazy_pattern(
    "log|show|diff|diff-tree|diff-index|diff-files|range-diff|status|blame|grep|ls-files|ls-tree|rev-parse|rev-list|"
    "describe|shortlog|cat-file|merge-base|name-rev|show-ref|show-branch|for-each-ref|whatchanged|count-objects|cherry|"
    "check-ignore|check-attr|version|(?:stash|worktree) list|stash show|remote get-url"
)
_SORTED: Final = r"--(?:sort|format|color|column|abbrev)(?:=.*)?|--no-(?:color|column|abbrev)|-i|--ignore-case"
_SELECTS: Final = lazy_pattern(r"-l|--list|-n\d*|--(?:no-)?(?:merged|contains)(?:=.*)?|--points-at(?:=.*)?")
"""Matches options with which `git branch` and `git tag` list matches; without one, they create the named branch or
tag.
"""
_GIT_LISTS: Final[Mapping[str, re.Pattern[str]]] = {
    "branch": lazy_pattern(rf"-[avr]+|--(?:all|remotes|verbose|show-current)|{_SELECTS.pattern}|{_SORTED}"),
    "tag": lazy_pattern(rf"{_SELECTS.pattern}|{_SORTED}"),
    "remote": lazy_pattern("-v|--verbose"),
    "symbolic-ref": lazy_pattern("-q|--quiet|--short|HEAD"),
    "reflog": lazy_pattern(r"(?!(?:expire|delete|drop|write|migrate|exists)$).*"),
}
"""Commands of git that list something with these arguments only, and change it with others."""
_GIT_OPTIONS: Final = ("--no-pager", "-P")
_FOLLOWS: Final = lazy_pattern(r"-[A-Za-z0-9]*[fF]\w*|--follow.*|--retry|--pid.*")
"""Options of `tail` that keep it running forever."""
_QUIET: Final = lazy_pattern(r"(?<=\s)(?:2>\s?&1|(?:[12]?|&)>\s?/dev/null)(?=[\s;|]|$)")
_COMMENT: Final = lazy_pattern(r"(?:^|(?<=\s))#[^\n'\"]*$", re.M)
_JOINTS: Final = frozenset({"", ";", "|", "&&", "||"})
_ESCAPED: Final = "\ue000"
_NOWHERE: Final = "/dev/null"


def only_looks(arguments: Mapping[str, Any], local: Assessment, workspace: str) -> bool:
    """Return whether a call of a shell only reads files of the workspace, whatever the model says about it.

    The shell is the same afterwards except for its directory, which stays in the workspace. Nothing is written, and no
    other program or machine is asked.
    """
    command = arguments.get("command")
    if not isinstance(command, str) or any(arguments.get(name) for name in ("is_input", "reset")):
        return False
    if local.risk != "LOW" or not local.parts or not all(_is_harmless(part, workspace) for part in local.parts):
        return False
    words = _segments(command)
    rated = [list(part.words) for part in local.parts if not part.depth]
    return bool(words) and words == rated and all(_looks(part.words) for part in local.parts)


def _is_harmless(part: Part, workspace: str) -> bool:
    if part.risk != "LOW" or part.changes or part.deletes or part.protected or part.opaque:
        return False
    paths = (*part.paths, *part.directories, *_paths_of_git(part))
    is_inside = all(path == _NOWHERE or _is_inside(path, workspace) for path in paths)
    return is_inside and not part.unplaced and not part.is_lost


def _is_inside(path: str, workspace: str) -> bool:
    """Return whether a path, with links followed, is in the workspace."""
    return within(os.path.normpath(path), workspace) and within(
        recorded_stat.real_path(path), recorded_stat.real_path(workspace)
    )


def _paths_of_git(part: Part) -> Iterator[str]:
    """Yield each argument of git as the path that it may be; for some commands only git knows which ones are paths."""
    if part.words[:1] == ("git",):
        for word in part.words[1:]:
            for name in (word, word.partition("=")[2], word.rpartition(":")[2]):
                yield from (f"{directory}/{name}" if name[:1] != "/" else name for directory in part.directories)


def _segments(command: str) -> list[list[str]]:
    """Return the words of the commands that the line joins; words with other syntax are kept and match no rating."""
    if "\r" in command:
        return []
    text = _QUIET.sub(" ", _COMMENT.sub("", command)).replace("\\;", _ESCAPED)
    lexer = shlex.shlex(text.strip(), posix=True, punctuation_chars=";|&()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    segments: list[list[str]] = [[]]
    for token in tokens:
        if token and token.strip("\n") in _JOINTS:
            segments.append([])
        else:
            segments[-1].append(token.replace(_ESCAPED, ";"))
    return segments if all(segments) else []


def _looks(words: Sequence[str]) -> bool:
    if not words:
        return False
    name, *rest = words
    if name == "git":
        return _git_looks(rest)
    if name == "cd":
        return len(rest) == 1 and not rest[0].startswith("-")
    if name == "tail" and any(map(_FOLLOWS.fullmatch, rest)):
        return False
    is_lookup = name == "command" and rest[:1] == ["-v"]
    return bool(_PROGRAMS.fullmatch(name)) or is_lookup or (len(rest) == 1 and rest[0] in _VERSION)


def _git_looks(words: Sequence[str]) -> bool:
    while words and (words[0] in _GIT_OPTIONS or words[0] == "-C"):
        words = words[2 if words[0] == "-C" else 1 :]
    if not words:
        return False
    name, *rest = words
    if _GIT.fullmatch(name) or _GIT.fullmatch(" ".join(words[:2])):
        return True
    if name not in _GIT_LISTS:
        return name == "--version"
    selects = name == "reflog" or any(map(_SELECTS.fullmatch, rest))
    return all(_GIT_LISTS[name].fullmatch(word) or (selects and not word.startswith("-")) for word in rest)
