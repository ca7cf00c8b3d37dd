"""Configurations as other programs write them: every server loads, what has no effect is named, nothing lowers an
approval."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.mcp.config import (
    ServerConfig,
    ServerConfigs,
    expanded,
    find_servers,
    read_file,
    read_server,
    secrets_of,
    server_environment,
    variables_of,
)
from workbench.tools.trust import fingerprint

FILES = Path(__file__).parent / "configs"
URL = "https://mcp.example.com/mcp"


def loaded(name: str, workspace: Path) -> ServerConfigs:
    """Return the servers of a file, read as the `.mcp.json` of a trusted directory."""
    (workspace / ".mcp.json").write_bytes((FILES / name).read_bytes())
    return find_servers({}, workspace / "settings.toml", workspace, [fingerprint(workspace)])


EXPECTED: dict[str, tuple[dict[str, tuple[str, str, bool]], list[str]]] = {
    "claude-code.json": (
        {
            "github": ("http", "https://api.githubcopilot.com/mcp/", True),
            "db": ("stdio", "npx -y @bytebase/dbhub --dsn ${DB_URL:-sqlite:///x}", True),
            "helper": ("http", URL, True),
            "sign-in": ("http", "https://mcp.example.com/other", True),
            "socket": ("http", "wss://mcp.example.com/socket", False),
        },
        ["`timeout` is read as milliseconds, 600 s", "`headersHelper` is", "`oauth.authServerMetadataUrl`", "'ws'"],
    ),
    "claude-desktop.json": (
        {
            "filesystem": ("stdio", "npx -y @modelcontextprotocol/server-filesystem /tmp", True),
            "my-server": ("stdio", "uvx mcp-server-time", True),
        },
        ["'my server'"],
    ),
    "cursor.json": (
        {
            "local": ("stdio", "${userHome}/bin/server ${workspaceFolder} --port 8080", True),
            "remote": ("http", URL, True),
        },
        ["`envFile` is", "`auth.scopes` is"],
    ),
    "vscode.json": (
        {
            "github": ("http", "https://api.githubcopilot.com/mcp/", True),
            "playwright": ("stdio", "npx -y @microsoft/mcp-server-playwright", True),
        },
        ["`gallery`, `version` are", "`dev` is"],
    ),
    "fastmcp.json": (
        {
            "weather": ("http", "https://weather.example.com/mcp", True),
            "assistant": ("stdio", "python ./assistant.py", True),
            "signed": ("http", URL, True),
        },
        ["`icon` is not used; `timeout` is read as milliseconds, 30 s", "`tools.search`, `include_tags` are"],
    ),
    "goose.json": (
        {
            "fetch": ("stdio", "uvx mcp-server-fetch", True),
            "remote": ("http", URL, False),
            "developer": ("http", "", False),
        },
        ["its type 'builtin' is not supported"],
    ),
    "cline.json": (
        {"tracker": ("stdio", "npx -y tracker", True), "remote": ("http", URL, True)},
        ["`autoApprove` is without effect", "`alwaysAllow` is without effect"],
    ),
    "roo.json": (
        {"tracker": ("stdio", "npx -y tracker two words", True)},
        ["`alwaysAllow` is without effect: what may run is decided here; `watchPaths` is not used"],
    ),
    "windsurf.json": (
        {"figma": ("http", "https://figma.example.com/sse", True), "empty": ("stdio", "run", True)},
        [],
    ),
    "gemini.json": (
        {"local": ("stdio", "node server.js", True), "remote": ("http", URL, True)},
        ["`trust` is without effect", "`authProviderType` is not used"],
    ),
    "zed.json": ({"custom": ("stdio", "run --x", True), "nested": ("stdio", "run --y", True)}, ["`settings` is"]),
    "opencode.json": ({"local": ("stdio", "npx -y server", True), "remote": ("http", URL, True)}, []),
    "codex.json": (
        {"local": ("stdio", "run", True), "remote": ("http", URL, True)},
        ["`default_tools_approval_mode` is without effect"],
    ),
    "list.json": ({"a": ("stdio", "run", True)}, ["`token` is"]),
    "bare.json": (
        {"scope-pkg": ("stdio", "run", True), "scope-pkg-2": ("http", URL, True)},
        ["'@scope/pkg'", "milliseconds"],
    ),
}


def test_each_file_is_expected():
    assert {file.name for file in FILES.iterdir()} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED, ids=[name.removesuffix(".json") for name in EXPECTED])
def test_a_file_of_another_program_loads_whole(name, tmp_path):
    servers, notices = EXPECTED[name]
    configs = loaded(name, tmp_path)
    assert {each.name: (each.kind, each.target, each.is_on) for each in configs.servers} == servers
    text = "\n".join(configs.problems)
    assert [notice for notice in notices if notice not in text] == []
    assert len(configs.problems) <= 2 * len(servers)
    assert bool(configs.problems) == bool(notices)


def server(name: str, of: str, workspace: Path) -> ServerConfig:
    return next(each for each in loaded(of, workspace).servers if each.name == name)


def test_values_are_understood_as_the_other_program_means_them(tmp_path):
    fetch = server("fetch", "goose.json", tmp_path)
    assert (dict(fetch.env), fetch.call_seconds) == ({"A": "b", "API_KEY": "${API_KEY}"}, 300)
    weather = server("weather", "fastmcp.json", tmp_path)
    assert (dict(weather.headers), weather.call_seconds) == ({"Authorization": "Bearer secret-token"}, 30)
    assert secrets_of(weather, {}) == {"Authorization": "secret-token"}
    remote = server("remote", "codex.json", tmp_path)
    assert dict(remote.headers) == {"A": "b", "C": "${HEADER}", "Authorization": "Bearer ${TOKEN}"}
    assert server("local", "codex.json", tmp_path).start_seconds == 20
    assert dict(server("my-server", "claude-desktop.json", tmp_path).env) == {"PORT": "8080", "DEBUG": "true"}
    assert server("remote", "cursor.json", tmp_path).oauth == {"clientId": "abc", "clientSecret": "${env:SECRET}"}
    assert dict(server("scope-pkg-2", "bare.json", tmp_path).headers) == {"A": "b"}


@pytest.mark.parametrize(
    ("name", "of", "offered", "hidden"),
    [
        ("tracker", "roo.json", ["create_issue"], ["delete_issue"]),
        ("local", "gemini.json", ["read"], ["list", "write"]),
        ("assistant", "fastmcp.json", ["search"], ["delete"]),
        ("local", "codex.json", ["a"], ["b"]),
    ],
    ids=["roo", "gemini", "fastmcp", "codex"],
)
def test_tools_that_are_switched_off_are_not_offered(tmp_path, name, of, offered, hidden):
    config = server(name, of, tmp_path)
    assert [config.offers(tool) for tool in (*offered, *hidden)] == [True] * len(offered) + [False] * len(hidden)


def test_variables_of_editors_are_expanded(tmp_path):
    config = server("local", "cursor.json", tmp_path)
    variables = variables_of(config, {"HOME": "/home/me"})
    assert (
        expanded(" ".join((config.command, *config.args)), variables) == f"/home/me/bin/server {tmp_path} --port 8080"
    )
    assert server_environment(config, {"HOME": "/home/me"})["KEY"] == "/home/me"
    asking = server("playwright", "vscode.json", tmp_path)
    assert server_environment(asking, {"API_KEY": "x"})["API_KEY"] == "x"
    with pytest.raises(UsageError, match=r"variable API_KEY is not set \(it asks for the input api-key\)"):
        server_environment(asking, {})


def only(table: object, workspace: Path, **more: object) -> ServerConfig:
    """Return the only server `a` of a `.mcp.json` in a trusted directory."""
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": table}} | more))
    (config,) = find_servers({}, workspace / "settings.toml", workspace, [fingerprint(workspace)]).servers
    return config


@pytest.mark.parametrize("key", ["hiddenTools", "excludeTools", "disabled_tools"])
def test_asterisk_hides_every_tool(tmp_path, key):
    assert not only({"command": "npx", key: ["*"]}, tmp_path).offers("read")


SAME: dict[str, list[object]] = {
    "stdio": [
        {"command": "npx", "args": ["-y", "foo"]},
        {"transport": {"type": "stdio", "command": "npx", "args": ["-y", "foo"]}},
        {"command": "npx -y foo"},
        {"command": "npx -y", "args": ["foo"]},
        {"command": ["npx", "-y", "foo"]},
        {"type": "docker", "command": "npx", "args": "-y foo"},
        "npx -y foo",
        ["npx", "-y", "foo"],
    ],
    "environment": [
        {"command": "run", "env": {"A": "1", "B": "x=y"}},
        {"command": "run", "env": ["A=1", "B=x=y"]},
        {"command": "run", "env": "A=1\nB=x=y"},
        {"command": "run", "env": [{"name": "A", "value": "1"}, {"key": "B", "value": "x=y"}]},
    ],
    "headers": [
        {"url": URL, "headers": {"A": "b", "C": "d:e"}},
        {"url": URL, "headers": "A: b\nC: d:e"},
        {"url": URL, "headers": ["A: b", "C: d:e"]},
        {"url": URL, "headers": [{"name": "A", "value": "b"}, {"name": "C", "value": "d:e"}]},
        {"transport": {"url": URL, "headers": {"A": "b", "C": "d:e"}}},
    ],
    "token": [
        {"url": URL, "auth": "t"},
        {"url": URL, "auth": {"type": "bearer", "token": "t"}},
        {"url": URL, "auth": {"scheme": "Bearer", "value": "t"}},
        {"url": URL, "auth": {"token": "t"}},
        {"url": URL, "headers": ["Authorization: Bearer t"]},
        {"url": URL, "auth": {"type": "http", "bearer_token": "t"}},
        {"url": URL, "authentication": {"kind": "access_token", "token": "t"}},
        *({"url": URL, key: "t"} for key in ("authToken", "access_token", "bearerToken", "authorization_token")),
    ],
    "token of the environment": [
        {"url": URL, "headers": {"Authorization": "Bearer ${KEY}"}},
        {"url": URL, "bearer_token_env_var": "KEY"},
        {"url": URL, "tokenEnv": "KEY"},
        {"url": URL, "auth": {"type": "bearer", "token_env": "KEY"}},
        {"url": URL, "auth": {"type": "bearer", "env": "KEY"}},
        {"url": URL, "auth": "Bearer ${KEY}"},
    ],
    "key in a header": [
        {"url": URL, "headers": {"X-Key": "k"}},
        {"url": URL, "auth": {"type": "api_key", "header": "X-Key", "value": "k"}},
        {"url": URL, "auth": {"type": "apiKey", "headerName": "X-Key", "key": "k"}},
        {"url": URL, "auth": {"type": "header", "header_name": "X-Key", "value": "k"}},
        {"url": URL, "auth": {"type": "headers", "headers": {"X-Key": "k"}}},
        {"url": URL, "auth": {"headers": ["X-Key: k"]}},
    ],
    "basic": [
        {"url": URL, "headers": {"Authorization": "Basic YTpi"}},
        {"url": URL, "auth": {"type": "basic", "username": "a", "password": "b"}},
        {"url": URL, "auth": "Basic YTpi"},
    ],
    "oauth": [
        {"url": URL, "oauth": True},
        *({"url": URL, "auth": kind} for kind in ("oauth", "OAuth", "oauth2", "OAuth 2.1", True, {"type": "oauth2"})),
    ],
    "no login": [
        {"url": URL, "oauth": False},
        *({"url": URL, "auth": kind} for kind in ("none", "None", "no-auth", False, {"type": "none"})),
    ],
    "address": [
        {"url": URL},
        {"url": URL.removeprefix("https://")},
        {"url": URL.removeprefix("https:")},
        {"serverUrl": f" {URL.removeprefix('https://')} "},
        {"url": f"HTTPS://{URL.removeprefix('https://')}"},
    ],
    "some tools": [
        {"command": "run", "includeTools": ["a", "b"], "excludeTools": ["c"]},
        {"command": "run", "available_tools": ["a", "b"], "disabledTools": ["c"]},
        {"command": "run", "toolFilter": {"include": ["a", "b"], "exclude": ["c"]}},
        {"command": "run", "tool_filter": ["a", "b"], "exclude_tools": ["c"]},
    ],
    "own address": [
        {"url": "http://localhost:8000/mcp"},
        {"url": "localhost:8000/mcp"},
        {"httpUrl": "//localhost:8000/mcp"},
    ],
    "off": [
        {"command": "run", "enabled": False},
        {"command": "run", "disabled": True},
        *({"command": "run", key: False} for key in ("active", "isActive", "enable", "is_enabled")),
        {"command": "run", "is_disabled": "true"},
    ],
    "arguments": [{"command": "run", "args": ["1", "true"]}, {"command": "run", "args": [1, None, True]}],
    "remote": [{"url": URL}, URL, {"url": URL, "transport": "carrier-pigeon"}, {"url": URL, "type": "rest"}],
    "seconds": [
        {"url": URL, "timeout": 30},
        *({"url": URL, "timeout": each} for each in ("30s", "30 sec", "0.5 min", "30000ms", "30000", "30")),
    ],
}


@pytest.mark.parametrize("name", SAME)
def test_one_server_written_in_several_ways_is_the_same(name, tmp_path):
    first, *others = (only(each, tmp_path) for each in SAME[name])
    assert first.is_on == (name != "off")
    for other in others:
        assert replace(other, notices=()) == replace(first, notices=())
        assert (other.key, other.target, other.is_on) == (first.key, first.target, first.is_on)


def test_a_duration_with_a_unit_is_not_read_as_milliseconds(tmp_path):
    assert only({"url": URL, "timeout": "2000s"}, tmp_path).call_seconds == 2000
    assert only({"url": URL, "timeout": "1h"}, tmp_path).call_seconds == 3600
    assert only({"url": URL, "timeout": "soon"}, tmp_path).notices == ("`timeout` is not used",)


@pytest.mark.parametrize(
    "command",
    [
        "npx -y foo | sh",
        "npx $(id)",
        "npx -y foo; id",
        "npx `id`",
        "npx > /etc/x",
        "A=1 npx foo",
        "no/such dir/run",
        "npx 'x",
    ],
)
def test_a_command_that_does_not_split_harmlessly_stays_whole(command, tmp_path):
    config = only({"command": command}, tmp_path)
    assert (config.command, config.args) == (command, ())


def test_a_program_whose_name_has_a_space_is_not_split(tmp_path):
    program = tmp_path / "my server"
    program.write_text("#!/bin/sh\n")
    for command in str(program), "./my server":
        config = only({"command": command}, tmp_path)
        assert (config.command, config.args) == (command, ())
    (tmp_path / "run").write_text("#!/bin/sh\n")
    assert only({"command": "./run --port 1"}, tmp_path).args == ("--port", "1")


@pytest.mark.parametrize(
    ("table", "notice"),
    [
        ({"url": URL, "auth": {"type": "magic", "token": "t"}}, "`auth` is not used"),
        ({"url": URL, "auth": {"type": "bearer", "token": "t", "x": 1}}, "`auth.x` is not used"),
        ({"url": URL, "auth": {"client_id": "c", "scopes": ["s"]}}, "`auth.scopes` is not used"),
        ({"url": URL, "auth": "bearer"}, "`auth` is not used"),
        ({"url": URL, "auth": {"type": "basic", "username": "a", "password": "${P}"}}, "`auth` is not used"),
        ({"url": URL, "auth": {"type": "api_key", "value": "k"}}, "`auth` is not used"),
        ({"url": URL, "auth": {"type": "bearer", "env": "K", "refresh": "x"}}, "`auth.refresh` is not used"),
        ({"url": "127.0.0.1:8000"}, "`url` is read as 'http://127.0.0.1:8000'"),
        ({"url": "[::1]:8000/mcp?key=hush"}, "`url` is read as 'http://[::1]:8000/mcp'"),
        ({"url": "example.org?key=hush"}, "`url` is read as 'https://example.org'"),
        ({"url": URL, "transport": "pigeon"}, "`transport` 'pigeon' is unknown: HTTP is tried, then SSE"),
        ({"command": "run", "type": "pigeon"}, "`type` 'pigeon' is unknown: it is started as a program"),
        ({"command": "npx -y foo"}, "`command` is read as 'npx' with arguments"),
    ],
    ids=[
        *("kind", "token", "client", "bearer", "basic", "key", "variable", "local", "ipv6", "host"),
        *("transport", "type", "command"),
    ],
)
def test_the_notice_names_the_key_that_was_written(table, notice, tmp_path):
    config = only(table, tmp_path)
    assert config.notices == (notice,)
    assert config.is_on
    assert config.tries_sse == ("url" in table)


@pytest.mark.parametrize("key", ["amp.mcpServers", "cody.mcpServers", "chat.mcp.servers"])
def test_servers_in_the_settings_of_an_editor_load(key, tmp_path):
    (tmp_path / ".mcp.json").write_text(json.dumps({"editor.tabs": 4, key: {"a": {"command": "run"}}}))
    configs = find_servers({}, tmp_path / "settings.toml", tmp_path, [fingerprint(tmp_path)])
    assert [(each.name, each.command) for each in configs.servers] == [("a", "run")]
    assert configs.problems == ()


@pytest.mark.parametrize("within", [False, True], ids=["top", "mcp"])
def test_lists_of_servers_by_transport_load(within, tmp_path):
    lists = {
        "sse_servers": ["https://one.example.com/sse", {"url": "https://one.example.com/b", "api_key": "k"}],
        "stdio_servers": [{"name": "fetch", "command": "uvx", "args": ["f"]}],
        "shttp_servers": [{"url": URL}],
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcp": lists} if within else lists))
    configs = find_servers({}, tmp_path / "settings.toml", tmp_path, [fingerprint(tmp_path)])
    assert {each.name: (each.kind, each.target) for each in configs.servers} == {
        "one.example.com": ("sse", "https://one.example.com/sse"),
        "one.example.com-2": ("sse", "https://one.example.com/b"),
        "fetch": ("stdio", "uvx f"),
        "mcp.example.com": ("http", URL),
    }
    assert dict(configs.servers[1].headers) == {"Authorization": "Bearer k"}
    assert configs.problems == ()


@pytest.mark.parametrize("more", [{"$schema": "https://x/y.json"}, {"version": 1}, {"inputs": []}], ids=str)
def test_keys_beside_a_bare_table_of_servers_do_not_refuse_it(more, tmp_path):
    (tmp_path / ".mcp.json").write_text(json.dumps({**more, "a": {"command": "run"}}))
    assert list(read_file(tmp_path / ".mcp.json")) == ["a"]
    (tmp_path / ".mcp.json").write_text(json.dumps(more))
    with pytest.raises(UsageError, match="must contain"):
        read_file(tmp_path / ".mcp.json")


@pytest.mark.parametrize(
    "key", ["autoApprove", "alwaysAllow", "trust", "autoStart", "permissions", "allowedTools", "yolo"]
)
@pytest.mark.parametrize("value", [True, ["*"], {"allow": "*"}, "always"], ids=["switch", "list", "table", "word"])
def test_no_key_of_another_program_lowers_an_approval(key, value):
    plain = read_server("x", {"command": "run"}, "f", "/w", runs_there=True)
    config = read_server("x", {"command": "run", key: value}, "f", "/w", runs_there=True)
    (notice,) = config.notices
    assert f"`{key}` is without effect: what may run is decided here" in notice
    assert replace(config, notices=()) == plain


KEYS = {
    "stdio": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
    "http": {"url": "https://x/mcp", "headers": {"A": "b"}, "timeout": 30},
    "typed": {"type": "streamable-http", "url": "https://x/mcp", "oauth": {"clientId": "a"}},
    "sse": {"transport": "sse", "url": "https://x/sse", "enabled": False},
    "cwd": {"command": "run", "cwd": "sub", "disabled": True, "description": "d", "sampling": False},
    "literal": {"command": "${env:HOME}/x", "args": ["${workspaceFolder}"]},
}
HASHES = {
    "stdio": ("dd4659066c10851a41d17d9d58660494", "eb9b44c7dd6d4f9a312fdd2b0d41d559"),
    "http": ("dd3187019e2e643752535296c03066ec", "dd3187019e2e643752535296c03066ec"),
    "typed": ("942a93001b006f4bfe306c5eedae6ec1", "942a93001b006f4bfe306c5eedae6ec1"),
    "sse": ("f65e33c58fde00abed204ececc267869", "f65e33c58fde00abed204ececc267869"),
    "cwd": ("454f40f503e8ef8871556e5f8bbb56be", "454f40f503e8ef8871556e5f8bbb56be"),
    "literal": ("8b54124948ddef325b5dbfdf7e4a2a2d", "142641eb842b2ef823b5fb5eb0bed23d"),
}


@pytest.mark.parametrize("name", KEYS)
def test_the_identity_of_a_server_never_changes(name):
    """Approvals are stored under it; these hashes are those of the first release of this format."""
    keys = tuple(read_server("x", KEYS[name], "f", "/w", runs_there=each).key for each in (False, True))
    assert keys == HASHES[name]


KNOWN_KEYS = sorted(
    {key for file in FILES.iterdir() for table in read_file(file).values() for key in table} | {"hiddenTools", "token"}
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@given(table=st.dictionaries(st.sampled_from(KNOWN_KEYS), json_values, max_size=6), is_foreign=st.booleans())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_value_of_any_key_leaves_a_server_that_can_be_read(table, is_foreign):
    config = read_server("x", {**table, "command": "run"}, "f", "/w", runs_there=is_foreign)
    assert config.command == "run" or config.problem or config.kind != "stdio"
    assert all("\n" not in notice for notice in config.notices)
    assert 0 < config.call_seconds <= 86_400
    assert config.key == read_server("x", {**table, "command": "run"}, "f", "/w", runs_there=is_foreign).key


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "it needs a command or a url"),
        ({"command": ""}, "it needs a command or a url"),
        ({"type": "http", "url": ""}, "it needs a command or a url"),
        ({"type": "stdio", "description": "d"}, "it needs a command or a url"),
        ({"url": "http://"}, "url has no host"),
        ({"url": "https:///mcp"}, "url has no host"),
        ({"url": "http://:8000/mcp", "type": "sse"}, "url has no host"),
        ({"url": "https://user:word@/mcp"}, "url has no host"),
        ({"url": "https://?a=b"}, "url has no host"),
        ({"url": "ftp://example.com"}, "url must start with http:// or https://"),
    ],
    ids=["nothing", "empty", "empty-url", "type-alone", "bare", "path", "port", "user", "query", "ftp"],
)
def test_a_server_that_nothing_can_reach_is_refused_with_what_is_missing(table, message):
    with pytest.raises(UsageError, match=message):
        read_server("x", table, "f", "/w")


@pytest.mark.parametrize(
    "url", ["http://h", "http://[::1]:80/mcp", "https://u:p@h/mcp", "${URL}", "http://${HOST}/mcp"]
)
def test_a_url_with_a_host_is_accepted(url):
    assert read_server("x", {"url": url}, "f", "/w").url == url
