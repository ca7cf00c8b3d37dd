"""Ordinary work, which a wall must not hinder: run inside it, by itself, as `python chores.py WORKSPACE`.

It prints a line of JSON for each chore: name, outcome (`done` or `failed`), detail.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import mmap
import multiprocessing
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable
from pathlib import Path

Chore = Callable[[Path], object]
CHORES: dict[str, Chore] = {}


def chore(function: Chore) -> Chore:
    """Register a chore; it fails by an exception."""
    CHORES[function.__name__] = function
    return function


def run(*command: str, directory: Path | None = None) -> str:
    """Return what a program prints."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise OSError(f"{command} ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


@chore
def write_files(workspace: Path) -> None:
    """New files and directories, renamed and removed."""
    directory = workspace / "work/deep"
    directory.mkdir(parents=True)
    (directory / "a").write_text("a")
    (directory / "a").rename(directory / "b")
    os.link(directory / "b", directory / "c")
    (directory / "link").symlink_to("c")
    assert (directory / "link").read_text() == "a"
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()


@chore
def change_files(workspace: Path) -> None:
    """Files of the repository that nothing protects."""
    path = workspace / "source/code.py"
    path.write_text("print('changed')\n")
    path.replace(workspace / "source/renamed.py")


@chore
def commit(workspace: Path) -> None:
    """A commit, a branch, a stash: git writes its index, its objects and its references."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.hooksPath=/dev/null")
    (workspace / "committed").write_text("1")
    run(*git, "add", "committed", directory=workspace)
    run(*git, "commit", "-q", "-m", "work", directory=workspace)
    run(*git, "checkout", "-q", "-b", "branch", directory=workspace)
    (workspace / "committed").write_text("2")
    run(*git, "stash", directory=workspace)
    assert "work" in run(*git, "log", "--oneline", directory=workspace)


@chore
def commit_in_worktree(workspace: Path) -> None:
    """A commit in a worktree of the repository."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.hooksPath=/dev/null")
    run(*git, "commit", "-q", "--allow-empty", "-m", "work", directory=workspace / "worktree")


@chore
def clone_elsewhere(workspace: Path) -> None:
    """A repository of its own in the temporary directory, hooks and settings included."""
    with tempfile.TemporaryDirectory() as name:
        run("git", "init", "-q", name)
        run("git", "config", "core.editor", "true", directory=Path(name))


@chore
def temporary_files(workspace: Path) -> None:
    """Temporary files, in TMPDIR and in /tmp."""
    for directory in (None, "/tmp"):
        with tempfile.NamedTemporaryFile(dir=directory) as file:
            file.write(b"text")


@chore
def read_system(workspace: Path) -> None:
    """The system's programs, settings and certificates."""
    assert "root" in Path("/etc/passwd").read_text()
    assert Path("/usr/bin/env").read_bytes()
    assert list(Path("/etc").iterdir())


@chore
def read_other_directories(workspace: Path) -> None:
    """Files of the user outside the workspace that are no secrets."""
    assert (workspace.parent / "other-project/.git/HEAD").read_text()


@chore
def standard_devices(workspace: Path) -> None:
    """/dev/null, /dev/zero, /dev/urandom, /dev/full and /dev/stdin."""
    Path("/dev/null").write_text("nothing")
    for name in ("zero", "urandom"):
        with Path("/dev", name).open("rb") as file:
            assert len(file.read(10)) == 10
    assert Path("/dev/stdin").exists()


@chore
def run_own_program(workspace: Path) -> None:
    """A script of the workspace, made executable."""
    script = workspace / "script"
    script.write_text("#!/bin/sh\necho works\n")
    script.chmod(0o755)
    assert run(str(script)) == "works\n"


@chore
def pipelines(workspace: Path) -> None:
    """A pipeline of a shell, with a process in the background."""
    assert run("sh", "-c", "seq 10 | sort -n | tail -n 1; sleep 0.01 & wait") == "10\n"


