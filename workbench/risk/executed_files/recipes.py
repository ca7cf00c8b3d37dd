"""Reads the targets and recipes of a Makefile or justfile, and extracts the commands that a call of the program
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import words

_TARGET: Final = lazy_pattern(r"([^\s:#@][^:#]*?)\s*::?(?![:=])\s*([^#;]*)(?:;(.*))?")
_ASSIGNMENT: Final = lazy_pattern(r"(?:export\s+)?[\w.-]+\s*[?+:!]*=")
_RUN_AT_ONCE: Final = lazy_pattern(r"\$[({]shell ([^(){}]*)[)}]|`([^`]*)`")
_RECURSES: Final = lazy_pattern(
    r"\$[({]MAKE[)}]((?:[ \t]+[\w./=-]+)*)|(?:^|[\s;&|])(?:make|just)((?:[ \t]+[\w./=-]+)+)"
)
_TAKES_VALUE: Final = words("-C -f -I -j -l -o -W --directory --file --makefile --justfile --jobs --set -d")
_MARKS: Final = "@-+ \t"
_VARIABLE: Final = lazy_pattern(r"\$\((\w+)\)")


class _Recipe(msgspec.Struct):
    needs: list[str] = msgspec.field(default_factory=list)
    lines: list[str] = msgspec.field(default_factory=list)


def targets_of(rest: Sequence[str]) -> list[str]:
    """Return the arguments of make, just or rake that name targets."""
    named = []
    takes_value = False
    for word in rest:
        if not takes_value and not word.startswith(("-", "+")) and "=" not in word:
            named.append(word)
        takes_value = word in _TAKES_VALUE
    return named


def recipe_text(text: str, targets: Iterable[str]) -> str:
    """Return the command lines of the targets and their dependencies, or of the first target if `targets` is empty.

    If the recipe of a target is not found (a pattern, a variable, another file), return all lines of the file.
    """
    recipes, first, outside = _parsed(text.replace("\\\n", " "))
    expected = list(targets) or [first]
    reached: dict[str, None] = {}
    while expected:
        name = expected.pop()
        if name in reached:
            continue
        if name not in recipes:
            if name in targets or name == "":
                return _as_shell([line for recipe in recipes.values() for line in recipe.lines] + outside)
            continue
        reached[name] = None
        expected += recipes[name].needs
        expected += [each for line in recipes[name].lines for each in _called(line)]
    return _as_shell([line for name in reached for line in recipes[name].lines] + outside)


def _called(line: str) -> list[str]:
    return [name for match in _RECURSES.finditer(line) for name in targets_of((match[1] or match[2] or "").split())]


def _parsed(text: str) -> tuple[dict[str, _Recipe], str, list[str]]:
    """Return the recipes by target, the name of the first target, and commands outside recipes that run when the file
    is read.
    """
    recipes: dict[str, _Recipe] = {}
    first = ""
    outside: list[str] = []
    now: list[_Recipe] = []
    for line in text.splitlines():
        if line[:1] in {"\t", " "} and now:
            for recipe in now:
                recipe.lines.append(line)
        elif (result := _TARGET.match(line)) and not _ASSIGNMENT.match(line):
            names = result[1].split()
            first = first or next((name for name in names if not name.startswith(".")), "")
            now = [recipes.setdefault(name, _Recipe()) for name in names]
            for recipe in now:
                recipe.needs += result[2].split()
                recipe.lines += [result[3]] if result[3] else []
        elif line.strip():
            now = now if line.startswith("#") else []
            outside += ["".join(each) for each in _RUN_AT_ONCE.findall(line)]
    return recipes, first, outside


def _as_shell(lines: Iterable[str]) -> str:
    """Return the lines without make's prefixes, and with its variables in shell syntax."""
    return "\n".join(_VARIABLE.sub(r"${\1}", line.lstrip(_MARKS)).replace("$$", "$") for line in lines)
