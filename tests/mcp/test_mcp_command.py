"""`ohw mcp` as a user types it."""

import json
import sys
import tomllib

from tests.mcp.conftest import FAKE, fake_server
from tests.sandbox import Sandbox, wait_for
from workbench.mcp.config import ServerConfig, find_servers
from workbench.mcp.pins import PinStore


def named(sandbox: Sandbox) -> ServerConfig:
    file = sandbox.locations.settings_file
    return find_servers(tomllib.loads(file.read_text())["mcpServers"], file, sandbox.project, ()).servers[0]


def test_server_is_added_tested_approved_and_removed(sandbox: Sandbox):
    options = json.dumps({"folder": str(sandbox.home)})
    added = sandbox.command("mcp", "--env", "FAKE_KEY=${OUTER}", "add", "fake", sys.executable, str(FAKE), options)
    assert added.returncode == 0, added.stderr
    assert "Test it with: ohw mcp test fake" in added.stdout
    assert 'FAKE_KEY = "${OUTER}"' in sandbox.locations.settings_file.read_text()
    assert "already exists; remove it first" in sandbox.command("mcp", "add", "fake", "x").stderr
    assert not (sandbox.home / "starts").exists()

    refused = sandbox.command("mcp", "test", "fake")
    assert (refused.returncode, "the environment variable OUTER is not set" in refused.stderr) == (1, True)
    assert "fake  failed: the MCP server fake cannot be used: the environment" in sandbox.command("mcp").stdout
    tried = sandbox.ohw("mcp", "test", "fake", OUTER="x")
    assert "failed" not in sandbox.command("mcp").stdout
    assert "3 tools, 1 prompt, 1 resource" in tried.stdout
    assert "destructive" in tried.stdout

    (sandbox.home / "tools.json").write_text(json.dumps([{"name": "echo", "inputSchema": {"type": "object"}}]))
    changed = sandbox.command("mcp", "test", "fake", OUTER="x").stdout
    assert '- "description": "Say the text again.",' in changed
    assert "the tool wipe is gone" in changed
    assert "changed: echo, peek, wipe" in sandbox.command("mcp").stdout
    mark = changed.split()[-1]
    assert changed.rstrip().endswith(f"approve them: ohw mcp approve fake {mark}")

    later = {"name": "echo", "description": "Run it.", "inputSchema": {"type": "object"}}  # after it was shown
    pins, server = PinStore(sandbox.locations), named(sandbox)
    pins.listed(server, [later])
    for arguments in ((), (mark,)):
        refused = sandbox.command("mcp", "approve", "fake", *arguments)
        assert refused.returncode != 0
        assert "changed since they were shown; review them first: ohw mcp changes fake" in refused.stderr
    assert set(pins.entry(server).waiting) == {"echo", "peek", "wipe"}
    pins.review_path(server).unlink()
    assert "were not shown yet" in sandbox.command("mcp", "approve", "fake").stderr
    output = sandbox.command("mcp", "changes", "fake").stdout
    assert '+ "description": "Run it."' in output
    assert output.split()[-1] != mark
    assert "approved: echo, peek, wipe" in sandbox.ohw("mcp", "approve", "fake").stdout
    assert "fake has no changes to approve" in sandbox.command("mcp", "changes", "fake").stdout
    assert "fake  1 tool" in sandbox.command("mcp", "list").stdout

    assert sandbox.command("mcp", "remove", "fake").returncode == 0
    assert "fake" not in sandbox.locations.settings_file.read_text()
    assert "No MCP servers" in sandbox.command("mcp").stdout
    wait_for(lambda: not sandbox.processes(), "everything to end")


def test_keys_in_urls_arguments_and_server_output_are_masked(sandbox: Sandbox):
    keys = ("k3y-0f-the-query-1", "k3y-0f-an-argument-2", "k3y-0f-the-env-3")
    arguments = ["import os, sys; sys.exit(os.environ['SOME_API_KEY'] + sys.argv[2])", "--api-key", keys[1]]
    results = [sandbox.command("mcp", "add", "far", f"https://example.org/mcp?api_key={keys[0]}&v=2")]
    near = ("--env", f"SOME_API_KEY={keys[2]}", "add", "near", "--", sys.executable, "-c", *arguments)
    results += [sandbox.command("mcp", *near)]
    results += [sandbox.command("mcp", "test", "near"), sandbox.command("mcp", "list")]
    texts = [each.stdout + each.stderr for each in results]
    assert all("‹secret " in text for text in texts), texts
    assert [key for key in keys if key in "".join(texts)] == []
    assert "v=2" in texts[-1]


def test_impossible_requests_are_reported_in_one_line(sandbox: Sandbox):
    assert "there is no MCP server 'x'" in sandbox.command("mcp", "test", "x").stderr
    assert "give a NAME" in sandbox.command("mcp", "add", "x").stderr
    assert "write NAME=VALUE" in sandbox.command("mcp", "--env", "A", "add", "x", "y").stderr
    (sandbox.project / ".mcp.json").write_text("{")
    done = sandbox.command("mcp")
    assert (done.returncode, "the directory is not trusted" in done.stdout) == (1, True)


def test_tools_command_lists_server_tools_and_starts_servers_only_on_request(sandbox: Sandbox):
    server = fake_server(sandbox.home)
    lines = ["[mcpServers.fake]", f"command = {json.dumps(server['command'])}", f"args = {json.dumps(server['args'])}"]
    lines += [
        "startTimeout = 60",
        "firstWait = 60",
        '[mcpServers.gone]\ncommand = "/no/such"',
        "[tools]",
        "wipe = false",
    ]
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text("\n".join(lines))
    (sandbox.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": fake_server(sandbox.home)}}))

    before = sandbox.command("tools")
    assert "MCP server fake        off: not started" in before.stdout
    assert "the directory is not trusted" in before.stderr
    assert not (sandbox.home / "starts").exists()

    asked = sandbox.command("tools", "--mcp")
    assert "echo                   on: of the MCP server fake" in asked.stdout
    assert "text (string; " in asked.stdout
    assert "the MCP server gone cannot be used" in asked.stderr
    assert (sandbox.home / "starts").stat().st_size == 1

    after = sandbox.command("tools", "--json")
    listed = {tool["function"]["name"]: tool for tool in json.loads(after.stdout) if tool["why"].endswith("fake")}
    assert listed["echo"]["on"] is True
    assert "wipe" not in listed
    assert '"wipe"' in after.stdout
    assert "unknown" not in after.stderr
    assert (sandbox.home / "starts").stat().st_size == 1
    wait_for(lambda: not sandbox.processes(), "everything to end")


def test_list_names_packages_downloaded_without_a_version(sandbox: Sandbox):
    for name, words in (("open", ("uvx", "mcp-server-time")), ("fixed", ("npx", "-y", "server@1.2.3"))):
        assert sandbox.command("mcp", "add", name, *words).returncode == 0
    listed = sandbox.command("mcp").stdout
    assert "uvx mcp-server-time\n  from " in listed
    assert listed.count("not pinned: ") == 1
    assert "not pinned: mcp-server-time is downloaded without a version" in listed
