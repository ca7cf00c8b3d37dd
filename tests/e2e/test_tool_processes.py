"""Servers, cells and the browser cost nothing before use, start nothing before trust, and leave no process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.mcp.conftest import fake_server
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from tests.tools.browser.conftest import chromium
from tests.tools.web.site import Site
from workbench.mcp.config import find_servers
from workbench.mcp.pins import PinStore

__all__ = ["chromium"]
pytestmark = pytest.mark.timeout(400)  # a Chromium may have to be installed first

HEAVY = ("mcp", "mcp_types", "playwright", "IPython", "httpx2", "openapi_pydantic", "markdownify", "pypdf")
ALL_ON = "[tools]\nexecute_ipython_cell = true\nbrowser = true\n"
ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
CHILD = """
import subprocess
subprocess.Popen(["sleep", "701"], start_new_session=True)
"""


@pytest.fixture
def watched(sandbox: Sandbox) -> Path:
    """Make every Python process of the user record what it imports and starts."""
    directory = sandbox.home / "watched"
    directory.mkdir()
    sandbox.env |= {"WATCHED": str(directory), "PYTHONPATH": str(Path(__file__).parents[1] / "fakes/watched")}
    return directory


def noted(directory: Path, what: str) -> set[str]:
    lines = [line for file in directory.iterdir() for line in file.read_text().splitlines()]
    return {line.partition(" ")[2] for line in lines if line.startswith(f"{what} ")}


def settings(sandbox: Sandbox, text: str) -> None:
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text(text)


def ten_known_servers(sandbox: Sandbox) -> str:
    """Return the settings of servers whose tools are known from an earlier start."""
    settings = {f"server{number}": fake_server(sandbox.home) for number in range(10)}
    servers = find_servers(settings, sandbox.locations.settings_file, sandbox.project, [])
    for server in servers.servers:
        PinStore(sandbox.locations).listed(server, [{**ECHO, "name": f"{server.name}_say"}])
    lines = [
        f"[mcpServers.{name}]\ncommand = {json.dumps(server['command'])}\nargs = {json.dumps(server['args'])}\n"
        f"startTimeout = {server['startTimeout']}\nfirstWait = 60\n"
        for name, server in settings.items()
    ]
    return "\n".join(lines)


def test_network_libraries_are_not_loaded_before_use(sandbox: Sandbox, watched: Path):
    settings(sandbox, ten_known_servers(sandbox) + ALL_ON)
    done = sandbox.ohw("run", "go", "--model", sandbox.script(bash("true"), finish()))
    assert done.returncode == 0, done.stderr
    assert noted(watched, "load") & {"textual", "litellm", *HEAVY} == set()
    assert "pydantic" in noted(watched, "load")  # proof that the recorder works
    with Terminal(
        ["--workspace", str(sandbox.project), "--model", sandbox.script(finish("All done."))], 120, 40, sandbox.env
    ) as screen:
        screen.wait_for("Ask anything")
        screen.type("go")
        screen.press("enter")
        screen.wait_for("All done.", 60)
        screen.press("ctrl+q")
        assert screen.wait_exit() == 0
    assert "textual" in noted(watched, "load")
    assert noted(watched, "load") & set(HEAVY) == set()
    assert not (sandbox.home / "starts").exists()
    call = {"tool": "server3_say", "risk": "LOW", "arguments": {"text": "hello"}}
    cell = {"tool": "execute_ipython_cell", "risk": "LOW", "arguments": {"code": "1"}}
    done = sandbox.ohw("run", "go", "--model", sandbox.script(call, cell, finish()), "--mode", "never")
    assert done.returncode == 0, done.stderr
    assert noted(watched, "load") & set(HEAVY) == {"mcp", "mcp_types", "httpx2", "IPython"}
    assert (sandbox.home / "starts").stat().st_size == 1


def test_no_process_starts_before_trust(sandbox: Sandbox, watched: Path):
    subprocess.run(["git", "init", "-q", str(sandbox.project)], check=True)
    hook = sandbox.home / "hook-ran"
    (sandbox.project / ".git/config").write_text(
        f"[core]\n\tfsmonitor = touch {hook}\n[diff]\n\texternal = touch {hook}\n"
    )
    (sandbox.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"fake": fake_server(sandbox.home)}}))
    tools = sandbox.project / ".ohw/tools"
    tools.mkdir(parents=True)
    (tools / "own.py").write_text(f"import pathlib\npathlib.Path({str(hook)!r}).touch()\n")
    settings(sandbox, ALL_ON)
    sandbox.env["OHW_MODEL"] = sandbox.script(finish("All done."))
    with Terminal(["--workspace", str(sandbox.project)], 120, 40, sandbox.env) as screen:
        screen.wait_for("Trust this directory?")
        screen.type("a message that waits")  # time passes while the screen works
        screen.wait_for("a message that waits")
        assert noted(watched, "start") == set()
        assert psutil.Process(screen.pid).children(recursive=True) == []
        assert [process.pid for process in sandbox.processes()] == [screen.pid]
        screen.press("ctrl+q")
        assert screen.wait_exit() == 0
    assert not hook.exists()
    assert not (sandbox.home / "starts").exists()
    wait_for(lambda: not sandbox.processes(), "everything to end")


@pytest.mark.parametrize("is_killed", [True, False])
def test_no_process_is_left_even_after_a_kill(sandbox: Sandbox, chromium: str, is_killed: bool):
    """A server, a cell and a command each have a child that left its session; the browser has children of its own."""
    stays = fake_server(sandbox.home, {"stays": True})
    server = f"[mcpServers.fake]\ncommand = {json.dumps(stays['command'])}\nargs = {json.dumps(stays['args'])}\n"
    settings(sandbox, f"{server}startTimeout = 60\nfirstWait = 60\n{ALL_ON}")
    last = [bash("touch reached; sleep 703")] if is_killed else [bash("touch reached"), finish("All done.")]
    with Site({"/": lambda visit: visit.answer(b"<title>Shop</title><p>Words</p>")}) as site:
        sandbox.env["OHW_MODEL"] = sandbox.script(
            {"tool": "echo", "risk": "LOW", "arguments": {"text": "child"}},
            {"tool": "execute_ipython_cell", "risk": "LOW", "arguments": {"code": CHILD}},
            {"tool": "browser", "risk": "LOW", "arguments": {"code": f"goto('{site.url()}')"}},
            bash("setsid -f sleep 702"),
            *last,
        )
        with Terminal(["--workspace", str(sandbox.project), "--mode", "never", "go"], 120, 40, sandbox.env) as screen:
            screen.never_ask()
            wait_for((sandbox.project / "reached").exists, "the last command", 150)
            engine = sandbox.engine()
            running = engine.children(recursive=True)
            frames = []
            for process in running:
                with contextlib.suppress(psutil.NoSuchProcess):  # a short-lived process of the browser's
                    frames.append(" ".join(process.cmdline()))
            for mark in ("sleep 600", "sleep 701", "sleep 702", "mcp_server.py", "--type=zygote", "--type=renderer"):
                assert any(mark in line for line in frames), (mark, frames)
            if is_killed:
                os.kill(engine.pid, signal.SIGKILL)
                wait_for(
                    lambda: [each.pid for each in sandbox.processes()] == [screen.pid], "all but the screen to end"
                )
            else:
                screen.wait_for("All done.", 60)
            screen.press("ctrl+q")
            assert screen.wait_exit() == 0
    wait_for(lambda: not sandbox.processes() and not any(map(lives, running)), "everything to end")


def lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
