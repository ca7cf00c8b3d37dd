"""`ohw serve` as a command: its warning, and what it says if it cannot serve."""

from __future__ import annotations

import errno
import importlib.util
import shlex
import socket
import sys

import pexpect
import pytest

from tests.sandbox import Sandbox
from workbench.errors import UsageError
from workbench.serve.listener import listen


def test_address_that_others_reach_is_warned_about(sandbox: Sandbox):
    process = sandbox.start("serve", "--host", "0.0.0.0", "--port", "0")
    warning = process.stderr.readline()
    assert "can be reached from other machines" in warning
    link = "".join(process.stdout.readline() for _ in range(2))
    port = link.partition("http://127.0.0.1:")[2].partition("/")[0]
    assert f"ssh -L {port}:127.0.0.1:{port} " in warning
    process.terminate()
    process.communicate()
    assert process.returncode == 0


def test_missing_extra_and_a_port_in_use_are_one_line(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = sandbox.command("serve", "--port", str(other.getsockname()[1]))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("is in use; --port 0 takes a free one\n")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "textual_serve" else find_spec(name, *more)
    )
    done = sandbox.command("serve")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "uv tool install '.[web]'" in done.stderr


@pytest.mark.parametrize(
    ("host", "advice"),
    [("192.0.2.1", "is not an address of this machine"), ("nowhere.invalid", "there is no host nowhere.invalid")],
)
def test_address_that_is_not_ours_is_refused_with_advice(host: str, advice: str):
    with pytest.raises(UsageError, match=advice) as refused:
        listen(host, 0)
    assert str(refused.value).count(host) == 1


def test_port_of_root_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch):
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(UsageError, match="only root may listen on port 80; use one from 1024"):
        listen("127.0.0.1", 80)


def test_job_in_the_background_of_a_shell_serves_and_does_not_read(sandbox: Sandbox):
    command = f"{shlex.quote(sys.executable)} -m workbench serve --port 0"
    shell = pexpect.spawn(
        "bash", ["--norc", "-i"], cwd=str(sandbox.project), env=sandbox.env, encoding="utf-8", timeout=40
    )
    shell.sendline(f"{command} & sleep 1000")
    shell.expect("http://127.0.0.1:[0-9]+/")
    shell.sendline("")
    shell.sendintr()
    shell.sendline("jobs")
    shell.expect("Running .*serve")
    shell.sendline("fg")
    shell.expect("serve --port 0")
    shell.sendline("")
    shell.expect("Enter: another link")
    shell.sendintr()
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
    assert shell.wait() == 0


def test_no_other_process_may_trace_the_server(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    forbidden = []
    monkeypatch.setattr("workbench.engine.sockets.forbid_tracing", lambda: forbidden.append(True))
    with socket.create_server(("127.0.0.1", 0)) as other:
        sandbox.command("serve", "--port", str(other.getsockname()[1]))
    assert forbidden == [True]
