"""Another machine: this one with another home, behind a real sshd, and a link to it that can be cut."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.sandbox import Sandbox

SSHD = "/usr/sbin/sshd"


class Link:
    """Forwards connections of a port on 127.0.0.1 to another, until it is cut."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener: socket.socket | None = None
        self._is_frozen = threading.Event()
        self.delay = 0.0
        """Seconds that each piece takes, in each direction."""
        self.port = free_port()
        self.restore()

    def restore(self) -> None:
        """Accept connections, again."""
        self._is_frozen.clear()
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """End all connections, and accept none."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # Wakes the thread that accepts, which holds the port.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for pair in self._pairs:
            for each in pair:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def freeze(self) -> None:
        """Pass on nothing more, as if a laptop slept: neither side notices."""
        self._is_frozen.set()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._target)) as far:
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pairs.append((near, far))
            back = threading.Thread(target=self._pass_on, args=(far, near), daemon=True)
            back.start()
            self._pass_on(near, far)
            back.join()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if self.delay:
                    time.sleep(self.delay)
                if not self._is_frozen.is_set():
                    target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass
class FarMachine:
    """A user's account on another machine, named `far` in the ssh configuration of `near`."""

    near: Sandbox
    user: Sandbox
    directory: Path
    programs: Path
    link: Link

    @property
    def url(self) -> str:
        """The URL of the project there."""
        return f"ssh://far{self.user.project}"

    def new_host_key(self) -> None:
        """Let the machine be another one as far as ssh can see, from its next connection on."""
        known = self.directory / "known_hosts"
        other = self.directory / "other"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
        known.write_text(_known(self.link.port, other))

    def set(self, **variables: str) -> None:
        """Set variables of the user there, for connections from now on."""
        self.user.env.update(variables)
        _write_login(self.user, self.directory, self.programs)

    def uninstall(self) -> None:
        """Remove the command `ohw`."""
        (self.programs / "ohw").unlink()
        self.set(PATH="/usr/bin:/bin")

    def install(self, script: str) -> None:
        """Let `ohw` be this shell script."""
        self.add("ohw", script)

    def add(self, name: str, script: str) -> None:
        """Install a program that is this shell script."""
        _write_program(self.programs / name, script)

    def ssh_processes(self) -> list[int]:
        """Return the pids of the running clients of ssh."""
        config = str(self.directory / "ssh_config")
        listed = subprocess.run(["pgrep", "-f", f"ssh -F {config}"], capture_output=True, text=True).stdout
        return [int(line) for line in listed.split()]


def start_far_machine(near: Sandbox, user: Sandbox, directory: Path) -> tuple[FarMachine, subprocess.Popen[bytes]]:
    """Start a server for the user, and give the near one a client that knows it; return both."""
    directory.mkdir(mode=0o700)
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True)
    shutil.copy(directory / "key.pub", directory / "authorized_keys")
    programs = directory / "programs"
    programs.mkdir()
    _write_program(programs / "ohw", f'exec {shlex.quote(sys.executable)} -m workbench "$@"')
    port = free_port()
    sshd = _start_sshd(user, directory, programs, port)
    # After the server listens, so that its port is not chosen for the link too.
    link = Link(port)
    (directory / "known_hosts").write_text(_known(link.port, directory / "host"))
    (directory / "ssh_config").write_text(
        f"""Host far
HostName 127.0.0.1
Port {link.port}
IdentityFile {directory}/key
IdentitiesOnly yes
UserKnownHostsFile {directory}/known_hosts
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
"""
    )
    client = directory / "client"
    client.mkdir()
    _write_program(client / "ssh", f'exec {shutil.which("ssh")} -F {directory}/ssh_config "$@"')
    near.env["PATH"] = f"{client}:{near.env['PATH']}"
    return FarMachine(near, user, directory, programs, link), sshd


def _start_sshd(user: Sandbox, directory: Path, programs: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the server; the shell that it starts reads the files of the user's home there, not of the home here."""
    _write_login(user, directory, programs)
    (directory / "sshd_config").write_text(
        f"""Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host
AuthorizedKeysFile {directory}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
ForceCommand {directory}/login
SetEnv HOME={user.home}
LogLevel ERROR
"""
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", str(directory / "sshd_config")], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return sshd
        except OSError:
            assert sshd.poll() is None, "sshd has ended"
            assert time.monotonic() < until, "sshd does not listen"
            time.sleep(0.02)


def _write_login(user: Sandbox, directory: Path, programs: Path) -> None:
    """Let the server set what a login of the user would set: the home, and the variables of the test's user."""
    variables = {**user.env, "PATH": f"{programs}:{user.env['PATH']}"}
    words = " ".join(shlex.quote(f"{name}={value}") for name, value in variables.items())
    _write_program(directory / "login", f'cd; exec env -i {words} sh -c "$SSH_ORIGINAL_COMMAND"')


def _known(port: int, key: Path) -> str:
    return f"[127.0.0.1]:{port} {key.with_suffix('.pub').read_text()}"


def _write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
