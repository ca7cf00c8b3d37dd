"""The search process of `grep`, used if ripgrep is missing or does not support the pattern.

Run as `python -I -S worker.py DIRECTORY`, where DIRECTORY contains the `regex` package; the task comes as JSON on
standard input. The output has the format of `rg --null`: path, NUL, line number, colon, line (or only the number of
lines). A pattern that never finishes is ended from outside: the process is killed at the end of the search, by its own
alarm, or with its parent. Standard library and `regex` only.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

sys.path.insert(0, __file__.rsplit("/", 4)[0])
sys.path.extend(sys.argv[1:])

import regex

from workbench.tools.glob.patterns import glob_regex
from workbench.tools.glob.walk import walk
from workbench.tools.grep.matches import has_broken_bytes, lines_of, read_text

_PR_SET_PDEATHSIG = 1


class _Lines:
    """Finds the matching lines of a text."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._needed: str = task["needed"]
        flags = regex.IGNORECASE if task["ignore_case"] else 0
        self._whole = regex.compile(task["python"], flags).search
        self._broken = regex.compile(task["broken"], flags).search

    def matches(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the number and content of each matching line."""
        if self._needed not in text:
            return
        search = self._broken if has_broken_bytes(text) else self._whole
        for number, line in enumerate(lines_of(text), 1):
            if search(line):
                yield number, line


def _paths(task: dict[str, Any]) -> Iterator[str]:
    if task["file"]:
        return iter([task["file"]])
    paths = walk(task["root"], hidden=task["hidden"])
    include = task["include"]
    return filter(re.compile(glob_regex(include), re.DOTALL).fullmatch, paths) if include else paths


def _print(path: str, matches: Iterator[tuple[int, str]], write: Callable[[bytes], object], is_count: bool) -> None:
    name = os.fsencode(f"./{path}")
    if is_count:
        count = sum(1 for _ in matches)
        if count:
            write(b"%s\0%d\n" % (name, count))
        return
    for number, line in matches:
        write(b"%s\0%d:%s\n" % (name, number, line.encode("utf-8", "surrogateescape")))


def _die_in_time(seconds: float) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(seconds) + 1)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)


def main() -> None:
    """Read the task, search, and print the matches."""
    task = json.load(sys.stdin)
    _die_in_time(task["seconds"])
    lines = _Lines(task)
    for path in _paths(task):
        text = read_text(f"{task['root']}/{path}", task["largest"])
        if text is not None:
            _print(path, lines.matches(text), sys.stdout.buffer.write, task["count"])


if __name__ == "__main__":
    main()
