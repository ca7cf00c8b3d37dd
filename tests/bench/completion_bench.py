"""Cost of one completion: the processor time of the process that the shell's script runs, at most 60 ms.

It waits for nothing, so that is what the user waits on a machine with nothing else to do. The files are those of a user
with many: 500 sessions, 200 rules and 50 saved models.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from tests.bench.measure import Measure
from tests.bench.start_timing import in_turns

_ROUNDS = 25
_LIMIT = 60.0
_OHW = str(Path(sys.executable).with_name("ohw"))
_LINES = {
    "commands": "ohw ",
    "options": "ohw run --",
    "sessions": "ohw resume ",
    "models": "ohw --model ",
    "rules": "ohw decisions --rule ",
    "settings": "ohw config get ",
    "MCP servers": "ohw mcp test ",
    "paths": "ohw import ",
}


def measures() -> Iterable[Measure]:
    """Return all measures of this file."""
    with tempfile.TemporaryDirectory() as home:
        _fill(Path(home))
        env = {"HOME": home, "PATH": os.environ["PATH"]}
        subjects = {what: partial(_seconds, line, env) for what, line in _LINES.items()}
        took = in_turns({"bare": partial(_bare, env), **subjects}, _ROUNDS)
    bare = took.pop("bare") * 1000
    for what, seconds in took.items():
        yield Measure(f"a completion of {what}", seconds * 1000, "ms", bare, _LIMIT, seconds * 1000 <= _LIMIT)


def _fill(home: Path) -> None:
    config, sessions = home / ".config/ohw", home / ".local/share/ohw/sessions"
    config.mkdir(parents=True)
    sessions.mkdir(parents=True)
    models = (f'[models.model-{number}]\nmodel = "openai/{number}"\n' for number in range(50))
    (config / "settings.toml").write_text("".join(models))
    (config / "rules.toml").write_text("".join(f'[[allow]]\ncommand = "make {number}"\n' for number in range(200)))
    for number in range(500):
        (sessions / f"20261129-fix-the-parser-{number:04x}.session").touch()


def _seconds(line: str, env: Mapping[str, str]) -> float:
    script = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "zsh", "_ARGCOMPLETE_STDOUT_FILENAME": os.devnull}
    return _timed([_OHW], {**env, **script, "COMP_LINE": line, "COMP_POINT": str(len(line))})


def _bare(env: Mapping[str, str]) -> float:
    return _timed([sys.executable, "-c", "pass"], env)


def _timed(words: list[str], env: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
