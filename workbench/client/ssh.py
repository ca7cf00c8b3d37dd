"""A connection to an engine on another machine, through the user's own ssh with its keys, agents and jump hosts."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import IO

import msgspec

from workbench import __version__
from workbench.client.engine_connection import EngineConnection
from workbench.client.ssh_url import SshUrl
from workbench.errors import WorkbenchError
from workbench.processes.spawn import find_program, start
from workbench.protocol.commands import Hello
from workbench.protocol.remote import LINE_LIMIT, NotOpened, Opened, OpenRequest, is_answer, read_answer
from workbench.text import first_line, visible

ABSENT = 127
"""The exit code of a shell that cannot find the program; here, ohw is missing, but not uv."""
_ABSENT_UV = 69
"""The exit code if both ohw and uv, which could install it, are missing: EX_UNAVAILABLE of sysexits.h."""
_OF_SSH = 255
"""The exit code of ssh for its own errors."""
PATHS = 'PATH="$PATH:$HOME/.local/bin:$HOME/.cargo/bin"; export PATH; '
"""Adds common install directories to PATH: a shell without a terminal often does not read the user's profile."""
_ENGINE = (
    f"{PATHS}if command -v ohw >/dev/null 2>&1; then exec ohw engine --stdio; "
    f"elif command -v uv >/dev/null 2>&1; then exit {ABSENT}; else exit {_ABSENT_UV}; fi"
)
_ALIVE = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "RemoteCommand=none")
_UNATTENDED = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
"""Options of ssh while the screen uses the terminal: ssh must not ask anything there."""
_UNINTERRUPTED = ("sh", "-c", 'trap "" INT QUIT HUP; exec "$0" "$@"')
"""Starts a program that ignores the signals which a terminal sends to all its programs at Ctrl+C or when it is closed.

`ohw` gets these signals too, and needs the connection to stop the agent.
"""
_ANSWER = 30.0
"""Seconds until an unattended connection must be established, or a remote command must have answered."""
_END = 3.0
_FINAL = ("Host key verification failed", "IDENTIFICATION HAS CHANGED", "Permission denied", "Too many authentication")
"""Messages of ssh after which another attempt would fail too."""
_MOST_LINES = 30
_LONGEST_OUTPUT = 1_000_000
_LONGEST_ANSWER = 200_000_000
"""The most bytes that a front end reads of an answer, which may have the texts of many files."""
_LONG_ANSWER = 330.0
"""Seconds until git must have answered there, which may write all files of a worktree."""


class SshFailed(WorkbenchError):
    """ssh failed or no session was opened; with `is_final`, another attempt would fail too.

    `can_install` says that ohw is missing on the other machine, but not uv, which can install it.
    """

    exit_code = 2

    def __init__(self, reason: str, *, is_final: bool = True, can_install: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final
        self.can_install = can_install


class _ErrorOutput:
    """Reads the standard error of ssh, including that of the remote programs; prints it until the screen starts."""

    def __init__(self, stream: IO[bytes], *, is_printed: bool) -> None:
        self.is_printed = is_printed
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True, name="ssh-errors")
        self._reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                text = visible(line.decode(errors="replace").rstrip(), lines=False)
                self._lines.append(text)
                if self.is_printed:
                    sys.stderr.write(f"{text}\n")
                    sys.stderr.flush()

    def lines(self) -> list[str]:
        """Return the last lines that are not blank; waits briefly for the end of the stream."""
        self._reader.join(0.3)
        return [line for line in self._lines if line.strip()]


class SshLink:
    """A running ssh, with the connection to the session that its other end has opened."""

    def __init__(
        self,
        url: SshUrl,
        process: subprocess.Popen[bytes],
        errors: _ErrorOutput,
        opened: Opened,
        connection: EngineConnection,
    ) -> None:
        self.opened = opened
        self.connection = connection
        self._url = url
        self._process = process
        self._errors = errors

    def leave_terminal(self) -> None:
        """Stop printing the errors of ssh, because the screen starts."""
        self._errors.is_printed = False

    def failure(self) -> SshFailed | None:
        """Return why the connection has ended; None if the other end closed it properly, as it does when the engine
        ends.
        """
        return _failure(self._url, self._process, self._errors)


def open_link(url: SshUrl, request: OpenRequest, *, may_ask: bool) -> SshLink:
    """Run ssh and open a session. Raises SshFailed.

    With `may_ask`, ssh may ask for a password or about a host key on the terminal, and its messages are printed.
    """
    command = _command(url, may_ask=may_ask)
    ours, theirs = socket.socketpair()
    try:
        process = start(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            is_users=True,
            start_new_session=not may_ask,
        )
    except OSError as error:
        ours.close()
        raise SshFailed(f"ssh cannot be started: {error.strerror or error}") from error
    finally:
        theirs.close()
    assert process.stderr is not None
    errors = _ErrorOutput(process.stderr, is_printed=may_ask)
    ours.settimeout(None if may_ask else _ANSWER)
    try:
        opened, rest = _handshake(url, ours, request)
    except (OSError, EOFError):
        ours.close()
        process.terminate()
        failure = _failure(url, process, errors)
        raise failure or SshFailed(f"{url.host} closed the connection", is_final=False) from None
    except (SshFailed, KeyboardInterrupt):
        ours.close()
        process.terminate()
        raise
    ours.settimeout(None)
    connection = EngineConnection(ours, Hello(seen=opened.last_seq, notices=opened.notices), rest)
    return SshLink(url, process, errors, opened, connection)


