"""The sandbox of one session: starts programs with bubblewrap."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations
from workbench.files.hidden_directories import hidden_directories
from workbench.processes.landlock_network import PROXY_PORT
from workbench.processes.launch import IN_SANDBOX, SERVER, ProgramStart
from workbench.processes.leftovers import prefix
from workbench.processes.shell_environment import NONCE_NAME
from workbench.processes.spawn import ROOT, find_program, safe_path
from workbench.risk.paths import within
from workbench.sandbox.caches import cache_variables, writable_caches
from workbench.sandbox.mounts import FileAccess
from workbench.sandbox.protected_paths import ProtectedPaths, protected_paths
from workbench.sandbox.proxy import NetworkProxy
from workbench.sandbox.seccomp import seccomp_filter
from workbench.sandbox.secret_paths import secret_paths

PROGRAM: Final = "bwrap"
NAMESPACES: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    # Process 1 is bubblewrap itself, without the filter of system calls.
    *("--ro-bind", "/proc/sys", "/proc/sys", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1"),
)
"""Bubblewrap's options for every program; the mounts of its files come after these."""
_PROXY: Final = f"http://127.0.0.1:{PROXY_PORT}"
PROXY_VARIABLES: Final = {
    # Not the proxy's SOCKS: with that in ALL_PROXY, Python's httpx fails at once where `socksio` is not installed.
    **{name: _PROXY for each in ("http_proxy", "https_proxy", "all_proxy") for name in (each, each.upper())},
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
    # Otherwise Node's own `fetch` ignores the variables above (since Node 24).
    "NODE_USE_ENV_PROXY": "1",
}
"""The variables that make programs use the proxy."""
_LOCALE: Final = ("LANG", "LC_ALL", "LC_CTYPE")
_LIBRARIES: Final = "LD_LIBRARY_PATH"


@dataclass(frozen=True)
class GrantedDirectories:
    """The directories that commands may write to in addition to the workspace; all are real paths."""

    writable: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """One line for each directory that a rule names but that cannot be granted."""
    limits: tuple[str, ...] = ()
    """One line for each directory that is too large to find all of its protected files."""


@dataclass(frozen=True)
class Boundary:
    """Where the files of a sandbox are, and what the settings allow its programs."""

    workspace: Path
    locations: Locations
    home: Path
    is_writable: bool = True
    caches: Collection[str] = ()
    secrets: Sequence[str] = ()
    """Additional paths to hide."""
    visible: Sequence[str] = ()
    """Additional paths to keep readable although they are inside a directory that the sandbox replaces, such as
    /tmp.
    """
    container_path: str = ""
    """A second path of the workspace in a container; empty if there is none."""
    granted: Callable[[], GrantedDirectories] = GrantedDirectories
    """Returns the additional directories that commands may write to at present; MCP servers may not."""


