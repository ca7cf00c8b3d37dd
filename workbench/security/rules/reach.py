"""Whether an action reaches what a rule names from above: a search or deletion of a folder that holds it, a pattern of
files that it fits; used by `book`, which asks about these."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from workbench.security.assessment import Part
from workbench.security.protected import words
from workbench.security.rules.matching import is_in_force, real, runs
from workbench.security.rules.rule import Rule
from workbench.security.rules.subject import Subject

_DEEP: Final = words("find fd rg ag ack tree du tar zip 7z rsync mv glob grep")
"""Programs, and tools, that take in whole folders (`grep` as a program only where it is told to)."""
_DEEP_GIT: Final = words("clean grep stash archive")
_BY_R: Final = words("rm cp chmod chown chgrp grep egrep fgrep diff scp")
_CLUSTER = re.compile(r"-[a-zA-Z]+")
_SIGNS = re.compile(r"[*?\[]")


def reaches(rule: Rule, subject: Subject) -> bool:
    """Whether it may touch what an `ask` or `deny` rule for a path names, without naming that itself.

    A rule that begins with `**` names nothing that lies in a certain folder; for it only what is named counts.
    """
    base = base_of(rule.path, subject)
    if not base or not is_in_force(rule, subject) or (rule.tool and not fnmatchcase(subject.tool, rule.tool)):
        return False
    bases = {base.casefold(), real(base).casefold()}
    return any(_meets(path.casefold(), each, is_deep) for path, is_deep in _places(rule, subject) for each in bases)


def base_of(pattern: str, subject: Subject) -> str:
    """What the pattern names, up to the first part with a sign in it; empty where that is no certain place."""
    if not pattern or pattern.startswith("**"):
        return ""
    whole = f"{subject.home}{pattern[1:]}" if pattern.startswith("~") else pattern
    whole = whole if whole.startswith("/") else f"{subject.workspace}/{whole}"
    plain: list[str] = []
    for part in PurePosixPath(whole).parts:
        if _SIGNS.search(part):
            break
        plain.append(part)
    found = os.path.normpath("/".join(plain).replace("//", "/"))
    return "" if found == "/" else found


def _places(rule: Rule, subject: Subject) -> Iterator[tuple[str, bool]]:
    """The paths of an action, and whether it takes in all that is below."""
    if not subject.is_shell and not rule.command:
        is_deep = subject.tool in _DEEP
        named = subject.paths or ((subject.workspace,) if is_deep else ())
        yield from ((path, is_deep) for one in named for path in {one, real(one)})
    for part in subject.parts if subject.is_shell else ():
        if rule.command and not runs(rule, part):
            continue
        is_deep = _is_deep(part)
        named = part.paths or ((subject.workspace,) if is_deep else ())
        yield from ((path, is_deep) for one in named for path in {os.path.normpath(one), real(one)})


def _is_deep(part: Part) -> bool:
    if not part.words:
        return False
    name, *rest = (part.words[0].rpartition("/")[2], *part.words[1:])
    if name == "git":
        return rest[:1] != [] and rest[0] in _DEEP_GIT
    if name in _DEEP and name != "grep":
        return True
    signs = ("R", "r", "a") if name == "cp" else ("R", "r") if name in _BY_R else ("R",)
    return any(
        word in ("--recursive", "--archive", "--dereference-recursive")
        or (_CLUSTER.fullmatch(word) is not None and any(sign in word for sign in signs))
        for word in rest
    )


def _meets(path: str, base: str, is_deep: bool) -> bool:
    """Whether a path, which may be a pattern of the shell, may be at or below the base, or (`is_deep`) above it."""
    mine, its = PurePosixPath(path).parts, PurePosixPath(base).parts
    if not all(one == other or fnmatchcase(other, one) for one, other in zip(mine, its, strict=False)):
        return False
    return is_deep or (len(mine) >= len(its) and bool(_SIGNS.search(path)))
