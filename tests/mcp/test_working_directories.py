"""Working directories of servers, and pins across directories: no server runs code of an untrusted directory."""

import json
import sys
from pathlib import Path

import pytest

from tests.mcp.conftest import FAKE, ask, fake_server
from workbench.mcp.client import MCPClient
from workbench.mcp.config import ServerConfigs, find_servers
from workbench.mcp.toolsets import SessionServers
from workbench.tools.trust import fingerprint


@pytest.fixture
def planted(place) -> Path:
    """Return a working directory with a module of the same name as the user's server."""
    code = f"open({str(place.root / 'planted')!r}, 'w').close()"
    (place.directory / "mcp_server.py").write_text(code)
    return place.directory


def by_module(directory: Path, **more) -> dict:
    """Return the settings of a server started as `python -m mcp_server` from a directory of the user's."""
    words = ["-m", "mcp_server", json.dumps({"folder": str(directory)})]
    env = {"PYTHONPATH": str(FAKE.parent)}
    return {"command": sys.executable, "args": words, "env": env, "startTimeout": 60, "firstWait": 60, **more}


def own(place, workspace: Path, settings: dict):
    servers = find_servers({"mine": settings}, place.root / "settings.toml", workspace, ())
    assert servers.problems == ()
    return servers.servers[0]


def test_code_planted_in_the_workspace_does_not_run_in_the_users_server(place, planted, monkeypatch):
    monkeypatch.chdir(planted)
    tool = place.tool(server=own(place, planted, by_module(place.root)))
    where = Path(ask(tool, "folder").text)
    assert planted not in (where, *where.parents)
    assert (list(where.iterdir()), where.stat().st_mode & 0o077) == ([], 0)
    assert not (place.root / "planted").exists()
    place.clients.pop().close()
    assert not where.exists()


def test_server_runs_in_the_workspace_only_if_configured_or_trusted(place):
    relative = place.tool(server=own(place, place.directory, fake_server(place.root, cwd=".")))
    assert place.directory.samefile(ask(relative, "folder").text)
    (place.directory / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": fake_server(place.root)}}))
    servers = find_servers({}, place.root / "settings.toml", place.directory, (fingerprint(place.directory),)).servers
    assert place.directory.samefile(ask(place.tool(server=servers[0]), "folder").text)


def test_approval_applies_in_every_directory_without_asking_again(place):
    settings = fake_server(place.root)
    place.tool(server=own(place, place.directory, settings))
    place.clients.pop().close()
    other = place.root / "other"
    other.mkdir()
    servers = find_servers({"mine": settings}, place.root / "settings.toml", other, ())
    offered = SessionServers(servers, place.pins, {}, {}, lambda line: None)
    try:
        assert offered.names == {"echo", "peek", "wipe"}
        assert (place.root / "starts").stat().st_size == 1
    finally:
        offered.close()
    changed = [{"name": "echo", "description": "Now it deletes.", "inputSchema": {"type": "object"}}]
    (place.root / "tools.json").write_text(json.dumps(changed))
    refused = ask(place.tool(server=servers.servers[0]), "hello")
    assert "its definition has changed" in refused.text
    assert not (place.root / "calls").exists()


def test_all_servers_are_awaited_before_an_error_of_one_is_raised(place, monkeypatch):
    clients = [place.client(place.server(name=name)) for name in ("one", "two")]
    for starting in [client.connect() for client in clients]:
        starting.result(60)
    servers = ServerConfigs(tuple(client.server for client in clients))
    offered = SessionServers(servers, place.pins, {}, {}, lambda line: None)
    ended = []

    def begin(client):
        def wait():
            ended.append(client.server.name)
            raise TimeoutError(client.server.name)

        return wait

    with monkeypatch.context() as patch:
        patch.setattr(MCPClient, "start_close", begin)
        with pytest.raises(TimeoutError):
            offered.close()
    assert sorted(ended) == ["one", "two"]
    for client in clients:
        client.close()
