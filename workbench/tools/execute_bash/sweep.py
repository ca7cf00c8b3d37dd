"""Finds and ends processes that carry a shell's nonce in their environment; used where the guardian was killed.

Linux only. What is not found: a process that cleared its environment, in a shell whose guardian was killed as well.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path

from workbench.tools.execute_bash.environment import NONCE_NAME

_LATER = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 4.0)
"""Pauses between the sweeps of the background thread, in seconds."""


def sweep(nonces: Collection[str], seconds: float = 2.0) -> None:
    """Kill until two looks in a row find nothing and no process is between two programs (at most `seconds`)."""
    if sys.platform != "linux" or not nonces:
        return
    marks = [f"{NONCE_NAME}={nonce}".encode() for nonce in nonces]
    until = time.monotonic() + seconds
    unsure_until = time.monotonic() + 0.2
    clean = 0
    while clean < 2 and time.monotonic() < until:
        found, unsure = _marked(marks)
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        clean = 0 if found or (unsure and time.monotonic() < unsure_until) else clean + 1
        if clean < 2:
            time.sleep(0.005)


def sweep_later(nonces: Collection[str]) -> None:
    """Sweep again and again for some seconds, in a thread: a killed parent may have had a child on its way."""

    def again() -> None:
        for pause in _LATER:
            sweep(nonces)
            time.sleep(pause)

    threading.Thread(target=again, name="shell-sweep", daemon=True).start()


def _marked(marks: list[bytes]) -> tuple[list[int], bool]:
    """Processes with one of the marks, and whether one is just changing its program and shows no environment."""
    found: list[int] = []
    unsure = False
    me = os.getpid()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each process would cost more than the look
        if not name.isdigit() or int(name) == me:
            continue
        with contextlib.suppress(OSError):
            environ = Path(f"/proc/{name}/environ").read_bytes()
            if not environ:
                unsure = unsure or _changes_program(name)
            elif any(entry in marks for entry in environ.split(b"\0")) and _fields(name)[0] not in "ZX":
                found.append(int(name))
    return found, unsure


def _changes_program(name: str) -> bool:
    """Neither a zombie nor a part of the kernel (those have flag PF_KTHREAD), but without an environment."""
    fields = _fields(name)
    return fields[0] not in "ZX" and not int(fields[6]) & 0x00200000


def _fields(name: str) -> list[str]:
    """State, parent, group … of a process; OSError when it is gone."""
    return Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()
