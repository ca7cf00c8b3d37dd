"""The files that decide what a server on this machine runs: its program, its script; hashed, so that they are pinned.

Covered are the program itself (by its content where you can write it, else by its path), a script or directory that a
word of the command names, a module behind `-m`, words inside `sh -c`, and what `npx` prefers in its directory. What a
launcher fetches from a registry has no file beforehand: its package stands in the command, which is another server
when it changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shlex
import shutil
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.processes.start import small_python, start_beside

MOST_FILES = 200
_CODE = re.compile(
    r"\.(?:py[wzc]?|[cm]?[jt]sx?|rb|pl|php|lua|tcl|r|jl|sh|bash|zsh|fish|ps1|exs?|jar|war|wasm|dll|so|go|rs|csx?|kts?|whl)$",
    re.IGNORECASE,
)
_RUNS_A_WORD = re.compile(
    r"(?:python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|julia|java|bash|sh|dash|zsh|ksh|fish|uv|"
    r"tclsh|dotnet|env)[\d.]*(?:\.exe)?"
)
_FETCHES = ("npx", "npm", "bunx", "pnpm", "pnpx", "yarn", "bun")
_IN_A_DIRECTORY = ("__main__.py", "package.json", "index.js", "index.mjs", "pyproject.toml", "deno.json", "Cargo.toml")
_INSIDE = re.compile(r"\s|[;&|]")


def started_files(argv: Sequence[str], folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """What stands in each of these files, by its real path; `folder` is empty for a server without one of its own."""
    program = _program(argv[0], folder, env)
    found: dict[str, str] = {}
    if program:
        real = os.path.realpath(program)
        found[program] = _digest(real) if os.access(real, os.W_OK) else f"is {real}"
    for path in _named(argv, folder, env):
        if len(found) < MOST_FILES:
            found.setdefault(path, _digest(path))
    return found


def _program(word: str, folder: str, env: Mapping[str, str]) -> str:
    if os.sep in word:
        return os.path.abspath(Path(folder, word)) if folder or Path(word).is_absolute() else ""  # noqa: PTH100 - keeps links
    return shutil.which(word, path=env.get("PATH")) or ""


def _named(argv: Sequence[str], folder: str, env: Mapping[str, str]) -> Iterator[str]:
    """The files that the words behind the program name."""
    words = list(_words(argv[1:]))
    bases = [
        each for each in (folder, *(str(Path(folder, word)) for word in words if _is_folder(folder, word))) if each
    ]
    runs_a_word = bool(_RUNS_A_WORD.fullmatch(Path(argv[0]).name))
    first = next((word for word in words if not word.startswith("-")), "") if runs_a_word else ""
    for word in words:
        for base in bases or ["/"]:
            path = Path(base, word).expanduser()
            if (folder or Path(word).is_absolute()) and _is_code(path, is_run=word == first):
                yield os.path.realpath(path)
    for base in bases:
        yield from _inside(Path(base), with_parts=base != folder or first in (".", "./"))
    yield from _modules(words, [*bases, *env.get("PYTHONPATH", "").split(os.pathsep)])
    if Path(argv[0]).name in _FETCHES and folder:
        yield from _preferred(words, Path(folder))


def _words(words: Sequence[str]) -> Iterator[str]:
    """Each word, the value of `--name=value`, and the words inside of a line for a shell."""
    for word in words:
        yield word
        if word.startswith("-") and "=" in word:
            yield word.partition("=")[2]
        elif _INSIDE.search(word) and len(word) < 10_000:
            try:
                yield from shlex.split(word)
            except ValueError:
                continue


def _is_folder(folder: str, word: str) -> bool:
    return bool(word) and (bool(folder) or Path(word).is_absolute()) and Path(folder, word).is_dir()


def _is_code(path: Path, *, is_run: bool) -> bool:
    """Whether it is a file that is run: data that changes from day to day must not count."""
    try:
        if not path.is_file():
            return False
        if is_run or _CODE.search(path.name) or os.access(path, os.X_OK):
            return True
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except (OSError, ValueError):
        return False


def _inside(folder: Path, *, with_parts: bool) -> Iterator[str]:
    """What makes a program of a directory."""
    if with_parts:
        yield from (os.path.realpath(folder / name) for name in _IN_A_DIRECTORY if (folder / name).is_file())


def _modules(words: Sequence[str], places: Sequence[str]) -> Iterator[str]:
    """The files of `-m MODULE`."""
    for word, after in pairwise(words):
        if word == "-m" and after.replace(".", "").replace("_", "").isalnum():
            parts = after.replace(".", os.sep)
            for place in filter(None, places):
                files = (
                    Path(place, f"{parts}.py"),
                    Path(place, parts, "__init__.py"),
                    Path(place, parts, "__main__.py"),
                )
                yield from (os.path.realpath(each) for each in files if each.is_file())


def _preferred(words: Sequence[str], folder: Path) -> Iterator[str]:
    """What a launcher of packages takes from its directory, or one above it, before it fetches anything."""
    names = {re.sub(r"(?<=.)@.*", "", word) for word in words if not word.startswith("-")}
    for place in (folder, *folder.parents):
        files = [place / ".npmrc", *(place / "node_modules" / ".bin" / Path(name).name for name in names if name)]
        yield from (os.path.realpath(each) for each in files if each.is_file())


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


LINE_LIMIT = 16 * 1024 * 1024
"""Bytes of one message; a longer one is dropped and ends the connection."""
_CHUNK = 256 * 1024
_LONGEST_SAID = 500
_END_SECONDS = 8.0  # the keeper itself gives up after less
_LAST_WORDS = 0.5


class TooLong(WorkbenchError):
    """A message larger than LINE_LIMIT."""


class LineReader:
    """Bytes cut into lines as they come, in time that grows with their number alone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now; raises TooLong."""
        *whole, rest = data.split(b"\n")
        lines = []
        for line in whole:
            lines.append(b"".join((*self._parts, line)))
            self._parts, self._size = [], 0
        self._size += len(rest)
        if self._size > self._limit:
            raise TooLong(f"it sent a message of more than {self._limit // 1_000_000} MB")
        if rest:
            self._parts.append(rest)
        return lines


class StderrTail:
    """The last lines a server wrote to stderr; `told` takes each."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self.lines: deque[str] = deque(maxlen=100)

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Until its end."""
        rest = b""
        while data := await stream.read(64 * 1024):
            *whole, rest = (rest + data).split(b"\n")
            rest = rest[-_LONGEST_SAID:]
            for line in whole[-200:]:
                self._add(line)
        self._add(rest)

    def _add(self, line: bytes) -> None:
        text = line[:_LONGEST_SAID].decode(errors="replace").rstrip()
        if text:
            self.lines.append(text)
            self._told(text)


@asynccontextmanager
async def stdio_transport(
    argv: list[str], folder: str, env: Mapping[str, str], tail: StderrTail, gone: Callable[[str], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server, give its streams, end it with all its children; `gone` hears why it ended by itself."""
    process = await start_beside(
        [*small_python("workbench.processes.pipe_keeper"), *argv],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=env,
        is_users=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = asyncio.create_task(tail.follow(process.stderr))
    pipes = _Pipes(process, gone)
    try:
        async with pipes.streams() as streams:
            yield streams
    finally:
        await _end(process, said)


async def _end(process: asyncio.subprocess.Process, said: asyncio.Task[None]) -> None:
    """Close its input and wait for its end; what it still writes is not waited for."""
    assert process.stdin is not None
    process.stdin.close()
    until = time.monotonic() + _END_SECONDS
    while process.returncode is None and time.monotonic() < until:
        await asyncio.sleep(0.01)  # `wait` would also wait for pipes that a child of the server holds open
    if process.returncode is None:
        process.kill()  # the server dies with its keeper
    await asyncio.wait([said], timeout=_LAST_WORDS)  # a child that survives may hold it open
    said.cancel()
    with suppress(asyncio.CancelledError):
        await said
    process._transport.close()  # type: ignore[attr-defined]  # nothing else closes pipes that are still full
    await asyncio.sleep(0)


class _Pipes:
    """Moves messages between the pipes of a process and the SDK's streams."""

    def __init__(self, process: asyncio.subprocess.Process, gone: Callable[[str], None]) -> None:
        self._process = process
        self._gone = gone

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """What the SDK reads and writes."""
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
                        continue  # garbage among the messages is nobody's answer
                    await into.send(SessionMessage(message))
        except TooLong as error:
            why = str(error)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            pass  # the connection is being closed
        self._gone(why)
        into.close()  # whoever waits for an answer hears at once that none comes

    async def _write(self, out: Any) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(ConnectionError, RuntimeError):
            async for message in out:
                stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()
