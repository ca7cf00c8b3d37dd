"""A directory to search in, with and without ripgrep; used by the tests of glob and grep."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.tools.shells import eventually, processes

RIPGREP_OR_NOT = (True, False) if shutil.which("rg") else (False,)
"""The ways to search there are on this machine."""
HANGS = f"7655.{os.getpid()}"
"""The argument of a ripgrep that hangs."""
_RIPGREP = pytest.param(True, id="ripgrep", marks=pytest.mark.starts)
WAYS = [*([_RIPGREP] if shutil.which("rg") else []), pytest.param(False, id="python")]


@contextmanager
def way(ripgrep: bool) -> Iterator[None]:
    """Run the block with ripgrep, or with nothing on PATH."""
    with patch.dict(os.environ, {} if ripgrep else {"PATH": "/nowhere"}):
        yield


def call(tool: Any, **arguments: Any) -> Any:
    return tool(tool.action_from_arguments(arguments))


def write(directory: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def fake_ripgrep(directory: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    """Put a fake ripgrep on PATH that lists one file, then waits for each ignore file, like the real one."""
    script = f"#!/bin/sh\nprintf '{named}'\nfind . -name '.*ignore' -exec cat {{}} +\n"
    write(directory, {"bin/rg": script})
    (directory / "bin/rg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}/bin:{os.environ['PATH']}")


def special_file(path: Path, kind: str) -> None:
    """Make a file that is not a regular one."""
    if kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        os.mkfifo(path.with_name("behind"))
        path.symlink_to("behind")


def interrupted(tool: Any, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the result of a search that is interrupted while its ripgrep (a fake that only waits) hangs."""
    write(directory, {"a.py": "x", "bin/rg": f"#!/bin/sh\nexec sleep {HANGS}\n"})
    (directory / "bin/rg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}/bin:{os.environ['PATH']}")
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(call, tool, pattern="*.py" if tool.name == "glob" else "x")
        eventually(lambda: processes(HANGS), "it waits for ripgrep", 60)
        tool.interrupt()
        return result.result(60)
