"""Runs ripgrep, or another program that searches, and gives its output while it comes; for `glob` and `grep`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence

from workbench.processes.start import find_program, start
from workbench.tools.glob.stop import Stop

LARGEST = 10 << 20
"""Bytes of a file that is still searched, in both ways to search."""
_CHUNK = 1 << 18
_FLAGS = (
    *("--no-config", "--no-messages", "--no-ignore-messages", "--color=never"),
    *("--no-ignore-global", "--no-ignore-exclude", "--no-require-git", "--null"),
)


class ProgramError(Exception):
    """The program refused its task, for example because it is too old to know an option."""


def ripgrep(*options: str, hidden: bool) -> list[str] | None:
    """The command that searches as our own walk does, for the folder it is started in; None without ripgrep."""
    program = find_program("rg")
    if program is None:
        return None
    return [program, *_FLAGS, *(("--hidden", "--glob=!.git") if hidden else ()), *options, "./"]


def output_of(command: Sequence[str], folder: str, stop: Stop, given: bytes = b"") -> Iterator[bytes]:
    """What the program prints, piece by piece; raises ProgramError when it complains, OSError when it cannot start."""
    process = start(
        command,
        cwd=folder,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process, stop.watching(process):
        if process.stdin:
            _give(process, given)
        assert process.stdout is not None
        assert process.stderr is not None
        while chunk := os.read(process.stdout.fileno(), _CHUNK):
            yield chunk
        complaint = process.stderr.read(4096).decode(errors="replace").strip()
        process.wait()
        if complaint and not stop.why:
            raise ProgramError(complaint)


def _give(process: subprocess.Popen[bytes], given: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(given)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended early; its complaint says why
