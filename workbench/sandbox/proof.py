"""Proves at start that the sandbox works: a program in it tries to escape, and this module looks for traces outside."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from workbench.processes import landlock
from workbench.processes.leftovers import prefix
from workbench.processes.spawn import find_program, small_python
from workbench.processes.supervised_process import SupervisedProcess
from workbench.sandbox.partial_sandbox import PartialSandbox, absence, gaps
from workbench.sandbox.sandbox import PROGRAM, Boundary, Sandbox
from workbench.sandbox.seccomp import seccomp_filter
from workbench.text import first_line

_SECONDS: Final = 20.0
_SHORT: Final = "/tmp"
_FEWEST: Final = 20
"""The minimum number of attempts: a program that ends early proves nothing."""


_OF_WORKSPACE: Final = (
    *("writes a git hook", "changes the settings of git", "moves the repository", "moves the hooks"),
    *("moves a directory above a protected one", "replaces a protected file"),
)
_NOT_PARTIAL: Final = frozenset((*_OF_WORKSPACE, "sees a process outside"))
"""The attempts that the partial sandbox is not expected to stop."""
_SINCE_SCOPES: Final = frozenset(("signals a process outside",))


@dataclass(frozen=True)
class Attempt:
    """One attempt to escape, and whether the sandbox stopped it."""

    name: str
    is_held: bool
    is_claimed: bool = True
    """Whether the sandbox is expected to stop it."""


@dataclass(frozen=True)
class Proof:
    """The result of all attempts; `reason` says why the sandbox cannot be used, and is empty if it can."""

    reason: str = ""
    attempts: Sequence[Attempt] = ()
    is_partial: bool = False
    """Whether the partial sandbox can be used instead: only what it is not expected to stop got out of it."""
    gaps: Sequence[str] = ()
    """What the partial sandbox leaves open."""

    @property
    def holds(self) -> bool:
        """Whether all attempts were made and none got out."""
        return not self.reason


def prove(boundary: Boundary) -> Proof:
    """Try to escape from a sandbox like the session's, in a workspace made for this test; if it cannot be used, try the
    partial one.
    """
    whole = _proof_of_whole(boundary)
    if whole.holds:
        return whole
    partial = _proof_of_partial(boundary)
    if not partial.holds:
        return replace(whole, reason=f"{whole.reason}, and not even a partial one is possible: {partial.reason}")
    return replace(partial, reason=whole.reason, is_partial=True, gaps=gaps(landlock.version()))


def _proof_of_whole(boundary: Boundary) -> Proof:
    if find_program(PROGRAM) is None:
        return Proof("bubblewrap is not installed")
    if seccomp_filter() is None:
        return Proof(f"there is no filter of system calls for {os.uname().machine}")
    return _tried(boundary, Sandbox, frozenset())


def _proof_of_partial(boundary: Boundary) -> Proof:
    reason = absence()
    if reason:
        return Proof(reason)
    open_ = _NOT_PARTIAL if landlock.version() >= landlock.SINCE_SCOPES else _NOT_PARTIAL | _SINCE_SCOPES
    return _tried(boundary, PartialSandbox, open_)


def _tried(boundary: Boundary, kind: type[Sandbox], unclaimed: Set[str]) -> Proof:
    try:
        with _planted(boundary.home) as world:
            return _judged(world, *_run(boundary, world, kind), unclaimed)
    except OSError as error:
        return Proof(f"it could not be tried: {error.strerror or error}")
    except ValueError:
        return Proof("what the attempts reported cannot be read")


def _run(boundary: Boundary, world: _World, kind: type[Sandbox]) -> tuple[str, str]:
    """Run the probe program in a sandbox of this kind; return its stdout and stderr. Raises OSError."""
    secrets_, visible = (str(world.hidden),), (str(world.outside),)
    inside = replace(boundary, workspace=world.workspace, is_writable=True, secrets=secrets_, visible=visible)
    sandbox = kind(inside)
    try:
        argv = small_python("workbench.sandbox.probe_program", json.dumps(world.targets))
        process = SupervisedProcess(argv, world.workspace, sandbox=sandbox)
        limit = threading.Timer(_SECONDS, process.hang_up)
        limit.start()
        try:
            return process.stdout.read().decode(errors="replace"), process.stderr.read().decode(errors="replace")
        finally:
            limit.cancel()
            process.close()
    finally:
        sandbox.close()


def _judged(world: _World, output: str, errors: str, unclaimed: Set[str]) -> Proof:
    attempts = []
    for line in output.splitlines():
        name, outcome = json.loads(line)
        attempts.append(Attempt(name, outcome == "held", name not in unclaimed))
    if len(attempts) < _FEWEST:
        return Proof(f"it did not start: {first_line(errors.strip(), 200) or 'no message'}", attempts)
    escaped = [attempt.name for attempt in attempts if attempt.is_claimed and not attempt.is_held]
    escaped += world.traces(with_workspace=not unclaimed & frozenset(_OF_WORKSPACE))
    return Proof(f"something got out: {', '.join(escaped)}" if escaped else "", attempts)


@dataclass
class _World:
    """The test's surroundings: files, sockets and a secret outside of the sandbox, and a workspace inside."""

    workspace: Path
    outside: Path
    hidden: Path
    home: str
    sockets: dict[str, socket.socket]
    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    abstract: str = field(default_factory=lambda: f"ohw-{secrets.token_hex(8)}")

    def plant(self) -> None:
        """Create everything. Raises OSError."""
        for directory in (
            self.workspace / ".git/hooks",
            self.workspace / ".github/workflows",
            self.outside,
            self.hidden,
        ):
            directory.mkdir(parents=True)
        self.files = {
            self.outside / "canary": "outside",
            self.hidden / "secret": self.secret,
            self.workspace / ".git/HEAD": "ref: refs/heads/main\n",
            self.workspace / ".git/config": "[core]\n",
            self.workspace / ".github/workflows/ci.yml": "on: push\n",
            self.workspace / ".mcp.json": "{}",
            self.workspace / "file": "inside",
        }
        for path, text in self.files.items():
            path.write_text(text)
        endpoints: dict[str, Any] = {
            "tcp": ("127.0.0.1", 0), "udp": ("127.0.0.1", 0), "unix": str(self.outside / "s"),
            "abstract": f"\0{self.abstract}",
        }  # fmt: skip
        for name, endpoint in endpoints.items():
            self.sockets[name].bind(endpoint)
            if name != "udp":
                self.sockets[name].listen(4)
            self.sockets[name].setblocking(False)

    @property
    def targets(self) -> dict[str, object]:
        """What the probe program tries to reach."""
        return {
            "workspace": str(self.workspace),
            "outside": str(self.outside),
            "hidden": str(self.hidden),
            "secret": self.secret,
            "tcp": self.sockets["tcp"].getsockname()[1],
            "udp": self.sockets["udp"].getsockname()[1],
            "unix": str(self.outside / "s"),
            "abstract": self.abstract,
            "pid": os.getpid(),
            "command": Path("/proc/self/cmdline").read_bytes().decode(errors="replace"),
            "directories": [self.home, "/etc", "/usr", "/var", "/opt", "/home", "/srv", "/boot", "/root"],
        }

    def traces(self, *, with_workspace: bool) -> Iterator[str]:
        """Yield each trace of an escape: a file that was changed or created, or a connection that arrived.

        `with_workspace` includes the protected files of the workspace.
        """
        for path, text in self.files.items():
            if path.name == "file" or (path.is_relative_to(self.workspace) and not with_workspace):
                continue
            if not path.is_file() or path.read_text() != text:
                yield f"changed {path.name}"
        if (self.hidden / "new").exists() or (with_workspace and (self.workspace / ".git/hooks/pre-commit").exists()):
            yield "made a file"
        for name, end in self.sockets.items():
            try:
                end.recv(8) if name == "udp" else end.accept()[0].close()
            except BlockingIOError:
                continue
            yield f"reached a socket ({name})"


@contextmanager
def _planted(home: Path) -> Iterator[_World]:
    with ExitStack() as stack:
        # The path of a socket has at most 107 bytes, which a user's own directory for temporary files may exceed.
        directory = Path(tempfile.mkdtemp(prefix=prefix("sandbox"), dir=_SHORT)).resolve()
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        kinds = {
            "tcp": (socket.AF_INET, socket.SOCK_STREAM), "udp": (socket.AF_INET, socket.SOCK_DGRAM),
            "unix": (socket.AF_UNIX, socket.SOCK_STREAM), "abstract": (socket.AF_UNIX, socket.SOCK_STREAM),
        }  # fmt: skip
        sockets = {name: stack.enter_context(socket.socket(*kind)) for name, kind in kinds.items()}
        outside = directory / "outside"
        world = _World(directory / "workspace", outside, outside / "hidden", str(home), sockets)
        world.plant()
        yield world