class Sandbox:
    """Starts programs in the sandbox of one workspace; may be used from several threads."""

    def __init__(self, boundary: Boundary, proxy: NetworkProxy | None = None) -> None:
        """Without a `proxy`, programs have no network."""
        self._boundary = replace(boundary, workspace=boundary.workspace.resolve())
        self._proxy = proxy
        self._private: Path | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the programs' connections, and delete the session's temporary directory."""
        if self._proxy is not None:
            self._proxy.close()
        with self._lock:
            if self._private is not None:
                shutil.rmtree(self._private, ignore_errors=True)

    @property
    def holds(self) -> bool:
        """True: that the sandbox works is established by `proof`."""
        return True

    @property
    def containment(self) -> str:
        """The reason to record with a decision that needs no approval."""
        return IN_SANDBOX

    @property
    def directory(self) -> None:
        """None: programs see the temporary files of tools at their usual paths."""

    @property
    def granted(self) -> Sequence[str]:
        """The directories, besides the workspace, that commands may write to."""
        return self._boundary.granted().writable if self._boundary.is_writable else ()

    @property
    def container_path(self) -> str:
        """Empty: programs see the workspace at its own path only."""
        return ""

    def is_waiting(self, program: str) -> bool:
        """Return whether the program with this name is waiting for the user to decide on a host."""
        return self._proxy is not None and self._proxy.is_waiting(program)

    def refused_since(self, program: str, since: float) -> Sequence[str]:
        """Return one line for each host that the proxy refused to a program since `since`, a time of
        `time.monotonic`.
        """
        if self._proxy is None:
            return ()
        refused = {each.line for each in self._proxy.refusals if each.label == program and each.at >= since}
        return sorted(refused)

    @contextmanager
    def launch(
        self,
        argv: Sequence[str],
        directory: Path | str,
        env: Mapping[str, str],
        *,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        private: Path | None = None,
        name: str = "",
    ) -> Iterator[ProgramStart]:
        """Yield how to start a program in `directory` inside the sandbox. Raises OSError.

        The supervisor and bubblewrap run outside the sandbox. Of `env`, they get only the variable that marks a shell's
        processes, because others, such as LD_PRELOAD, could load code there. Bubblewrap sets those for the program
        alone.
        """
        bubblewrap, rules = _program_and_filter()
        for path in (*writable, *readable):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        access = self._access(os.path.realpath(private or self.private_directory()), name)
        files, order = access.options(map(os.path.realpath, writable), map(os.path.realpath, readable))
        outside = self._supervisor_environment(env, access.caches)
        variables = _variable_options(outside, {**env, **self._variables("/tmp")})
        options = _encoded([*NAMESPACES, *files, *variables, "--chdir", str(directory)])
        ours, theirs = socket.socketpair()
        filter_file = memory_file("filter", rules)
        options_file = memory_file("options", options + _encoded(["--seccomp", str(filter_file)]))
        order_file = memory_file("mounts", order)
        with theirs:
            try:
                command = [bubblewrap, "--args", str(options_file), "--", *argv]
                yield ProgramStart(command, outside, (theirs.fileno(), order_file, options_file, filter_file))
            except BaseException:
                ours.close()
                raise
            finally:
                for number in (order_file, options_file, filter_file):
                    os.close(number)
        self._await_listener(ours, name or Path(argv[0]).name)

    def _access(self, private: str, name: str) -> FileAccess:
        """Return which files the program with this name reaches; granted directories are not for MCP servers, which run
        unasked.
        """
        return access_of(self._boundary, private, () if name.startswith(f"{SERVER} ") else self.granted)

    def private_directory(self) -> str:
        """Return the directory that is mounted as /tmp, created on first use."""
        with self._lock:
            if self._private is None:
                self._private = Path(tempfile.mkdtemp(prefix=prefix("sandbox")))
            return str(self._private)

    def _variables(self, temporary: str) -> Mapping[str, str]:
        boundary = self._boundary
        caches = cache_variables(boundary.home, boundary.caches if boundary.is_writable else (), temporary, os.environ)
        return {**caches, "TMPDIR": temporary, **(PROXY_VARIABLES if self._proxy is not None else {})}

    def _supervisor_environment(self, env: Mapping[str, str], caches: Iterable[str]) -> dict[str, str]:
        """Return the environment of the supervisor: the mark from `env`, and from our own the locale and the library
        path.

        The library path is needed by some Pythons. Its entries must not be writable for programs in the sandbox, or
        empty, which means the current directory.
        """
        writable = (str(self._boundary.workspace), *caches)
        entries = [
            entry
            for entry in re.split("[:;]", os.environ.get(_LIBRARIES, ""))
            if "$" not in entry and not any(within(os.path.realpath(entry), each) for each in writable)
        ]
        libraries = safe_path(os.pathsep.join(entries))
        locale = {name: os.environ[name] for name in _LOCALE if name in os.environ}
        mark = {NONCE_NAME: env[NONCE_NAME]} if NONCE_NAME in env else {}
        return {**locale, **mark, **({_LIBRARIES: libraries} if libraries else {})}

    def _await_listener(self, channel: socket.socket, label: str) -> None:
        """Receive the listener that the supervisor sends, and let the proxy serve it, in a background thread."""

        def wait() -> None:
            with channel, suppress(OSError):
                _, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(4))
                for level, kind, data in ancillary:
                    if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                        listener = socket.socket(fileno=struct.unpack("i", data[:4])[0])
                        self._serve(listener, label, channel)

        threading.Thread(target=wait, name="sandbox-listener", daemon=True).start()

    def _serve(self, listener: socket.socket, label: str, channel: socket.socket) -> None:
        """Let the proxy serve a listener until `channel` closes, because the supervisor has ended."""
        if self._proxy is None:
            listener.close()
            return
        served = self._proxy.serve(listener, label)
        try:
            channel.recv(1)
        finally:
            served.close()


def _program_and_filter() -> tuple[str, bytes]:
    """Return the path of bubblewrap, and the filter of system calls. Raises FileNotFoundError if either is missing."""
    bubblewrap, rules = find_program(PROGRAM), seccomp_filter()
    if bubblewrap is None or rules is None:
        raise FileNotFoundError(2, "the sandbox needs bubblewrap on a known architecture", PROGRAM)
    return bubblewrap, rules


def access_of(boundary: Boundary, private: str, granted: Sequence[str] = ()) -> FileAccess:
    """Return which files a sandbox's programs reach, given the files that exist now.

    `private` is the sandbox's temporary directory, and `granted` are directories, besides the workspace, that commands
    may write to.
    """
    workspace = str(boundary.workspace)
    temporary = os.path.realpath(tempfile.gettempdir())
    path = os.environ.get("PATH", "").split(os.pathsep)
    programs: tuple[str, ...] = (str(boundary.home), *boundary.visible, ROOT, sys.prefix, sys.base_prefix, *path)
    return FileAccess(
        workspace=workspace,
        is_writable=boundary.is_writable,
        private=private,
        temporary="" if within(str(boundary.home), temporary) or within(temporary, workspace) else temporary,
        granted=granted,
        protected=_protected(boundary.workspace, granted),
        caches=writable_caches(boundary.home, boundary.caches, os.environ),
        hidden=hidden_paths(boundary),
        programs=[os.path.realpath(each) for each in programs if each],
    )


def _protected(workspace: Path, granted: Iterable[str]) -> ProtectedPaths:
    """Return what is protected in the workspace and in granted directories.

    The git directory of a granted directory is writable only if it is inside that directory.
    """
    result = protected_paths(workspace)
    for directory in granted:
        other = protected_paths(Path(directory))
        result.read_only += other.read_only
        result.git_directories += [each for each in other.git_directories if within(each, directory)]
    return result


def hidden_paths(boundary: Boundary) -> list[str]:
    """Return the real paths to hide: secrets, and the directories of `ohw` itself.

    They include the user's own ones if the session has others, as those of a batch and of programs may.
    """
    usual = Locations.from_environment()
    every = [(each.config, each.data, each.state, each.runtime) for each in (boundary.locations, usual)]
    own = dict.fromkeys((*every[0], *every[1], os.environ.get("XDG_RUNTIME_DIR", "")))
    hidden = map(os.path.realpath, filter(None, (*map(str, own), *boundary.secrets)))
    return [*hidden, *hidden_directories(), *secret_paths(boundary.home)]


def _variable_options(outside: Mapping[str, str], inside: Mapping[str, str]) -> Iterator[str]:
    """Yield the options that turn bubblewrap's environment (`outside`) into the program's (`inside`)."""
    for name in outside:
        if name not in inside:
            yield from ("--unsetenv", name)
    for name, value in inside.items():
        if name:
            yield from ("--setenv", name, value)


def _encoded(options: Sequence[str]) -> bytes:
    """Return options in the format that bubblewrap reads, each ended by a NUL.

    Raises OSError if an option contains a NUL: the rest would be read as another option, such as `--bind / /` hidden in
    a server's variable.
    """
    if any("\0" in each for each in options):
        raise OSError(errno.EINVAL, "a variable or path of the program contains a NUL character")
    return b"".join(os.fsencode(each) + b"\0" for each in options)


def memory_file(name: str, content: bytes) -> int:
    """Return the descriptor of an anonymous file with this content, positioned at its start; `name` is for debugging
    only.
    """
    if sys.platform != "linux":
        raise OSError("bubblewrap runs on Linux only")
    descriptor = os.memfd_create(name, 0)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