def run_script(url: SshUrl, script: str, data: IO[bytes]) -> None:
    """Run an `sh` script on the host with `data` as its input, and print its errors. Raises SshFailed.

    ssh may ask for a password on the terminal.
    """
    command = url.command(*_ALIVE, script=script)
    try:
        process = start(command, stdin=data, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, is_users=True)
    except OSError as error:
        raise SshFailed(f"ssh cannot be started: {error.strerror or error}") from error
    assert process.stderr is not None
    errors = _ErrorOutput(process.stderr, is_printed=True)
    process.wait()
    failure = _failure(url, process, errors)
    if failure is not None:
        raise failure


def output_there(url: SshUrl, words: Sequence[str], *, columns: int) -> str:
    """Run `ohw` with these arguments on the host, for the directory of the URL, and return its output.

    The output is cut at `_LONGEST_OUTPUT` bytes; `columns` is its width. ssh asks nothing. Raises SshFailed, also if
    there is no answer in time.
    """
    ohw = shlex.join(("ohw", words[0], "--workspace", url.path, *words[1:]))
    output, failure = _output(url, f"COLUMNS={columns} exec {ohw}", b"", _LONGEST_OUTPUT, _ANSWER)
    if failure is not None and not output:
        raise failure
    return output.decode(errors="replace")


def answer_there(url: SshUrl, name: str, data: bytes) -> bytes:
    """Run a command of `ohw` on the host, for the directory of the URL, with that input, and return its output.

    ssh asks nothing. Raises SshFailed, also if the command fails, or there is no answer in time.
    """
    ohw = shlex.join(("ohw", name, "--workspace", url.path))
    output, failure = _output(url, f"exec {ohw}", data, _LONGEST_ANSWER, _LONG_ANSWER)
    if failure is not None:
        raise failure
    return output


def _output(url: SshUrl, script: str, data: bytes, longest: int, seconds: float) -> tuple[bytes, SshFailed | None]:
    """Run a script with that input; return its output, of at most that many bytes, and the error. Raises SshFailed."""
    command = url.command(*_ALIVE, *_UNATTENDED, script=f"{PATHS}{script}")
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        try:
            process = start(
                command,
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                is_users=True,
                start_new_session=True,
            )
        except OSError as error:
            raise SshFailed(f"ssh cannot be started: {error.strerror or error}") from error
    assert process.stdout is not None
    assert process.stderr is not None
    errors = _ErrorOutput(process.stderr, is_printed=False)
    limit = threading.Timer(seconds, process.kill)
    limit.start()
    with process.stdout as stream:
        output = stream.read(longest)
    limit.cancel()
    return output, _failure(url, process, errors)


def _command(url: SshUrl, *, may_ask: bool) -> list[str]:
    """Return the command that runs ssh. Raises SshFailed if there is no ssh."""
    options = _ALIVE if may_ask else (*_ALIVE, *_UNATTENDED)
    program, *words = url.command(*options, script=_ENGINE)
    ssh = find_program(program)
    if ssh is None:
        raise SshFailed("ssh is not installed, or not in the PATH")
    return [*_UNINTERRUPTED, ssh, *words]


def _handshake(url: SshUrl, connected: socket.socket, request: OpenRequest) -> tuple[Opened, bytes]:
    """Send the request; return the answer and the bytes received after it. Raises SshFailed, EOFError or OSError."""
    connected.sendall(msgspec.json.encode(request) + b"\n")
    data, until = b"", time.monotonic() + (connected.gettimeout() or float("inf"))
    while True:
        *lines, data = data.split(b"\n")
        for index, line in enumerate(lines):
            # A login may print something before.
            if is_answer(line):
                return _opened(url, line), b"\n".join((*lines[index + 1 :], data))
        if len(data) > LINE_LIMIT:
            raise SshFailed(f"{url.host} answers something else than ohw: {visible(repr(data[:60]), lines=False)}")
        if time.monotonic() > until or not (part := connected.recv(LINE_LIMIT)):
            raise EOFError
        data += part


def _opened(url: SshUrl, line: bytes) -> Opened:
    try:
        answer = read_answer(line)
    except ValueError:
        # Another version may have other fields.
        fields = json.loads(line) if line.endswith(b"}") else {}
        theirs = visible(str(fields.get("ohw", "of an unknown version")), lines=False)
        versions = f"ohw {theirs} on {url.host} and ohw {__version__} here"
        raise SshFailed(f"{versions} do not understand each other; install the same version on both") from None
    if isinstance(answer, NotOpened):
        raise SshFailed(f"{url.host}: {visible(answer.reason, lines=False)}")
    return answer


def _failure(url: SshUrl, process: subprocess.Popen[bytes], errors: _ErrorOutput) -> SshFailed | None:
    """Wait for a run of ssh that has closed its output; return why it failed, or None if it ended without an error."""
    try:
        code = process.wait(_END)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    lines = errors.lines()
    last = first_line(lines[-1], 300) if lines else ""
    if code == 0:
        return None
    if code in (ABSENT, _ABSENT_UV):
        return _absence(url, has_uv=code == ABSENT)
    if any("IDENTIFICATION HAS CHANGED" in line for line in lines):
        return SshFailed(f"the host key of {url.host} has changed, so ssh refuses to connect: {last}")
    is_final = code not in (_OF_SSH, -15, -9, -1) or any(each in line for line in lines for each in _FINAL)
    return SshFailed(last or f"ssh ended ({code})", is_final=is_final)


def _absence(url: SshUrl, *, has_uv: bool) -> SshFailed:
    if has_uv:
        commands = "`uv tool install .` in a clone of the repository"
    else:
        commands = "`pip install --user uv`, then `uv tool install .` in a clone of the repository"
    return SshFailed(
        f"ohw is not installed on {url.host}, or not in its PATH; install version {__version__} there, as here: "
        f"{commands}",
        can_install=has_uv,
    )
