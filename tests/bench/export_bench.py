"""Export of a session as an HTML page: the processor time of the whole command, and the size of the page.

The session runs commands, edits files, plans and answers in Markdown. Its text is what the page shows of it: titles,
messages, calls, outputs and diffs, without any markup.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from tests.bench.measure import Measure
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.protocol import events as ev
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store

_EVENTS = 10_000
_NAME = "20260101-export-0001"
_ROUNDS = 3
_SECONDS, _RATIO = 1.5, 1.3
_OHW = str(Path(sys.executable).with_name("ohw"))
_LINES = [f"    value_{number:03} = compute(number={number})\n" for number in range(200)]
_OUTPUT = "src/module.py:12: some line that a search found, as tools print them\n" * 10
_ANSWER = "The parser **drops the sign**:\n\n```python\nint(text.lstrip('-'))\n```\n\n1. keep the sign\n2. test it\n"


def measures() -> Iterator[Measure]:
    """Return all measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        env = {"HOME": name, "PATH": os.environ["PATH"]}
        _write_session(Locations.from_environment(env))
        page = Path(name, "page.html")
        seconds = min(_seconds(page, env) for _ in range(_ROUNDS))
        text = _Text()
        text.feed(page.read_text(encoding="utf-8"))
        size = page.stat().st_size
    what = f"export of {_EVENTS:,} events as HTML"
    yield Measure(what, seconds, "s", None, _SECONDS, seconds <= _SECONDS)
    ratio = size / text.size
    yield Measure(f"{what}: size in sizes of its text", ratio, "", None, _RATIO, ratio <= _RATIO)


def _write_session(where: Locations) -> None:
    script = Script().start(workspace="/home/ada/code/calc")
    lines = list(_LINES)
    while len(script.events) < _EVENTS:
        _add_steps(script, lines)
    path = session_path(where, _NAME)
    path.parent.mkdir(parents=True)
    with Store.create(path) as store:
        store.append(*script.events[:_EVENTS])


def _add_steps(script: Script, lines: list[str]) -> None:
    """Add one part of the work: a message, an answer, a search, an edit and the tests."""
    number = script.actions
    if number % 15 == 0:
        script.user(f"Go on with part {number}.")
    script.answer(_ANSWER if number % 2 else "I look at the next part.")
    script.run("execute_bash", _OUTPUT, summary="Search", command=f"grep -n part src/module_{number}.py", _exit_code=0)
    before, at = "".join(lines), number % len(lines)
    lines[at] = f"    changed_{number:04} = compute(again={at})\n"
    delta = ev.FileDelta(path="/home/ada/code/calc/src/calc.py", before=before, after="".join(lines))
    arguments = {"path": delta.path, "old_str": _LINES[at], "new_str": lines[at]}
    script.run("str_replace_editor", "edited", "MEDIUM", command="str_replace", **arguments, _files=(delta,))
    script.run("execute_bash", f"{_OUTPUT}1 failed", "MEDIUM", command="pytest -q", _exit_code=1, _seconds=0.8)


def _seconds(page: Path, env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([_OHW, "export", _NAME, "-o", str(page)], check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class _Text(HTMLParser):
    """Counts the bytes of the text between the tags of a page, without its style and its script."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.size = 0
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Note the tag, because the content of some is no text."""
        self._tag = tag

    def handle_endtag(self, tag: str) -> None:
        """Note that the tag has ended."""
        self._tag = ""

    def handle_data(self, data: str) -> None:
        """Count text."""
        if self._tag not in ("style", "script"):
            self.size += len(data.encode())


if __name__ == "__main__":
    for row in measures():
        print(row)
