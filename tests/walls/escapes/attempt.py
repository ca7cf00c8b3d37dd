"""What an escape is, what it is told about the world outside, and how it is run."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 12.0
"""Seconds that one escape may take."""
PLANTED = "walls-secret"
"""The beginning of each planted secret. Real secrets of the machine are not printed, whatever gets through."""
LIBC = ctypes.CDLL(None, use_errno=True)


class Impossible(Exception):
    """This machine lacks what the escape would use."""


class Out(str):
    """What an escape reached, where no victim outside can see it."""


@dataclass(frozen=True)
class World:
    """Names and numbers of what is outside, as a hostile program could guess them; it holds no secret."""

    name: str
    """The escape that runs."""
    facts: dict[str, Any]

    @property
    def mark(self) -> str:
        """What an escape leaves wherever it gets."""
        return f"escaped:{self.name};"

    @property
    def home(self) -> Path:
        """The home directory of the user who runs the wall."""
        return Path(self.facts["home"])

    @property
    def workspace(self) -> Path:
        """The directory that the wall lets the program write."""
        return Path(self.facts["workspace"])

    @property
    def canary(self) -> Path:
        """A file outside that is for this escape alone."""
        return Path(self.facts["outside"], self.name)

    def number(self, name: str) -> int:
        """Return a number of the victim: a process, a descriptor, a memory location."""
        return int(self.facts["victim"][name])

    def slot(self) -> int:
        """Return where in the victim's memory the mark of this escape belongs."""
        return self.number("slots") + 64 * list(REGISTRY).index(self.name)

    def leave(self, path: str | os.PathLike[str]) -> None:
        """Write the mark into a file, which is created if it is missing."""
        with Path(path).open("w") as file:
            file.write(self.mark)

    def append(self, path: str | os.PathLike[str]) -> None:
        """Append the mark to a file that exists, as a comment."""
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, f"\n# {self.mark}\n".encode())
        os.close(descriptor)


Escape = Callable[[World], str | None]
REGISTRY: dict[str, Escape] = {}


def escape(function: Escape) -> Escape:
    """Register an escape. OSError means that it is held; `Out` and other results are described in the package."""
    assert function.__name__ not in REGISTRY, function.__name__
    REGISTRY[function.__name__] = function
    return function


def check(result: int) -> int:
    """Return the result of a function of libc, or raise the OSError that it reports."""
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def syscall(number: int, *arguments: Any) -> int:
    """Make a system call by number; integers are passed with 64 bits."""
    whole = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    LIBC.syscall.restype = ctypes.c_long
    return check(LIBC.syscall(ctypes.c_long(number), *whole))


def reached(number: int, *arguments: Any, meaning: str) -> Out:
    """Make a system call with arguments that can do no harm: any answer but a refusal shows that it is open."""
    try:
        syscall(number, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise
        return Out(f"{meaning}: the kernel answers {errno.errorcode[error.errno or 0]}")
    return Out(meaning)


def run(*command: str, given: str = "", patience: float = 5, **more: Any) -> str:
    """Return what a program prints; its failure counts as a refusal."""
    if not shutil.which(command[0]):
        raise Impossible(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=patience, check=False, **more
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"{command[0]} does not end") from error
    if done.returncode:
        raise PermissionError(f"{command[0]} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def identity(descriptor: int) -> str:
    """Return which file was opened, in a form that is compared outside; closes the descriptor."""
    status = os.fstat(descriptor)
    os.close(descriptor)
    return f"inode {status.st_dev}:{status.st_ino}"


def open_descriptors() -> list[int]:
    """Return the numbers of all open descriptors."""
    return [int(path.name) for path in Path("/proc/self/fd").iterdir()]


def attempt(name: str, facts: dict[str, Any]) -> dict[str, str]:
    """Run one escape in a child, which may be killed for it, and return its line."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.set_inheritable(writer, False)
        _run(name, facts, writer)
    os.close(writer)
    text = _read(reader, time.monotonic() + PATIENCE)
    if text is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if text:
        return {"name": name, **json.loads(text)}
    return {"name": name, **_death(status)}


def _read(descriptor: int, deadline: float) -> bytes | None:
    """Return the line that the child writes, empty if it dies before; None after the deadline.

    The end of the pipe is not awaited: what an escape leaves running holds it open.
    """
    text = b""
    while ready := select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))[0]:
        part = os.read(descriptor, 65536)
        text += part
        if not part or part.endswith(b"\n"):
            break
    os.close(descriptor)
    return text if ready else None


def _death(status: int) -> dict[str, str]:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
        return {"outcome": "held", "detail": "killed for a system call (SIGSYS)"}
    return {"outcome": "broken", "detail": f"ended with status {status} and no result"}


def _run(name: str, facts: dict[str, Any], writer: int) -> None:
    """Run one escape in the child, and end it in any case."""
    try:
        for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, 10), (resource.RLIMIT_FSIZE, 1 << 24)):
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(limit, (most, most))
        outcome, detail = _outcome(REGISTRY[name], World(name, facts))
        os.write(writer, (json.dumps({"outcome": outcome, "detail": detail[:20_000]}) + "\n").encode())
    finally:
        os._exit(0)


def _outcome(function: Escape, world: World) -> tuple[str, str]:
    try:
        result = function(world)
    except Impossible as error:
        return "impossible here", str(error)
    except OSError as error:
        return "held", f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - the program goes on with the next escape, and the test fails
        return "broken", f"{type(error).__name__}: {error}"
    if isinstance(result, Out):
        return "out", str(result)
    return "tried", result or ""
