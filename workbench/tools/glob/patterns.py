"""Translates globs into regular expressions, with ripgrep's semantics; used for `glob`, `include` and ignore files.

`*` and `?` stay within one name, `**` matches any number of directories, `{a,b}` either part, `[a-z]` and `[!a-z]` one
character; a backslash escapes the next character. Matching never backtracks catastrophically. Standard library only:
the search process of `grep` imports this.
"""

from __future__ import annotations

import re

from workbench.lazy_pattern import lazy_pattern

_MOST = 256
"""The most alternatives that the braces of one glob may expand to."""
_DEEPEST = 12
_MAGIC = lazy_pattern(r"[*?\[{\\]")
_DIRECTORIES = "(?:[^/]+/)*"


class GlobError(ValueError):
    """The glob is invalid; the message says why."""


def has_magic(text: str) -> bool:
    """Return whether the text has wildcards or escapes."""
    return bool(_MAGIC.search(text))


def glob_regex(glob: str) -> str:
    """Return a regular expression that fully matches relative paths. Raises GlobError."""
    return "|".join(f"(?:{_one(part)})" for part in expand(glob))


def expand(glob: str, depth: int = 0) -> list[str]:
    """Return the globs that result from expanding all braces. Raises GlobError."""
    opened = _find_brace(glob)
    if opened < 0:
        return [glob]
    if depth > _DEEPEST:
        raise GlobError(f"it has more than {_DEEPEST} braces")
    branches, rest = _branches(glob, opened)
    expanded: list[str] = []
    for branch in branches:
        expanded += [glob[:opened] + end for end in expand(branch + rest, depth + 1)]
        if len(expanded) > _MOST:
            raise GlobError(f"its braces stand for more than {_MOST} names")
    return expanded


def _find_brace(glob: str) -> int:
    """Return the index of the first opening brace that is neither escaped nor in a class; -1 if there is none."""
    at = 0
    while at < len(glob):
        if glob[at] == "{":
            return at
        if glob[at] == "}":
            raise GlobError("`}` without `{` (write `\\}` for the character)")
        at = _after(glob, at)
    return -1


def _after(glob: str, at: int) -> int:
    """Return the index after the character, escape or class at `at`."""
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
    """Return the branches of the brace that opens at `opened`, and the text after it."""
    branches, start, at, depth = [], opened + 1, opened + 1, 0
    while at < len(glob):
        character = glob[at]
        if depth == 0 and character in ",}":
            branches.append(glob[start:at])
            start = at + 1
            if character == "}":
                return branches, glob[start:]
        depth += (character == "{") - (character == "}")
        at = _after(glob, at)
    raise GlobError("`{` without `}` (write `\\{` for the character)")


def _one(glob: str) -> str:
    """Return the expression for a glob without braces."""
    blocks: list[list[str]] = [[]]
    for name in glob.split("/"):
        if name == "**":
            blocks.append([])
        else:
            blocks[-1].append(_name(name))
    if len(blocks) == 1:
        return "/".join(blocks[0])
    first, *inner, last = blocks
    parts = ["/".join([*first, ""]) if first else ""]
    # The first match of a block between two `**` is as good as any later one, so it is never retried.
    parts += [f"(?>(?:[^/]+/)*?{'/'.join(block)}/)" for block in inner if block]
    parts.append(_DIRECTORIES + ("/".join(last) or "[^/]+"))
    return "".join(parts)


def _name(glob: str) -> str:
    """Return the expression for one name: fixed parts with stars between them."""
    parts = [""]
    at = 0
    while at < len(glob):
        after = _after(glob, at)
        if glob[at] == "*":
            parts.append("")
        else:
            parts[-1] += _piece(glob[at:after])
        at = after
    if len(parts) == 1:
        return parts[0]
    first, *inner, last = parts
    return first + "".join(f"(?>[^/]*?{part})" for part in inner if part) + "[^/]*" + last


def _piece(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if piece[0] == "\\":
        if len(piece) < 2:
            raise GlobError("it ends with a backslash")
        return re.escape(piece[1])
    return _class(piece[1:-1]) if piece[0] == "[" else re.escape(piece)


def _class(inside: str) -> str:
    negated = inside[0] in "!^"
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[negated:])
    expression = f"[^/{escaped}]" if negated else f"[{escaped}]"
    try:
        re.compile(expression)
    except re.error as error:
        raise GlobError(f"`[{inside}]` is not a class: {error.msg}") from error
    return expression
