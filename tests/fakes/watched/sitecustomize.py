"""Recorder for child processes: writes into the directory WATCHED what each process imports and starts."""

import os
import sys
from pathlib import Path

_STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "pty.spawn")


class _Finder:
    """Records the import of a package when one of its submodules is looked up."""

    def find_spec(self, name, path=None, target=None):
        if "." in name:
            _note("load", name.partition(".")[0])


def _note(what, name):
    if (what, name) not in _noted:
        _noted.add((what, name))
        with (Path(os.environ["WATCHED"]) / str(os.getpid())).open("a") as file:
            file.write(f"{what} {name}\n")


def _heard(event, arguments):
    if event in _STARTS:
        _note("start", f"{event} {arguments[:2]}")


_noted = set()
if "WATCHED" in os.environ:
    sys.meta_path.insert(0, _Finder())
    sys.addaudithook(_heard)