@chore
def use_threads(workspace: Path) -> None:
    """Threads."""
    results: list[int] = []
    threads = [threading.Thread(target=results.append, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(10))


@chore
def use_processes(workspace: Path) -> None:
    """A pool of processes, with semaphores in shared memory and results through pipes."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]


@chore
def signal_own_processes(workspace: Path) -> None:
    """A child, ended and awaited."""
    child = subprocess.Popen(["sleep", "20"])
    child.send_signal(signal.SIGTERM)
    assert child.wait(5) == -signal.SIGTERM


@chore
def own_session(workspace: Path) -> None:
    """A process group and a session of its own."""
    assert run("setsid", "sh", "-c", "echo works") == "works\n"


@chore
def event_loop(workspace: Path) -> None:
    """An event loop, which has a pair of sockets of its own, with a program that it starts."""

    async def work() -> bytes:
        process = await asyncio.create_subprocess_exec("echo", "works", stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0]

    assert asyncio.run(work()) == b"works\n"


@chore
def own_server(workspace: Path) -> None:
    """A server of the workspace on the loopback network, and its client."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        server, _ = listener.accept()
        with server:
            client.sendall(b"hello")
            assert server.recv(5) == b"hello"


@chore
def own_server_by_name(workspace: Path) -> None:
    """The same by the name `localhost`."""
    with socket.create_server(("localhost", 0)) as listener:
        socket.create_connection(("localhost", listener.getsockname()[1])).close()


@chore
def pair_of_sockets(workspace: Path) -> None:
    """A pair of connected sockets."""
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"hello")
        assert other.recv(5) == b"hello"


@chore
def own_terminal(workspace: Path) -> None:
    """A new terminal, as test tools and editors open one."""
    screen, terminal = os.openpty()
    os.write(terminal, b"hello")
    assert os.read(screen, 5) == b"hello"
    os.close(screen)
    os.close(terminal)


@chore
def terminal_of_user(workspace: Path) -> None:
    """The size and the settings of the terminal."""
    assert os.isatty(0)
    os.get_terminal_size(0)
    termios.tcsetattr(0, termios.TCSANOW, termios.tcgetattr(0))


@chore
def own_process_files(workspace: Path) -> None:
    """/proc of its own processes."""
    assert "Name:" in Path("/proc/self/status").read_text()
    assert os.cpu_count()
    child = subprocess.Popen(["sleep", "20"])
    try:
        assert "PPid:" in Path(f"/proc/{child.pid}/status").read_text()
    finally:
        child.kill()
        child.wait()


@chore
def data_base(workspace: Path) -> None:
    """A data base of SQLite with its locks and its shared memory."""
    with sqlite3.connect(workspace / "data.sqlite") as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table numbers (number int)")
    connection.close()


@chore
def locks_and_maps(workspace: Path) -> None:
    """Locks, mappings, memory files and pipes with a name."""
    path = workspace / "locked"
    with path.open("w+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096) as memory:
            memory[:4] = b"text"
    os.close(os.memfd_create("memory"))
    os.mkfifo(workspace / "fifo")


@chore
def permissions(workspace: Path) -> None:
    """Permissions and times of its own files."""
    path = workspace / "permissions"
    path.touch()
    path.chmod(0o640)
    os.utime(path, (1, 1))
    assert path.stat().st_mode & 0o777 == 0o640


def attempt(name: str, workspace: Path) -> dict[str, str]:
    """Do a chore and return its line."""
    try:
        CHORES[name](workspace)
    except Exception as error:  # noqa: BLE001 - the next chore is done too, and the test fails
        return {"name": name, "outcome": "failed", "detail": f"{type(error).__name__}: {error}"}
    return {"name": name, "outcome": "done", "detail": ""}


if __name__ == "__main__":
    for each in CHORES:
        sys.stdout.write(json.dumps(attempt(each, Path(sys.argv[1]))) + "\n")
