"""Servers that a session starts on the other machine are listed with the command that leads to them."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.request import urlopen

from tests.remote.far_machine import FarMachine, free_port
from tests.remote.screens import events_there, lines_here, lines_there, quit_screen, send, started
from tests.sandbox import finish, wait_for
from tests.system_packages import found_or_installed
from tests.terminal.terminal import Terminal
from workbench.client.ssh_url import SshUrl
from workbench.protocol.live import ListeningPort, ListeningPorts
from workbench.view.ports import ports_text

NOTHING = "no program that the session's shell has started listens"


def serve(terminal: Terminal, port: int, host: str = "127.0.0.1", *, options: str = "") -> None:
    """Start a server in the session's shell, in the background; `options` are those of Python."""
    terminal.type(f"!{sys.executable} {options} -m http.server {port} --bind {host} >/dev/null 2>&1 &")
    terminal.press("enter")
    terminal.wait_for("$ ")


def is_answered(port: int) -> bool:
    """Return whether a server listens at the port of this machine."""
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def forwarded(far: FarMachine, command: str, theirs: int) -> Iterator[int]:
    """Run the command as it is shown, but with a port here that is free: both machines of the test are this one."""
    ours = free_port()
    assert f" {theirs}:localhost:{theirs} " in command
    words = command.replace(f" {theirs}:", f" {ours}:", 1)
    process = subprocess.Popen(["sh", "-c", f"exec {words}"], env=far.near.env)
    try:
        wait_for(lambda: is_answered(ours), "ssh to forward the port")
        yield ours
    finally:
        process.kill()
        process.wait()


def test_a_server_is_listed_until_it_ends_and_the_shown_command_leads_to_it(far: FarMachine):
    (far.user.project / "page.txt").write_text("from there\n")
    port = free_port()
    with closing(socket.create_server(("127.0.0.1", 0))) as other, started(far, far.user.script(finish())) as terminal:
        send(terminal, "begin")
        terminal.wait_for("Finished")
        send(terminal, "/sandbox")
        terminal.wait_for(NOTHING)
        terminal.press("q")
        serve(terminal, port)
        wait_for(lambda: is_answered(port), "the server to listen")
        send(terminal, "/sandbox")
        shown = terminal.wait_for("ssh -N -L")
        assert f"-m http.server {port}" in shown
        assert str(other.getsockname()[1]) not in shown
        terminal.wait_for(" 9 lines")
        (command,) = re.findall(r"ssh -N -L \S+ \S+", shown)
        with forwarded(far, command, port) as ours, urlopen(f"http://localhost:{ours}/page.txt") as page:
            assert page.read() == b"from there\n"
        (server,) = [each for each in far.user.processes() if "http.server" in each.cmdline()]
        server.kill()
        terminal.wait_for(NOTHING)
        terminal.press("q")
        quit_screen(terminal)
    assert lines_here(far) == lines_there(far)
    assert not any("port" in event.kind for event in events_there(far))


def test_a_key_in_the_command_of_a_server_is_masked_and_also_where_the_line_is_cut(far: FarMachine):
    key, port, other = "ghp_" + "1aB2" * 9, free_port(), free_port()
    # The command is cut at 200 characters, ten of which belong to the key.
    padding = "x" * (190 - len(f"{sys.executable} -X  -X note="))
    with started(far, far.user.script(finish())) as terminal:
        serve(terminal, port, options=f"-X note={key}")
        serve(terminal, other, options=f"-X {padding} -X note={key}")
        wait_for(lambda: is_answered(port) and is_answered(other), "the servers to listen")
        send(terminal, "/sandbox")
        shown = "".join(terminal.wait_for(f":localhost:{max(port, other)}").split())
        assert "note=‹secret" in shown
        assert padding in shown
        assert "ghp_" not in shown
        terminal.press("q")
        quit_screen(terminal)


def test_a_server_in_the_network_of_the_sandbox_is_not_said_to_be_in_reach(far: FarMachine):
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    far.set(OHW_SANDBOX="workspace-write")
    port = free_port()
    with started(far, far.user.script(finish())) as terminal:
        serve(terminal, port)
        send(terminal, "/sandbox")
        shown = terminal.wait_for("which has a network of its own")
        assert f"-m http.server {port}" in shown
        assert "ssh -N" not in shown
        terminal.press("q")
        quit_screen(terminal)


def test_the_command_names_the_port_of_ssh_and_an_address_and_needs_no_root_here():
    url = SshUrl.parse("ssh://me@far:2222/srv")
    assert url.forwarding(8000, "localhost") == "ssh -N -L 8000:localhost:8000 -p 2222 me@far"
    assert url.forwarding(80, "[::1]") == "ssh -N -L '8080:[::1]:80' -p 2222 me@far"


def test_what_the_other_machine_says_is_shown_safely():
    answer = ListeningPorts(ports=(ListeningPort(port=8000, host="x; touch y", program="serve\x1b[2J\nnext"),))
    shown = ports_text(answer, SshUrl.parse("ssh://far/srv"))
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 5
    assert "ssh -N -L '8000:x; touch y:8000' far" in shown
