"""Reads the configured MCP servers: `[mcpServers]` in the settings, and `.mcp.json` of a trusted project.

Also builds a server's environment: the variables that programs need to run, without keys, and those that its
configuration sets.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote_plus

from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.mcp.config_keys import Normalized, normalized
from workbench.processes.launch import SERVER
from workbench.processes.spawn import absolute_path
from workbench.secrets.masker import MASKER
from workbench.secrets.secret_names import PASSED_ON, child_environment, holds_secret
from workbench.tools.trust import SERVERS, is_trusted

Kind: TypeAlias = Literal["stdio", "http", "sse"]
START_SECONDS = 10.0
CALL_SECONDS = 60.0
ASK_SECONDS = 600.0
FIRST_WAIT_SECONDS = 1.0
_NOT_IDENTITY = {
    *("is_on", "source", "oauth", "uses_oauth", "sampling", "elicitation"),
    *("workspace", "problem", "notices", "hidden_tools", "only_tools", "tries_sse", "is_confined"),
}
"""Fields that do not identify a server; its approvals are stored under the hash of all other fields."""
_NAME = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}")
_VARIABLE = lazy_pattern(r"\$\{(?:env:|input:)?([\w./-]+)(?::-([^}]*))?\}")
"""Matches a variable as in shells, or as in Cursor and VS Code: `${env:NAME}`, `${input:name}`, `${workspaceFolder}`.
"""
_TABLES = (("mcpServers",), ("servers",), ("mcp", "servers"), ("mcp",), ("context_servers",), ("extensions",))
"""The keys under which the files of various programs contain their table of servers."""


@dataclass(frozen=True)
class ServerConfig:
    """The configuration of one server as written; variables are expanded when the server is started."""

    name: str
    kind: Kind
    source: str
    """The path of the file that configures the server."""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    """The working directory. Without one, the server runs in a new, empty directory and loads no workspace code."""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    oauth: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """`clientId`, `clientSecret` and `callbackPort`, for servers that need a registered client."""
    uses_oauth: bool = True
    """Whether requests carry the user's stored sign-in; if False, they carry only `headers`."""
    is_on: bool = True
    start_seconds: float = START_SECONDS
    call_seconds: float = CALL_SECONDS
    ask_seconds: float = ASK_SECONDS
    """The maximum time that a request from the server waits for the user's answer."""
    first_wait_seconds: float = FIRST_WAIT_SECONDS
    """The maximum time that the first model call waits for the tools of a server that was never connected before."""
    sampling: bool = True
    """Whether the server may request model responses; the user approves each request."""
    elicitation: bool = True
    """Whether the server may ask the user questions."""
    is_confined: bool = True
    """Whether a local server runs inside the session's sandbox, if it has one."""
    workspace: str = ""
    """The working directory of the session, for `${workspaceFolder}`."""
    problem: str = ""
    """Why the server is off although it is configured; empty if it can be used."""
    notices: tuple[str, ...] = ()
    """Lines for the user about keys that have no effect, values that had to be interpreted, and a changed name."""
    hidden_tools: frozenset[str] = frozenset()
    only_tools: frozenset[str] = frozenset()
    """The only tools that are offered; empty if all are."""
    tries_sse: bool = False
    """Whether the older transport (SSE) is tried if the server at the URL does not speak streamable HTTP."""

    @cached_property
    def key(self) -> str:
        """The hash under which the server's approvals are stored; another command, URL or directory changes it.

        It is computed once: every look at a record needs it, several times for each tool.
        """
        identity = {
            name: value
            for name, value in asdict(self).items()
            if name not in _NOT_IDENTITY and not name.endswith("_seconds")
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]

    def offers(self, tool: str) -> bool:
        """Return whether the configuration allows this tool of the server to be offered."""
        return not self.hidden_tools.intersection((tool, "*")) and (not self.only_tools or tool in self.only_tools)

    @property
    def runs_outside(self) -> bool:
        """Whether the configuration takes a local server out of the sandbox."""
        return self.kind == "stdio" and not self.is_confined

    @property
    def program(self) -> str:
        """The name of a local server in questions about a host that it wants to reach."""
        return f"{SERVER} {self.name}"

    @property
    def target(self) -> str:
        """The command or URL in one line, with variables not expanded."""
        return " ".join((self.command, *self.args)) if self.kind == "stdio" else self.url


@dataclass(frozen=True)
class ServerConfigs:
    """The valid servers, including disabled ones, and one line about each problem."""

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[str, ...] = ()


