"""MCP servers in whole runs of the real program, against a real model server."""

import json
import subprocess

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.fakes.model_turns import finish as finish_turn
from tests.mcp.conftest import fake_server
from tests.sandbox import Sandbox, wait_for

CLASH = [
    {"name": "grep", "description": "Theirs.", "inputSchema": {"type": "object"}},
    {"name": "wipe", "inputSchema": {"type": "object"}},
    {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
]


def call(tool: str, text: str) -> Turn:
    return Turn("I call.", calls=(Called(tool, {"security_risk": "LOW", "summary": "Try", "text": text}),))


def bring(sandbox: Sandbox, options=None, **more) -> None:
    """Configure servers in the directory itself."""
    settings = {"mcpServers": {"fake": fake_server(sandbox.home, options, **more)}}
    (sandbox.project / ".mcp.json").write_text(json.dumps(settings))


def settings(sandbox: Sandbox, text: str) -> None:
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text(text)


def run(sandbox: Sandbox, *turns: Turn, mode: str = "medium", **env: str):
    with ModelServer([*turns, finish_turn("Done.")]) as server:
        options = ("--model", "openai/x", "--api-base", server.base_url, "--mode", mode, "--json")
        done = sandbox.agent("run", "go", *options, **env)
        requests = server.requests
    return done, [json.loads(line) for line in done.stdout.splitlines()], requests


def offered(request) -> dict[str, dict]:
    return {tool["function"]["name"]: tool["function"] for tool in request.body["tools"]}


def results(events) -> str:
    return json.dumps([event["observation"] for event in events if event["kind"] == "action_observed"])


def test_projects_server_does_not_start_before_trust(sandbox: Sandbox):
    bring(sandbox)
    done, _, requests = run(sandbox)
    assert done.returncode == 0, done.stderr
    assert "the MCP servers in" in done.stderr
    assert "the directory is not trusted" in done.stderr
    assert "echo" not in offered(requests[0])
    assert not (sandbox.home / "starts").exists()


def approve(sandbox: Sandbox, **env: str) -> str:
    """Show what the server offers and approve it; return what was shown."""
    assert sandbox.command("mcp", "test", "fake", **env).returncode == 0
    output = sandbox.command("mcp", "changes", "fake").stdout
    assert "approved:" in sandbox.command("mcp", "approve", "fake").stdout
    return output


@pytest.mark.parametrize(("mode", "code"), [("medium", 3), ("high", 0), ("plan", 0)])
def test_read_only_hint_is_ignored_until_the_user_approves_the_tool(sandbox: Sandbox, mode: str, code: int):
    bring(sandbox)
    settings(sandbox, f'trusted = ["{sandbox.project}"]\n')
    done, events, requests = run(sandbox, call("peek", "environment"), mode=mode)
    assert done.returncode == code, done.stderr
    if mode == "plan":
        assert "peek" not in offered(requests[0])
    else:
        assert "security_risk" in offered(requests[0])["peek"]["parameters"]["properties"]
    assessed = next(event for event in events if event["kind"] == "action_assessed")
    assert assessed["risk"] == "MEDIUM"
    if mode == "plan":
        assert "in plan mode only calls that change nothing" in results(events)
    assert "the tool peek says that it only reads" in approve(sandbox)
    done, events, requests = run(sandbox, call("peek", "environment"), mode=mode)
    assert done.returncode == 0, done.stderr
    assert "security_risk" not in offered(requests[0])["peek"]["parameters"]["properties"]
    assert "PATH" in results(events)


def test_tools_of_a_trusted_projects_server_are_rated_by_hints_and_leave_no_process(sandbox: Sandbox):
    bring(sandbox, env={"FAKE_TOKEN": "${OUTSIDE_TOKEN}", "PLAIN": "${NOT_SET:-usual}"})
    settings(sandbox, f'trusted = ["{sandbox.project}"]\n')
    approve(sandbox, OUTSIDE_TOKEN="tok-1234567890")
    turns = (call("peek", "environment"), call("peek", "child"), call("echo", "hello"))
    done, events, requests = run(sandbox, *turns, OUTSIDE_TOKEN="tok-1234567890", MY_API_KEY="sk-other-key-123")
    assert done.returncode == 3, done.stderr
    tools = offered(requests[0])
    assert "security_risk" in tools["echo"]["parameters"]["properties"]
    assert "security_risk" not in tools["peek"]["parameters"]["properties"]
    seen = results(events)
    assert "FAKE_TOKEN" in seen
    assert "usual" in seen
    assert "tok-1234567890" not in done.stdout + json.dumps([request.body for request in requests])
    assert "sk-other-key-123" not in done.stdout
    question = next(event for event in events if event["kind"] == "action_assessed" and event["needs_decision"])
    assert (question["risk"], question["reasons"]) == (
        "MEDIUM",
        ["a tool of another program: echo of the MCP server fake"],
    )
    wait_for(lambda: not sandbox.processes(), "everything to end")


def test_name_conflicts_add_the_servers_name_and_settings_disable_tools(sandbox: Sandbox):
    (sandbox.home / "tools.json").write_text(json.dumps(CLASH))
    server = fake_server(sandbox.home)
    lines = [f"[mcpServers.{name}]\ncommand = {json.dumps(server['command'])}" for name in ("one", "two")]
    arguments = f"args = {json.dumps(server['args'])}\nstartTimeout = 60\nfirstWait = 60"
    settings(sandbox, "\n".join(f"{line}\n{arguments}" for line in lines) + "\n[tools]\none_wipe = false\n")
    done, events, requests = run(sandbox, call("two_echo", "hello"), mode="never")
    assert done.returncode == 0, done.stderr
    tools = offered(requests[0])
    assert {"grep", "one_grep", "two_grep", "one_echo", "two_echo", "two_wipe"} <= set(tools)
    assert "Theirs." in tools["one_grep"]["description"]
    assert "echo: hello" in results(events)
    again, _, requests = run(sandbox, mode="never")
    assert "one_wipe" not in again.stderr
    assert "one_wipe" not in offered(requests[0])
    assert (sandbox.home / "starts").stat().st_size == 2  # known tools are offered without a running server


def test_failing_server_is_a_warning_and_delays_nothing(sandbox: Sandbox):
    settings(
        sandbox,
        '[mcpServers.gone]\ncommand = "/no/such"\nfirstWait = 60\n[mcpServers.odd]\ncommand = "x"\ncolour = "red"\n',
    )
    done, _, requests = run(sandbox)
    assert done.returncode == 0, done.stderr
    assert "the MCP server odd of" in done.stderr
    assert "`colour` is not used" in done.stderr
    assert (
        "the MCP server gone cannot be used: it ended before it responded; it wrote: /no/such: No such" in done.stderr
    )
    assert len(requests) == 1
    again, _, _ = run(sandbox)
    assert again.stderr.count("the MCP server gone cannot be used") == 1  # it is not known to work yet


def test_killing_the_engine_ends_servers_and_their_children(sandbox: Sandbox):
    bring(sandbox, options={"stays": True})
    settings(sandbox, f'trusted = ["{sandbox.project}"]\n')
    with ModelServer([call("peek", "child"), call("peek", "hang")]) as server:
        command = ("run", "go", "--model", "openai/x", "--api-base", server.base_url, "--mode", "never")
        process = sandbox.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        calls = sandbox.home / "calls"
        wait_for(lambda: calls.exists() and calls.stat().st_size == 2, "the second call")
        assert any("mcp_server.py" in " ".join(each.cmdline()) for each in sandbox.processes())
        process.kill()
        process.wait()
        wait_for(lambda: not sandbox.processes(), "everything to end")
