"""Runs command lines in the real bash without access to programs: a stub receives each call and records its words."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_LONGEST = 120.0
_DRIVER = r"""
command_not_found_handle() { builtin printf '%s\0' "$#" "$@" >> "$OHW_LOG/$OHW_CASE-$BASHPID"; }
builtin readonly -f command_not_found_handle
builtin readonly OHW_LOG
builtin ulimit -f 200 -t 20
builtin readonly FUNCNEST=3
builtin hash -r
OHW_CASE=0
while (( OHW_CASE < OHW_COUNT )); do
    ( builtin cd "$OHW_FOLDER" || builtin exit; builtin set +m
      IFS= builtin read -r -d '' OHW_LINE < "$OHW_CASES/$OHW_CASE"; builtin eval "$OHW_LINE"
      builtin wait ) </dev/null >/dev/null 2>&1
    OHW_CASE=$(( OHW_CASE + 1 ))
done
"""


def commands_run(lines: Sequence[str], directory: Path) -> list[list[tuple[str, ...]]]:
    """Return the commands that bash ran for each line, each as its words; `directory` is new for each run."""
    cases, work, empty, log = directory / "cases", directory / "work", directory / "no-programs", directory / "log"
    for place in (cases, work, empty, log):
        place.mkdir()
    for number, line in enumerate(lines):
        (cases / str(number)).write_text(line, encoding="utf-8")
    bash = shutil.which("bash")
    assert bash
    environment = {
        "PATH": str(empty), "HOME": "/home/u", "LC_ALL": "C.UTF-8", "OHW_LOG": str(log), "OHW_CASES": str(cases),
        "OHW_FOLDER": str(work), "OHW_COUNT": str(len(lines)),
    }  # fmt: skip
    with subprocess.Popen([bash, "--norc", "--noprofile", "-c", _DRIVER], env=environment, cwd=work,
                          start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as running:  # fmt: skip
        try:
            running.wait(timeout=_LONGEST)
        finally:  # processes that still wait for something end with it
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
    found: list[list[tuple[str, ...]]] = [[] for _ in lines]
    for file in sorted(log.iterdir()):  # one record per process, so that none writes into another's
        found[int(file.name.partition("-")[0])] += _read(file.read_bytes())
    return found


def _read(log: bytes) -> Iterator[tuple[str, ...]]:
    fields = iter(log.split(b"\0"))
    for count in fields:
        if count:
            yield tuple(os.fsdecode(next(fields)) for _ in range(int(count)))