def find_servers(
    table: Mapping[str, Any], settings_file: Path, workspace: Path, trusted: Iterable[str]
) -> ServerConfigs:
    """Return the user's servers and those of a trusted project. If both define a name, the user's is returned."""
    own = _read(table, str(settings_file), str(workspace), runs_there=False)
    file = workspace / SERVERS
    if not file.is_file():
        return own
    if not is_trusted(workspace, trusted):
        line = (
            f"the MCP servers in {file} are ignored: the directory is not trusted; `ohw` in it asks whether to trust it"
        )
        return ServerConfigs(own.servers, (*own.problems, line))
    try:
        theirs = _read(read_file(file), str(file), str(workspace), runs_there=True)
    except UsageError as error:
        return ServerConfigs(own.servers, (*own.problems, str(error)))
    names = {server.name for server in own.servers}
    servers = (*own.servers, *(server for server in theirs.servers if server.name not in names))
    return ServerConfigs(servers, (*own.problems, *theirs.problems))


def read_file(file: Path) -> dict[str, Any]:
    """Return the servers in a `.mcp.json` by name, not validated yet. Raises UsageError if the file cannot be read."""
    try:
        data = json.loads(without_comments(file.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read the MCP servers in {file}: {error}") from error
    return servers_of(data, str(file))


def servers_of(data: Any, source: str) -> dict[str, Any]:
    """Return the servers of a configuration by name, not validated yet. Raises UsageError if there is no table of them.

    `source` is the name of the file in that error.
    """
    for keys in _TABLES:
        table = data
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        if table is not None:
            return {**by_name(table, source), **_by_kind(data)}
    for key, table in data.items() if isinstance(data, dict) else ():
        if key.endswith((".mcpServers", ".mcp.servers")) and isinstance(table, dict):  # in the settings of an editor
            return by_name(table, source)
    if isinstance(data, dict) and (not data or any(map(_is_server, data.values())) or _by_kind(data)):
        return {**{name: each for name, each in data.items() if isinstance(each, dict)}, **_by_kind(data)}
    raise UsageError(f'{source} must contain {{"mcpServers": {{…}}}}')


_KIND_LISTS = {"sse_servers": "sse", "stdio_servers": "stdio", "shttp_servers": "http"}


def _by_kind(data: Any) -> dict[str, Any]:
    """Return the servers in OpenHands' lists, which has one list for each transport; a server without a name gets that
    of its host.
    """
    servers: dict[str, Any] = {}
    for key, kind in _KIND_LISTS.items():
        listed = data.get(key) if isinstance(data, dict) else None
        for each in listed if isinstance(listed, list) else ():
            table = {"url": each} if isinstance(each, str) else each
            if not isinstance(table, dict):
                continue
            host = re.sub(r"\w+://(?:[^/@]*@)?|[/:?].*", "", str(table.get("url", "")))
            name = base = str(table.get("name") or host or kind)
            number = 2
            while name in servers:
                name, number = f"{base}-{number}", number + 1
            servers[name] = {"type": kind, **table}
    return servers


def without_comments(text: str) -> str:
    """Return the JSON text without comments and trailing commas; strings are not changed."""
    return _TRAILING.sub(_strings_only, _COMMENT.sub(_strings_only, text))


_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = lazy_pattern(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = lazy_pattern(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)


def _strings_only(match: re.Match[str]) -> str:
    return match[1] or ""


def _is_server(value: Any) -> bool:
    keys = {"command", "url", "cmd", "uri", "serverUrl", "httpUrl"}
    return isinstance(value, dict) and bool(value.keys() & keys or isinstance(value.get("transport"), dict))


def by_name(table: Any, source: str) -> dict[str, Any]:
    """Return the servers by name, from a table, or from a list in which each server has a name.

    Raises UsageError if `table` is neither; `source` is the name of the file in that error.
    """
    if isinstance(table, list) and all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in table):
        return {each["name"]: each for each in table}
    if not isinstance(table, dict):
        raise UsageError(f'{source} must contain {{"mcpServers": {{…}}}}')
    return {**{name: _as_table(each) for name, each in table.items() if name not in _KIND_LISTS}, **_by_kind(table)}


def _as_table(value: Any) -> Any:
    """Return the table of a server that is written as a URL, a command line or a list of words; else `value` itself."""
    if isinstance(value, str) and value.strip():
        return {"url" if "://" in value.split()[0] else "command": value}
    return {"command": value} if isinstance(value, list) and value else value


def _read(table: Mapping[str, Any], source: str, directory: str, *, runs_there: bool) -> ServerConfigs:
    servers: dict[str, ServerConfig] = {}
    problems = []
    for name, value in table.items():
        try:
            server = read_server(name, value, source, directory, runs_there=runs_there)
        except UsageError as error:
            problems.append(f"the MCP server {name} of {source} is ignored: {error}")
            continue
        number = 2
        while server.name in servers:
            server = replace(server, name=f"{allowed_name(name)[:38]}-{number}")
            number += 1
        servers[server.name] = server
        problems += [f"the MCP server {server.name} of {source}: {line}" for line in server.notices]
        problems += [f"the MCP server {server.name} of {source} is off: {server.problem}"] if server.problem else []
    return ServerConfigs(tuple(servers.values()), tuple(problems))


def allowed_name(name: str) -> str:
    """Return the name to use for a configured server: at most 41 letters, digits, `-`, `_` and `.`."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-_.")[:41]
    return name if _NAME.fullmatch(name) else plain or "server"


_ON_BY_DEFAULT: Final = {"sampling": "sampling", "elicitation": "elicitation", "is_confined": "sandbox"}


def read_server(name: str, value: Any, source: str, directory: str, *, runs_there: bool = False) -> ServerConfig:
    """Return the configuration of one server. Raises UsageError with the reason if it is invalid.

    A `cwd` in `value` is relative to `directory`. A server without a `cwd` runs in `directory` if `runs_there` is set,
    which is the case for projects that the user trusts, and for files in the formats of other programs.
    """
    if not isinstance(value := _as_table(value), Mapping):
        raise UsageError("it must be a table")
    result = normalized(value, is_foreign=runs_there, directory=_base_of(value, directory))
    table, renamed = result.table, allowed_name(name)
    kind: Kind = table["type"]
    if not result.problem:
        _check_target(kind, table)
    is_local = kind == "stdio"
    return ServerConfig(
        name=renamed,
        kind=kind,
        source=source,
        command=table.get("command", "") if is_local else "",
        args=tuple(table.get("args", ())) if is_local else (),
        env=table.get("env", {}) if is_local else {},
        cwd=_directory_of(table, directory, runs_there=runs_there) if is_local else "",
        url="" if is_local else table.get("url", ""),
        headers={} if is_local else table.get("headers", {}),
        oauth=table["oauth"] if isinstance(table.get("oauth"), Mapping) else {},
        uses_oauth=table.get("oauth") is not False,
        is_on=_is_on(table) and not result.problem,
        start_seconds=float(table.get("startTimeout", START_SECONDS)),
        call_seconds=float(table.get("timeout", CALL_SECONDS)),
        ask_seconds=float(table.get("askTimeout", ASK_SECONDS)),
        first_wait_seconds=float(table.get("firstWait", FIRST_WAIT_SECONDS)),
        **{name: table.get(key, True) for name, key in _ON_BY_DEFAULT.items()},
        workspace=directory,
        problem=result.problem,
        notices=_notices(name, renamed, result),
        hidden_tools=frozenset(result.hidden_tools),
        only_tools=frozenset(result.only_tools),
        tries_sse=result.tries_sse,
    )


def _notices(name: str, renamed: str, result: Normalized) -> tuple[str, ...]:
    return (*([f"its name here, for {name!r}"] if renamed != name else []), *result.notices)


def _base_of(value: Mapping[str, Any], directory: str) -> str:
    written = value.get("cwd")
    return str(Path(directory, written)) if isinstance(written, str) else directory


def _directory_of(table: Mapping[str, Any], directory: str, *, runs_there: bool) -> str:
    written = table.get("cwd") or "." * runs_there
    return str(Path(directory, Path(written).expanduser())) if written else ""


def _is_on(table: Mapping[str, Any]) -> bool:
    return bool(table.get("enabled", True)) and not table.get("disabled", False)


_NO_HOST: Final = lazy_pattern(r"https?://(?:[^/?#@]*@)?(?:[/?#:]|\Z)")


def _check_target(kind: Kind, table: Mapping[str, Any]) -> None:
    if not table.get("command") and not table.get("url"):
        raise UsageError("it needs a command or a url")
    if kind == "stdio":
        return
    if not table["url"].startswith(("http://", "https://", "${")):
        raise UsageError("url must start with http:// or https://")
    if _NO_HOST.match(table["url"]):
        raise UsageError("url has no host; write it as https://mcp.example.com/mcp")


def variables_of(server: ServerConfig, env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables that the configuration may refer to: the environment, and `workspaceFolder` and others that
    editors define.
    """
    own = {
        "workspaceFolder": server.workspace,
        "workspaceRoot": server.workspace,
        "workspaceFolderBasename": Path(server.workspace).name,
        "userHome": env.get("HOME", str(Path.home())),
        "pathSeparator": os.sep,
        "/": os.sep,
    }
    return ChainMap(dict(env), own)


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Return the text with `${NAME}` and `${NAME:-default}` expanded. Raises UsageError if a variable is not set."""

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        spoken = re.sub(r"\W", "_", name).upper()
        if name in env or spoken in env:
            return env[name] if name in env else env[spoken]
        if default is None:
            asked = f" (it asks for the input {name})" if match[0].startswith("${input:") else ""
            raise UsageError(f"the environment variable {spoken if asked else name} is not set{asked}")
        return default

    return _VARIABLE.sub(value, text)


_PASSED = lazy_pattern(
    r"HOME|PATH|LANG|LANGUAGE|LC_\w+|LOGNAME|USER|SHELL|TMPDIR|TZ|XDG_\w+|VIRTUAL_ENV|"
    r"\w+_PROXY|SSL_CERT_(?:FILE|DIR)|\w+_CA_(?:BUNDLE|CERTS)|(?:UV|NPM_CONFIG|PIP|NVM|VOLTA)_\w+",
    re.IGNORECASE,
)
_LOGIN = lazy_pattern(r"://[^/\s@]+@")
"""Matches a URL that contains a login, such as a package index's. Only proxy variables are passed on with one."""
_PROXY = lazy_pattern(r"_PROXY$", re.IGNORECASE)


def server_environment(server: ServerConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment. Raises UsageError if its configuration refers to a variable that is not set."""
    variables = variables_of(server, env)
    passed = {
        name: value
        for name, value in child_environment(env).items()
        if name in PASSED_ON or (_PASSED.fullmatch(name) and not (_LOGIN.search(value) and not _PROXY.search(name)))
    }
    passed = {
        name: value
        for name, value in passed.items()
        if name in PASSED_ON or _PROXY.search(name) or MASKER.masked(value) == value
    }
    if "PATH" in passed:
        passed["PATH"] = absolute_path(passed["PATH"])
    return {**passed, "TERM": "dumb", **{name: expanded(value, variables) for name, value in server.env.items()}}


def secrets_of(server: ServerConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return the values to mask, by name: headers, the client secret, and each value whose name suggests a secret."""
    secrets: dict[str, str] = {}
    for name, value in server.headers.items():
        if name.lower() not in ("accept", "content-type", "user-agent"):
            secrets[name] = _expanded_or_empty(value, env).rpartition(" ")[2]
    if server.oauth.get("clientSecret"):
        secrets["clientSecret"] = _expanded_or_empty(server.oauth["clientSecret"], env)
    for name, value in server.env.items():
        inner = re.findall(r"\$\{(?:env:|input:)?([\w-]+)", value)
        if holds_secret(name) or any(holds_secret(each) for each in inner):
            secrets[name] = _expanded_or_empty(value, env)
    for name, value in (*_in_arguments(server.args), *_in_query(server.url)):
        if _is_key(name):
            secrets[name.lstrip("-")] = _expanded_or_empty(value, env)
    return secrets


def mask_secrets(server: ServerConfig) -> None:
    """Mask a server's secrets from now on. Unset variables are skipped, because starting the server reports them."""
    for name, value in secrets_of(server, os.environ).items():
        MASKER.add(name, value)


def _expanded_or_empty(value: str, env: Mapping[str, str]) -> str:
    try:
        return expanded(value, env)
    except UsageError:
        return ""


def _in_arguments(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each `--name=value`, `NAME=value` and `--name value`."""
    for word, after in zip(words, (*words, "")[1:], strict=True):
        name, equals, value = word.partition("=")
        if equals or word.startswith("-"):
            yield name, value if equals else after


def _in_query(url: str) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each query parameter, as written and decoded; the latter's name ends with a space."""
    for part in url.partition("#")[0].partition("?")[2].split("&"):
        name, _, value = part.partition("=")
        yield name, value
        yield f"{name} ", unquote_plus(value)


def _is_key(name: str) -> bool:
    plain = name.strip("- ").replace("-", "_").replace(".", "_")
    return holds_secret(plain) or plain.lower() in ("key", "auth", "sig", "signature", "pwd", "pass")
