"""Globs as regular expressions, read as ripgrep reads them; used for `glob`, `include` and ignore files.

`*` and `?` stay within one name, `**` stands for any number of folders, `{a,b}` for either, `[a-z]` and `[!a-z]` for
one character, a backslash takes the next character as it is. Built so that matching never backtracks without end.
Standard library only: the search process of `grep` imports this.
"""

from __future__ import annotations

import re

_MOST = 256
"""Alternatives that the braces of one glob may stand for."""
_DEEPEST = 12
_MAGIC = re.compile(r"[*?\[{\\]")
_FOLDERS = "(?:[^/]+/)*"


class GlobError(ValueError):
    """A glob that cannot be read; the message says why."""


def has_magic(text: str) -> bool:
    """Whether the text is more than a plain name."""
    return bool(_MAGIC.search(text))


def glob_regex(glob: str) -> str:
    """A regular expression for whole relative paths (names joined by `/`); raises GlobError."""
    return "|".join(f"(?:{_one(part)})" for part in expand(glob))


def expand(glob: str, depth: int = 0) -> list[str]:
    """The glob without braces, once for each way to choose; raises GlobError."""
    opened = _find_brace(glob)
    if opened < 0:
        return [glob]
    if depth > _DEEPEST:
        raise GlobError(f"it has more than {_DEEPEST} braces")
    branches, rest = _branches(glob, opened)
    made: list[str] = []
    for branch in branches:
        made += [glob[:opened] + end for end in expand(branch + rest, depth + 1)]
        if len(made) > _MOST:
            raise GlobError(f"its braces stand for more than {_MOST} names")
    return made


def _find_brace(glob: str) -> int:
    """Where the first opening brace stands that is neither escaped nor in a class; -1 when there is none."""
    at = 0
    while at < len(glob):
        if glob[at] == "{":
            return at
        if glob[at] == "}":
            raise GlobError("`}` without `{` (write `\\}` for the character)")
        at = _after(glob, at)
    return -1


def _after(glob: str, at: int) -> int:
    """The place behind the character or class at `at`."""
    if glob[at] == "\\":
        return at + 2
    return _class_end(glob, at) if glob[at] == "[" else at + 1


def _class_end(glob: str, at: int) -> int:
    first = at + 2 if glob[at + 1 : at + 2] in ("!", "^") else at + 1
    end = glob.find("]", first + 1)
    if end < 0:
        raise GlobError("`[` without `]` (write `\\[` for the character)")
    return end + 1


def _branches(glob: str, opened: int) -> tuple[list[str], str]:
    """What stands between the braces that open at `opened`, branch by branch, and what comes behind them."""
    branches, start, at, depth = [], opened + 1, opened + 1, 0
    while at < len(glob):
        sign = glob[at]
        if depth == 0 and sign in ",}":
            branches.append(glob[start:at])
            start = at + 1
            if sign == "}":
                return branches, glob[start:]
        depth += (sign == "{") - (sign == "}")
        at = _after(glob, at)
    raise GlobError("`{` without `}` (write `\\{` for the character)")


def _one(glob: str) -> str:
    """The expression for a glob without braces."""
    blocks: list[list[str]] = [[]]
    for name in glob.split("/"):
        if name == "**":
            blocks.append([])
        else:
            blocks[-1].append(_name(name))
    if len(blocks) == 1:
        return "/".join(blocks[0])
    first, *middle, last = blocks
    parts = ["/".join([*first, ""]) if first else ""]
    # the nearest place for a block between two `**` is as good as any other: never tried again
    parts += [f"(?>(?:[^/]+/)*?{'/'.join(block)}/)" for block in middle if block]
    parts.append(_FOLDERS + ("/".join(last) or "[^/]+"))
    return "".join(parts)


def _name(glob: str) -> str:
    """The expression for one name: fixed parts with stars between them."""
    parts = [""]
    at = 0
    while at < len(glob):
        after = _after(glob, at)
        if glob[at] == "*":
            parts.append("")
        else:
            parts[-1] += _sign(glob[at:after])
        at = after
    if len(parts) == 1:
        return parts[0]
    first, *middle, last = parts
    return first + "".join(f"(?>[^/]*?{part})" for part in middle if part) + "[^/]*" + last


def _sign(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if piece[0] == "\\":
        if len(piece) < 2:
            raise GlobError("it ends with a backslash")
        return re.escape(piece[1])
    return _class(piece[1:-1]) if piece[0] == "[" else re.escape(piece)


def _class(inside: str) -> str:
    negated = inside[0] in "!^"
    shown = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[negated:])
    made = f"[^/{shown}]" if negated else f"[{shown}]"
    try:
        re.compile(made)
    except re.error as error:
        raise GlobError(f"`[{inside}]` is no class: {error.msg}") from error
    return made
