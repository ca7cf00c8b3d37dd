"""The recipes of a Makefile or justfile that a call of its program runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from workbench.risk.paths import words

_TARGET: Final = re.compile(r"([^\s:#@][^:#]*?)\s*::?(?![:=])\s*([^#;]*)(?:;(.*))?")
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?[\w.-]+\s*[?+:!]*=")
_RUN_AT_ONCE: Final = re.compile(r"\$[({]shell ([^(){}]*)[)}]|`([^`]*)`")
_RECURSES: Final = re.compile(r"\$[({]MAKE[)}]((?:[ \t]+[\w./=-]+)*)|(?:^|[\s;&|])(?:make|just)((?:[ \t]+[\w./=-]+)+)")
_TAKES_VALUE: Final = words("-C -f -I -j -l -o -W --directory --file --makefile --justfile --jobs --set -d")
_MARKS: Final = "@-+ \t"
_VARIABLE: Final = re.compile(r"\$\((\w+)\)")


@dataclass
class _Recipe:
    needs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def targets_of(rest: Sequence[str]) -> list[str]:
    """Return the words of a call of make, just or rake that name targets."""
    named = []
    takes_value = False
    for word in rest:
        if not takes_value and not word.startswith(("-", "+")) and "=" not in word:
            named.append(word)
        takes_value = word in _TAKES_VALUE
    return named


def recipe_text(text: str, targets: Iterable[str]) -> str:
    """Return the command lines that the targets, or the first one where none is named, and all they need will run.

    Where a target is not found by its name (a pattern, a variable, another file) it is all lines of the file.
    """
    recipes, first, outside = _parsed(text.replace("\\\n", " "))
    wanted = list(targets) or [first]
    reached: dict[str, None] = {}
    while wanted:
        name = wanted.pop()
        if name in reached:
            continue
        if name not in recipes:
            if name in targets or name == "":
                return _as_shell([line for recipe in recipes.values() for line in recipe.lines] + outside)
            continue
        reached[name] = None
        wanted += recipes[name].needs
        wanted += [each for line in recipes[name].lines for each in _called(line)]
    return _as_shell([line for name in reached for line in recipes[name].lines] + outside)


def _called(line: str) -> list[str]:
    return [name for match in _RECURSES.finditer(line) for name in targets_of((match[1] or match[2] or "").split())]


def _parsed(text: str) -> tuple[dict[str, _Recipe], str, list[str]]:
    """The recipes by target, the first target, and the lines outside of recipes that may run something."""
    recipes: dict[str, _Recipe] = {}
    first = ""
    outside: list[str] = []
    now: list[_Recipe] = []
    for line in text.splitlines():
        if line[:1] in {"\t", " "} and now:
            for recipe in now:
                recipe.lines.append(line)
        elif (found := _TARGET.match(line)) and not _ASSIGNMENT.match(line):
            names = found[1].split()
            first = first or next((name for name in names if not name.startswith(".")), "")
            now = [recipes.setdefault(name, _Recipe()) for name in names]
            for recipe in now:
                recipe.needs += found[2].split()
                recipe.lines += [found[3]] if found[3] else []
        elif line.strip():
            now = now if line.startswith("#") else []
            outside += ["".join(each) for each in _RUN_AT_ONCE.findall(line)]
    return recipes, first, outside


def _as_shell(lines: Iterable[str]) -> str:
    """The lines without the marks of make, its variables written as those of a shell."""
    return "\n".join(_VARIABLE.sub(r"${\1}", line.lstrip(_MARKS)).replace("$$", "$") for line in lines)
