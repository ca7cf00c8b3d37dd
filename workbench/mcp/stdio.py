"""Local servers: hashes of the files that decide what a server runs, and the pipes used to talk to it.

The hashes cover the program itself (its content if the user can write to it, otherwise only its path), scripts that a
word of the command names (also inside `sh -c`), the entry files of a directory it names, a module after `-m`, the code
of local packages that a launcher runs, the files that `npx` prefers to a download, and the tasks, settings and imports
that are compared when the user approves the same command of an agent. A package that a launcher downloads has no file
beforehand; its name is part of the command, and a server with a different command is a different server.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.lazy_pattern import lazy_pattern
from workbench.mcp.packages import FETCHES, Package, local_packages, without_manager, words_of
from workbench.mcp.pins import NOT_COMPARED
from workbench.mcp.server_sandbox import ServerSandbox
from workbench.processes.spawn import small_python, start_beside
from workbench.risk.assessment import NOT_COMPARED as UNCOMPARED
from workbench.risk.tool_calls import files_of_start

MOST_FILES = 200
"""The number of files that are listed individually; all others share one hash."""
OTHERS = "(all other start files, together)"
"""Listed by `started_files` in place of a path, for the files beyond MOST_FILES."""
_MOST_ENTRIES = 20_000
"""How many directory entries of packages are examined."""
_CODE = lazy_pattern(
    r"\.(?:py[wzc]?|[cm]?[jt]sx?|rb|pl|php|lua|tcl|r|jl|sh|bash|zsh|fish|ps1|exs?|jar|war|wasm|dll|so|go|rs|csx?|kts?|whl)$",
    re.IGNORECASE,
)
_RUNS_A_WORD = lazy_pattern(
    r"(?:python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|julia|java|bash|sh|dash|zsh|ksh|fish|uv|"
    r"tclsh|dotnet|env)[\d.]*(?:\.exe)?"
)
_IN_A_DIRECTORY = ("__main__.py", "package.json", "index.js", "index.mjs", "pyproject.toml", "deno.json", "Cargo.toml")
_SETTINGS = lazy_pattern(
    r"(?:package|tsconfig|deno)\.jsonc?|.*\.(?:toml|cfg|lock)|requirements.*\.txt|MANIFEST\.in|Makefile"
)
_PASSED_OVER = lazy_pattern(r"\.git|\.hg|\.?venv|node_modules|__pycache__|\..*cache")


def started_files(
    argv: Sequence[str], directory: str, env: Mapping[str, str], set_names: Collection[str] = ()
) -> dict[str, str]:
    """Return the hash, or other identity, of each file that decides what the server runs, by path.

    Files beyond MOST_FILES share the entry OTHERS. The result contains NOT_COMPARED if a limit kept some files from
    being examined. `directory` is the configured working directory, or empty if there is none; `set_names` are the
    variables in `env` that the configuration sets.
    """
    variables = {name: env[name] for name in set_names}
    program = _program(argv[0], directory, env)
    hashes: dict[str, str] = {}
    if program:
        real = os.path.realpath(program)
        hashes[program] = _digest(real) if os.access(real, os.W_OK) else f"is {real}"
    for path in _named(argv, directory, env):
        hashes.setdefault(path, _digest(path))
    budget = iter(range(_MOST_ENTRIES))
    for package in local_packages(argv, directory, variables):
        for path in _code_of(package, budget):
            hashes.setdefault(path, _digest(path))
    is_cut = next(budget, None) is None
    for path, digest in files_of_start(without_manager(argv), directory, variables).items():
        is_cut |= path == UNCOMPARED
        hashes.setdefault(path, digest)
    hashes.pop(UNCOMPARED, None)
    return _shortened(hashes) | ({NOT_COMPARED: "each start needs an approval"} if is_cut else {})


def _shortened(hashes: Mapping[str, str]) -> dict[str, str]:
    """Return the first MOST_FILES entries, and one entry for all others."""
    entries = list(hashes.items())
    others = entries[MOST_FILES:]
    if not others:
        return dict(entries)
    joined = hashlib.sha256("\0".join(f"{path}\0{digest}" for path, digest in sorted(others)).encode(errors="replace"))
    return {**dict(entries[:MOST_FILES]), OTHERS: f"sha256:{joined.hexdigest()} of {len(others):,} files"}


def _code_of(package: Package, budget: Iterator[int]) -> Iterator[str]:
    """Yield the files of a package that contain code or build settings, and its links; an archive is one file.

    Stops when the items of `budget`, one for each directory entry, are used up.
    """
    if package.path.is_file():
        yield str(package.path)
        return
    for parent, directories, names in os.walk(package.path):
        linked = [name for name in directories if Path(parent, name).is_symlink()]
        directories[:] = sorted(name for name in directories if not _PASSED_OVER.fullmatch(name))
        for name in sorted((*names, *linked)):
            if next(budget, None) is None:
                return
            path = Path(parent, name)
            if package.holds_archives or path.is_symlink() or _SETTINGS.fullmatch(name) or _is_code(path, is_run=False):
                yield str(path)


def _program(word: str, directory: str, env: Mapping[str, str]) -> str:
    if os.sep in word:
        return os.path.abspath(Path(directory, word)) if directory or Path(word).is_absolute() else ""  # noqa: PTH100 - keeps links
    return shutil.which(word, path=env.get("PATH")) or ""


def _named(argv: Sequence[str], directory: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the real paths of the files that the arguments name."""
    words = list(words_of(argv[1:]))
    bases = [
        each
        for each in (directory, *(str(Path(directory, word)) for word in words if _is_directory(directory, word)))
        if each
    ]
    runs_a_word = bool(_RUNS_A_WORD.fullmatch(Path(argv[0]).name))
    first = next((word for word in words if not word.startswith("-")), "") if runs_a_word else ""
    for word in words:
        for base in bases or ["/"]:
            path = Path(base, word).expanduser()
            if (directory or Path(word).is_absolute()) and _is_code(path, is_run=word == first):
                yield os.path.realpath(path)
    for base in bases:
        yield from _inside(Path(base), with_parts=base != directory or first in (".", "./"))
    yield from _modules(words, [*bases, *env.get("PYTHONPATH", "").split(os.pathsep)])
    if Path(argv[0]).name in FETCHES and directory:
        yield from _preferred(words, Path(directory))


