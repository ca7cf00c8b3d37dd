"""Finds the processes of a shell by the nonce in their environment, and kills them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path

from workbench.processes.shell_environment import NONCE_NAME

_LATER = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 4.0)
"""Pauses between the sweeps of the background thread, in seconds."""


def sweep(nonces: Collection[str], seconds: float = 2.0) -> None:
    """Kill the marked processes and their descendants until two scans in a row find none, or for at most `seconds`.

    During the first 0.2 s, a scan that sees a process in the middle of an exec is not counted. Descendants without the
    mark are killed too: a marked supervisor may have stopped them, and without it they would stay stopped forever and
    keep their locks.
    """
    if sys.platform != "linux" or not nonces:
        return
    marks = [f"{NONCE_NAME}={nonce}".encode() for nonce in nonces]
    until = time.monotonic() + seconds
    unsure_until = time.monotonic() + 0.2
    clean = 0
    while clean < 2 and time.monotonic() < until:
        pids, unsure = _marked(marks)
        for pid in (*pids, *_descendants(pids)):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        clean = 0 if pids or (unsure and time.monotonic() < unsure_until) else clean + 1
        if clean < 2:
            time.sleep(0.005)


def sweep_containers(nonces: Collection[str], seconds: float = 1.0) -> None:
    """Kill the marked processes that are in containers, and wait at most `seconds` for the end of the runtime's own.

    Podman's monitor of a program in a container records how that ended. If the monitor is killed before it has, the end
    of the container waits 5 s for the record.
    """
    until = time.monotonic() + seconds
    own = pid_namespace("self")
    is_first = True
    while pids := marked(nonces):
        inside = [pid for pid in pids if pid_namespace(pid) not in ("", own)]
        for pid in (*inside, *_descendants(inside)):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if (is_first and not inside) or time.monotonic() > until:
            return
        is_first = False
        time.sleep(0.01)


def marked(nonces: Collection[str]) -> list[int]:
    """Return the pids of the running processes of these shells; empty on systems other than Linux."""
    return _marked([f"{NONCE_NAME}={nonce}".encode() for nonce in nonces])[0] if sys.platform == "linux" else []


def pid_namespace(pid: int | str) -> str:
    """Return the name of the pid namespace of a process; empty if it is unknown."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - asked about each process
    except OSError:
        return ""


def sweep_later(nonces: Collection[str]) -> None:
    """Sweep repeatedly for about ten seconds in a thread: a killed parent may have been about to start a child."""

    def again() -> None:
        for pause in _LATER:
            sweep(nonces)
            time.sleep(pause)

    threading.Thread(target=again, name="shell-sweep", daemon=True).start()


def _marked(marks: list[bytes]) -> tuple[list[int], bool]:
    """Return the pids with one of the marks, and whether any process has no environment because it is in the middle of
    an exec.
    """
    pids: list[int] = []
    unsure = False
    me = os.getpid()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each process would cost more than the check
        if not name.isdigit() or int(name) == me:
            continue
        with contextlib.suppress(OSError):
            environ = Path(f"/proc/{name}/environ").read_bytes()
            if not environ:
                unsure = unsure or _changes_program(name)
            elif any(entry in marks for entry in environ.split(b"\0")) and _fields(name)[0] not in "ZX":
                pids.append(int(name))
    return pids, unsure


def _descendants(pids: Collection[int]) -> list[int]:
    """Return the descendants of these processes, without this process and its own descendants."""
    if not pids:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - as in `_marked`
        if name.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(int(_fields(name)[1]), []).append(int(name))
    children.pop(os.getpid(), None)
    descendants: list[int] = []
    pending = list(pids)
    while pending:
        fresh = [pid for pid in children.pop(pending.pop(), []) if pid != os.getpid()]
        descendants += fresh
        pending += fresh
    return descendants


def _changes_program(name: str) -> bool:
    """Return whether a process without an environment is in the middle of an exec: no zombie, no kernel thread
    (PF_KTHREAD).
    """
    fields = _fields(name)
    return fields[0] not in "ZX" and not int(fields[6]) & 0x00200000


def _fields(name: str) -> list[str]:
    """Return the fields of a process's stat file, from its state on (then parent, group, …). Raises OSError if it is
    gone.
    """
    return Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()
