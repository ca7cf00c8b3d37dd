"""Reads the configured MCP servers: `[mcpServers]` in the settings, and `.mcp.json` of a trusted project.

Also builds a server's environment: the variables that programs need to run, without keys, and those that its
configuration sets.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote_plus

from workbench.errors import UsageError
from workbench.processes.spawn import absolute_path
from workbench.secrets.masker import MASKER
from workbench.secrets.secret_names import PASSED_ON, child_environment, holds_secret
from workbench.tools.trust import SERVERS, is_trusted

Kind: TypeAlias = Literal["stdio", "http", "sse"]
START_SECONDS = 10.0
CALL_SECONDS = 60.0
ASK_SECONDS = 600.0
FIRST_WAIT_SECONDS = 1.0
_KINDS: Mapping[str, Kind] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
_STRINGS = ("command", "url", "cwd", "type", "transport", "description")
_NUMBERS = ("timeout", "startTimeout", "askTimeout", "firstWait")
_SWITCHES = ("enabled", "disabled", "sampling", "elicitation")
_KEYS = (*_STRINGS, *_NUMBERS, "args", "env", "headers", *_SWITCHES, "oauth")
_NOT_IDENTITY = ("is_on", "source", "oauth", "uses_oauth", "sampling", "elicitation")
_OAUTH = {"clientId": str, "clientSecret": str, "callbackPort": int}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}")
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


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
    """How long a request from the server waits for the user's answer."""
    first_wait_seconds: float = FIRST_WAIT_SECONDS
    """How long the first model call waits for the tools of a server that has never been connected before."""
    sampling: bool = True
    """Whether the server may request model responses; the user approves each request."""
    elicitation: bool = True
    """Whether the server may ask the user questions."""

    @property
    def key(self) -> str:
        """The hash that identifies the server's record: a different command, URL or directory is a different server."""
        identity = {
            name: value
            for name, value in asdict(self).items()
            if name not in _NOT_IDENTITY and not name.endswith("_seconds")
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]

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
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read the MCP servers in {file}: {error}") from error
    table = data.get("mcpServers", {}) if isinstance(data, dict) else None
    if not isinstance(table, dict):
        raise UsageError(f'{file} must hold {{"mcpServers": {{…}}}}')
    return table


def _read(table: Mapping[str, Any], source: str, directory: str, *, runs_there: bool) -> ServerConfigs:
    servers, problems = [], []
    for name, value in table.items():
        try:
            servers.append(read_server(name, value, source, directory, runs_there=runs_there))
        except UsageError as error:
            problems.append(f"the MCP server {name} of {source} is ignored: {error}")
    return ServerConfigs(tuple(servers), tuple(problems))


def read_server(name: str, value: Any, source: str, directory: str, *, runs_there: bool = False) -> ServerConfig:
    """Return the configuration of one server. Raises UsageError with the reason if it is invalid.

    A `cwd` in `value` is relative to `directory`. Without a `cwd`, a server runs in `directory` if `runs_there` is
    true, which is for projects that the user trusts.
    """
    if not _NAME.fullmatch(name):
        raise UsageError("its name must be letters, digits, `-`, `_` and `.`, at most 41")
    if not isinstance(value, Mapping):
        raise UsageError("it must be a table")
    _check(value)
    kind = _kind(value)
    written = value.get("cwd") or "." * runs_there
    cwd = str(Path(directory, Path(written).expanduser())) if written else ""
    return ServerConfig(
        name=name,
        kind=kind,
        source=source,
        command=value.get("command", "") if kind == "stdio" else "",
        args=tuple(value.get("args", ())) if kind == "stdio" else (),
        env=dict(value.get("env", {})) if kind == "stdio" else {},
        cwd=cwd if kind == "stdio" else "",
        url="" if kind == "stdio" else value.get("url", ""),
        headers={} if kind == "stdio" else dict(value.get("headers", {})),
        oauth=value["oauth"] if isinstance(value.get("oauth"), Mapping) else {},
        uses_oauth=value.get("oauth") is not False,
        is_on=value.get("enabled", True) and not value.get("disabled", False),
        start_seconds=float(value.get("startTimeout", START_SECONDS)),
        call_seconds=float(value.get("timeout", CALL_SECONDS)),
        ask_seconds=float(value.get("askTimeout", ASK_SECONDS)),
        first_wait_seconds=float(value.get("firstWait", FIRST_WAIT_SECONDS)),
        sampling=value.get("sampling", True),
        elicitation=value.get("elicitation", True),
    )