def _is_directory(directory: str, word: str) -> bool:
    return bool(word) and (bool(directory) or Path(word).is_absolute()) and Path(directory, word).is_dir()


def _is_code(path: Path, *, is_run: bool) -> bool:
    """Return whether the path is a file that may be executed; all other files may change without an approval.

    `is_run` says that an interpreter gets the file as the program to run.
    """
    try:
        if not path.is_file():
            return False
        if is_run or _CODE.search(path.name) or os.access(path, os.X_OK):
            return True
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except (OSError, ValueError):
        return False


def _inside(directory: Path, *, with_parts: bool) -> Iterator[str]:
    """Yield the files that a program may run if the directory is its argument; nothing unless `with_parts` is set."""
    if with_parts:
        yield from (os.path.realpath(directory / name) for name in _IN_A_DIRECTORY if (directory / name).is_file())


def _modules(words: Sequence[str], bases: Sequence[str]) -> Iterator[str]:
    """Yield the files that `-m MODULE` runs."""
    for word, after in pairwise(words):
        if word == "-m" and after.replace(".", "").replace("_", "").isalnum():
            parts = after.replace(".", os.sep)
            for base in filter(None, bases):
                files = (
                    Path(base, f"{parts}.py"),
                    Path(base, parts, "__init__.py"),
                    Path(base, parts, "__main__.py"),
                )
                yield from (os.path.realpath(each) for each in files if each.is_file())


def _preferred(words: Sequence[str], directory: Path) -> Iterator[str]:
    """Yield the files, in the directory or a parent, that a package launcher prefers to a download."""
    names = {re.sub(r"(?<=.)@.*", "", word) for word in words if not word.startswith("-")}
    for base in (directory, *directory.parents):
        files = [base / ".npmrc", *(base / "node_modules" / ".bin" / Path(name).name for name in names if name)]
        yield from (os.path.realpath(each) for each in files if each.is_file())


def _digest(path: str) -> str:
    try:
        if Path(path).is_dir():
            return f"leads to {os.path.realpath(path)}"
        with Path(path).open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


LINE_LIMIT = 16 * 1024 * 1024
"""The maximum size of one message in bytes; a longer one is dropped and ends the connection."""
_CHUNK = 256 * 1024
_LINE_CHARACTERS = 500
# The supervisor gives up ending the server before this time has passed.
_END_SECONDS = 8.0
_DRAIN_SECONDS = 0.5


class TooLong(WorkbenchError):
    """A message is larger than LINE_LIMIT."""


class LineReader:
    """Splits incoming bytes into lines, in linear time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Add data and return the lines it completes. Raises TooLong if the incomplete rest exceeds the limit."""
        *complete, rest = data.split(b"\n")
        lines = []
        for line in complete:
            lines.append(b"".join((*self._parts, line)))
            self._parts, self._size = [], 0
        self._size += len(rest)
        if self._size > self._limit:
            raise TooLong(f"it sent a message of more than {self._limit // 1_000_000} MB")
        if rest:
            self._parts.append(rest)
        return lines


