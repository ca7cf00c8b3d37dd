"""Problems in settings, keys and themes: in a few words, or all of them on a page, grouped by file. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from workbench.view.formatting.timeline_rows import from_home

_PLACED: Final = re.compile(r"(?P<file>/.*?):(?P<line>\d+): (?P<text>.*)", re.DOTALL)
_LEAVES: Final = "Everything else in these files takes effect; defaults replace what does not."


def in_short(problems: Sequence[str], key: str) -> str:
    """Return one line for a notice: the only problem, or how many there are; `key` shows all of them."""
    if len(problems) > 1:
        return f"{len(problems)} problems in settings and themes · {key} for details"
    placed = _PLACED.fullmatch(problems[0])
    text = f"{Path(placed['file']).name}:{placed['line']}: {placed['text']}" if placed else problems[0]
    return f"{text} · {key}"


def mistakes_page(problems: Iterable[str]) -> str:
    """Return all problems below the names of their files, each with its line number."""
    by_file: dict[str, list[str]] = {}
    for problem in problems:
        placed = _PLACED.fullmatch(problem)
        file = from_home(Path(placed["file"])) if placed else "elsewhere"
        text = f"line {placed['line']:>4}  {placed['text']}" if placed else problem
        by_file.setdefault(file, []).append(f"  {text}")
    parts = [f"{file}\n\n" + "\n".join(lines) for file, lines in by_file.items()]
    return "\n\n".join([*parts, _LEAVES]) + "\n"