def _check(value: Mapping[str, Any]) -> None:
    for key, part in value.items():
        if key not in _KEYS:
            raise UsageError(f"there is no {key!r}; there are {', '.join(_KEYS)}")
        if key in _STRINGS and not isinstance(part, str):
            raise UsageError(f"{key} must be text")
        if key in _NUMBERS and (isinstance(part, bool) or not isinstance(part, int | float) or not 0 < part <= 86_400):
            raise UsageError(f"{key} must be a number of seconds")
        if key in _SWITCHES and not isinstance(part, bool):
            raise UsageError(f"{key} must be true or false")
        if key in ("env", "headers") and not _are_strings(part):
            raise UsageError(f"{key} must be a table of strings")
    _check_args_and_oauth(value)


def _check_args_and_oauth(value: Mapping[str, Any]) -> None:
    args = value.get("args", [])
    if not (isinstance(args, list) and all(isinstance(each, str) for each in args)):
        raise UsageError("args must be a list of strings")
    if not _is_oauth(value.get("oauth", True)):
        raise UsageError(f"oauth must be true, false or a table of {', '.join(_OAUTH)}")


def _are_strings(part: Any) -> bool:
    return isinstance(part, Mapping) and all(isinstance(each, str) for each in part.values())


def _is_oauth(part: Any) -> bool:
    if not isinstance(part, Mapping):
        return isinstance(part, bool)
    return all(name in _OAUTH and type(value) is _OAUTH[name] for name, value in part.items())


def _kind(value: Mapping[str, Any]) -> Kind:
    word = value.get("type", value.get("transport", "stdio" if "command" in value else "http"))
    if word not in _KINDS:
        raise UsageError(f"there is no type {word!r}; there are stdio, http and sse")
    kind = _KINDS[word]
    needed = "command" if kind == "stdio" else "url"
    if not value.get(needed):
        raise UsageError(f"{kind} needs a {needed}")
    if kind != "stdio" and not value["url"].startswith(("http://", "https://", "${")):
        raise UsageError("url must start with http:// or https://")
    return kind


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Return the text with `${NAME}` and `${NAME:-default}` expanded. Raises UsageError if a variable is not set."""

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        if name in env:
            return env[name]
        if default is None:
            raise UsageError(f"the environment variable {name} is not set")
        return default

    return _VARIABLE.sub(value, text)


_PASSED = re.compile(
    r"HOME|PATH|LANG|LANGUAGE|LC_\w+|LOGNAME|USER|SHELL|TMPDIR|TZ|XDG_\w+|VIRTUAL_ENV|"
    r"\w+_PROXY|SSL_CERT_(?:FILE|DIR)|\w+_CA_(?:BUNDLE|CERTS)|(?:UV|NPM_CONFIG|PIP|NVM|VOLTA)_\w+",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"://[^/\s@]+@")
"""Matches a URL that contains a login, such as a package index's. Only proxy variables are passed on with one."""
_PROXY = re.compile(r"_PROXY$", re.IGNORECASE)


def server_environment(server: ServerConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment. Raises UsageError if its configuration refers to a variable that is not set."""
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
    return {**passed, "TERM": "dumb", **{name: expanded(value, env) for name, value in server.env.items()}}


def secrets_of(server: ServerConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return the values to mask, by name: headers, the client secret, and all values that are named like a key."""
    secrets: dict[str, str] = {}
    for name, value in server.headers.items():
        if name.lower() not in ("accept", "content-type", "user-agent"):
            secrets[name] = _expanded_or_empty(value, env).rpartition(" ")[2]
    if server.oauth.get("clientSecret"):
        secrets["clientSecret"] = _expanded_or_empty(server.oauth["clientSecret"], env)
    for name, value in server.env.items():
        inner = re.findall(r"\$\{(\w+)", value)
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