class StderrTail:
    """Keeps the last 100 lines that a server wrote to stderr, and calls `on_line` with each line."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self.lines: deque[str] = deque(maxlen=100)

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Read the stream until it ends."""
        rest = b""
        while data := await stream.read(64 * 1024):
            *complete, rest = (rest + data).split(b"\n")
            rest = rest[-_LINE_CHARACTERS:]
            for line in complete[-200:]:
                self._add(line)
        self._add(rest)

    def _add(self, line: bytes) -> None:
        text = line[:_LINE_CHARACTERS].decode(errors="replace").rstrip()
        if text:
            self.lines.append(text)
            self._on_line(text)


@asynccontextmanager
async def stdio_transport(
    argv: list[str],
    directory: str,
    env: Mapping[str, str],
    tail: StderrTail,
    on_end: Callable[[str], None],
    *,
    sandbox: ServerSandbox,
    is_own_directory: bool = False,
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server in its sandbox and yield the streams to read from and write to; at exit, end it and all its
    child processes.

    `on_end` receives the reason when the server closes its output or sends too much. `is_own_directory` says that the
    server may write to its working directory. Raises OSError or ServerFailed if the server cannot be started.
    """
    writable = [Path(directory)] if is_own_directory else []
    async with (
        server_process(argv, directory, env, tail, sandbox=sandbox, writable=writable) as process,
        _Pipes(process, on_end).streams() as streams,
    ):
        yield streams


@asynccontextmanager
async def server_process(
    argv: list[str],
    directory: str,
    env: Mapping[str, str],
    tail: StderrTail,
    *,
    sandbox: ServerSandbox,
    writable: Sequence[Path] = (),
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a program in its sandbox and yield the process, which is its supervisor, with the program's pipes; at exit,
    end it and all its child processes.

    `writable` are directories that the program may write to besides those of the sandbox. Raises OSError or
    ServerFailed if it cannot be started.
    """
    with sandbox.private_directory() as private:
        async with sandbox.starting(argv, directory, env, private, writable) as program:
            process = await start_beside(
                [*small_python("workbench.processes.server_supervisor"), program.words, *program.argv],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=directory,
                env=program.env,
                is_users=True,
                pass_fds=tuple(program.descriptors),
                start_new_session=True,
            )
        assert process.stderr is not None
        stderr = asyncio.create_task(tail.follow(process.stderr))
        try:
            yield process
        finally:
            await _end(process, stderr)


async def _end(process: asyncio.subprocess.Process, stderr: asyncio.Task[None]) -> None:
    """Close the server's input and wait for the server to end; kill it after `_END_SECONDS`.

    Its remaining output is not awaited.
    """
    assert process.stdin is not None
    process.stdin.close()
    until = time.monotonic() + _END_SECONDS
    while process.returncode is None and time.monotonic() < until:
        # `process.wait` would also wait for pipes that a child of the server holds open.
        await asyncio.sleep(0.01)
    if process.returncode is None:
        # The process is the supervisor, and the server dies with it.
        process.kill()
    # A child process that survives may hold the pipe open.
    await asyncio.wait([stderr], timeout=_DRAIN_SECONDS)
    stderr.cancel()
    with suppress(asyncio.CancelledError):
        await stderr
    # Nothing else closes pipes that still hold data.
    process._transport.close()  # type: ignore[attr-defined]
    await asyncio.sleep(0)


class _Pipes:
    """Moves messages between the pipes of a process and the SDK's streams."""

    def __init__(self, process: asyncio.subprocess.Process, on_end: Callable[[str], None]) -> None:
        self._process = process
        self._on_end = on_end

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """Yield the two streams that the SDK reads from and writes to."""
        import anyio
        from mcp.shared.message import SessionMessage

        into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, out = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [asyncio.create_task(self._read(into)), asyncio.create_task(self._write(out))]
        try:
            yield read, write
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (into, read, write, out):
                stream.close()

    async def _read(self, into: Any) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        stdout = self._process.stdout
        assert stdout is not None
        lines, why = LineReader(LINE_LIMIT), "it ended"
        try:
            while data := await stdout.read(_CHUNK):
                for line in lines.feed(data):
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        # Ignore other output between the messages.
                        continue
                    await into.send(SessionMessage(message))
        except TooLong as error:
            why = str(error)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            # The connection is being closed.
            pass
        self._on_end(why)
        # This makes pending requests fail at once.
        into.close()

    async def _write(self, out: Any) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(ConnectionError, RuntimeError):
            async for message in out:
                stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()
