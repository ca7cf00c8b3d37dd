"""Lists the files that a name may mean if the shell expands parts of it: `sh "$dir"/x.sh`, `sh $i.sh`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import ENTRY
from workbench.risk.executed_files.source import CODE_ENDINGS, Kind
from workbench.risk.word import UNKNOWN

_MOST_VALUES: Final = 40
_LONGEST: Final = 200
_FILLED_IN: Final = lazy_pattern(
    rf"{UNKNOWN}+|\$\{{[^}}]*\}}|\$\([^()]*\)|`[^`]*`|\$\w+|\$[@*#?!$-]|"
    rf"\{{\}}|(?<![\w-]){ENTRY}\b|\A~[^/]+(?=/)"
)
"""Matches the parts that the shell expands, and the placeholders of `find` and `xargs` for a file."""
_NAMED_HOME: Final = lazy_pattern(r"~[^/]+/")
"""Matches a directory that only the shell knows: `~+/`, `~user/`."""
_HOME: Final = lazy_pattern(r"\$(?:HOME\b|\{HOME\})")
_ANY_DIRECTORY: Final = lazy_pattern(r"(?:(?<=/)|\A)\*/(?:\*/)*")
_SEPARATORS: Final = lazy_pattern(r"[\s;&|(){}<>`\"'=,:]+")
_VARIABLE: Final = lazy_pattern(r"\$(?:\{\w+\}|\w+)/?")
_ENDINGS: Final[dict[Kind, tuple[str, ...]]] = {
    "shell": (".sh", ".bash", ".zsh", ".ksh", ".bats"),
    "python": (".py", ".pyw", ".pyz"),
}


def has_unknown(name: str) -> bool:
    """Return whether a part of the name is filled in by the shell or by a program such as `find` or `xargs`."""
    return UNKNOWN in name or "$" in name or "{}" in name or ENTRY in name or _NAMED_HOME.match(name) is not None


def is_open(name: str) -> bool:
    """Return whether the last part of the name is entirely unknown."""
    return has_unknown(name) and not _FILLED_IN.sub("", name.rpartition("/")[2]).strip("*")


def endings_of(kind: Kind) -> tuple[str, ...]:
    """Return the usual file extensions of scripts in this language."""
    return _ENDINGS.get(kind, CODE_ENDINGS)


def values_in(text: str) -> tuple[str, ...]:
    """Return those words of a line that may be the value of a variable and that `*` does not match: paths and hidden
    names.
    """
    words = dict.fromkeys(word.rstrip("/") for word in _SEPARATORS.split(_VARIABLE.sub("./", text)))
    names = (word for word in words if ("/" in word or word.startswith(".")) and word.strip("./"))
    return tuple(islice((name for name in names if len(name) <= _LONGEST), _MOST_VALUES))


def patterns_of(name: str, values: Sequence[str]) -> Iterator[str]:
    """Yield glob patterns for what the name may be: each unknown piece matches any name, or is one of the values.

    `**/` matches any directories, at any depth.
    """
    name = _HOME.sub(lambda _: str(Path.home()), name)
    pieces = _FILLED_IN.split(name)
    whole = "*".join(pieces)
    yield from dict.fromkeys((_ANY_DIRECTORY.sub("**/", whole), whole))
    for at in range(1, len(pieces)):
        before, behind = "*".join(pieces[:at]), "*".join(pieces[at:])
        for value in values if not before or before.endswith("/") else ():
            yield _ANY_DIRECTORY.sub("**/", os.path.normpath(f"{before}{value}{behind}"))


def parents_of(directory: str) -> list[str]:
    """Return a directory and its parents except the root, all of which `$(git rev-parse --show-toplevel)` may be."""
    directory = os.path.normpath(directory)
    return [directory, *(str(each) for each in Path(directory).parents if each.parent != each)]
