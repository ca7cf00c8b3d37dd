"""Which processes may connect on macOS; its socket options and libproc are imitated by their documented layout."""

import ctypes
import errno
import os
import struct
import sys
from types import SimpleNamespace

import pytest

from workbench.engine import sockets
from workbench.engine.sockets import is_of_an_agent, is_own, is_screen, is_stopped

ENGINE, ME = os.getpid(), os.getuid()
PARENTS = {700: 600, 600: 1, 900: 800, 800: ENGINE, 950: 940}
"""700 is a terminal's child, 900 a grandchild of the engine, and the parent of 950 has ended."""


class Connection:
    """A connected socket as unix(4) describes it: LOCAL_PEERCRED is a struct xucred, LOCAL_PEERPID a pid."""

    def __init__(self, pid: int, uid: int, *, version: int = 0) -> None:
        self._pid, self._uid, self._version = pid, uid, version

    def getsockopt(self, level: int, option: int, size: int = 0) -> bytes:
        if self._pid < 0:
            raise OSError(errno.EINVAL, "Invalid argument")
        if (level, option) == (0, 2):
            return struct.pack("i", self._pid)
        if (level, option) == (0, 1):
            return struct.pack("=IIhxxI60x", self._version, self._uid, 1, 20)[:size]
        raise OSError(errno.ENOPROTOOPT, "Protocol not available")


@pytest.fixture(autouse=True)
def _on_macos(monkeypatch):
    def proc_pidinfo(pid, flavor, argument, buffer, size):
        if flavor != 3 or pid not in PARENTS:
            return 0
        buffer.raw = struct.pack("=5I", 0, 4 if pid == 800 else 2, 0, pid, PARENTS[pid]).ljust(size, b"\0")
        return size

    def library(path):
        assert path == "/usr/lib/libproc.dylib"
        return SimpleNamespace(proc_pidinfo=proc_pidinfo)

    kinds = {name: getattr(ctypes, name) for name in ("create_string_buffer", "c_uint64")}
    monkeypatch.setattr(sockets, "ctypes", SimpleNamespace(CDLL=library, **kinds))
    monkeypatch.setattr(sockets, "sys", SimpleNamespace(platform="darwin", byteorder=sys.byteorder))


@pytest.mark.parametrize(
    ("connection", "own", "screen"),
    [
        (Connection(700, ME), True, True),
        (Connection(700, ME + 1), False, True),
        (Connection(900, ME), True, False),
        (Connection(800, ME), True, False),
        (Connection(950, ME), True, False),
        (Connection(4711, ME), True, False),
        (Connection(-1, ME), False, False),
        (Connection(700, ME, version=1), False, True),
    ],
    ids=["the user's", "another user's", "the agent's", "the supervisor", "orphaned", "ended", "left", "unknown"],
)
def test_only_the_users_processes_that_the_engine_did_not_start_are_screens(connection, own, screen):
    assert (is_own(connection), is_screen(connection)) == (own, screen)


def test_stopped_process_is_recognized_by_its_state():
    assert (is_stopped(800), is_stopped(700), is_stopped(4711)) == (True, False, False)


def test_unknown_processes_and_the_engine_itself_are_not_screens():
    assert is_of_an_agent(0)
    assert is_of_an_agent(ENGINE)
    assert not is_of_an_agent(1)
