"""What an MCP server on this machine gets of our environment: little, and no keys; used by `stdio`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote_plus

from workbench.errors import UsageError
from workbench.mcp.servers import Server, expanded
from workbench.processes.start import absolute_path
from workbench.secrets.masker import KNOWN
from workbench.secrets.names import PASSED_ON, child_environment, holds_secret

_KEPT = re.compile(
    r"HOME|PATH|LANG|LANGUAGE|LC_\w+|LOGNAME|USER|SHELL|TMPDIR|TZ|XDG_\w+|VIRTUAL_ENV|"
    r"\w+_PROXY|SSL_CERT_(?:FILE|DIR)|\w+_CA_(?:BUNDLE|CERTS)|(?:UV|NPM_CONFIG|PIP|NVM|VOLTA)_\w+",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"://[^/\s@]+@")
"""The address of a package index, for example, with the user's login in it; a proxy is of no use without its own."""
_PROXY = re.compile(r"_PROXY$", re.IGNORECASE)


def server_environment(server: Server, env: Mapping[str, str]) -> dict[str, str]:
    """What it needs to run, and what its settings give it; raises UsageError for a variable that is not set."""
    kept = {
        name: value
        for name, value in child_environment(env).items()
        if name in PASSED_ON or (_KEPT.fullmatch(name) and not (_LOGIN.search(value) and not _PROXY.search(name)))
    }
    kept = {
        name: value
        for name, value in kept.items()
        if name in PASSED_ON or _PROXY.search(name) or KNOWN.masked(value) == value
    }
    if "PATH" in kept:
        kept["PATH"] = absolute_path(kept["PATH"])
    return {**kept, "TERM": "dumb", **{name: expanded(value, env) for name, value in server.env.items()}}


def secrets_of(server: Server, env: Mapping[str, str]) -> dict[str, str]:
    """Values that must not be seen, by what they are called: headers, and all that is named like a key."""
    found: dict[str, str] = {}
    for name, value in server.headers.items():
        if name.lower() not in ("accept", "content-type", "user-agent"):
            found[name] = _known(value, env).rpartition(" ")[2]
    if server.oauth.get("clientSecret"):
        found["clientSecret"] = _known(server.oauth["clientSecret"], env)
    for name, value in server.env.items():
        inner = re.findall(r"\$\{(\w+)", value)
        if holds_secret(name) or any(holds_secret(each) for each in inner):
            found[name] = _known(value, env)
    for name, value in (*_in_arguments(server.args), *_in_address(server.url)):
        if _is_key(name):
            found[name.lstrip("-")] = _known(value, env)
    return found


def known_secrets(server: Server) -> None:
    """Have them masked wherever they would be seen; a server whose variables are not set says so when it starts."""
    for name, value in secrets_of(server, os.environ).items():
        KNOWN.add(name, value)


def _known(value: str, env: Mapping[str, str]) -> str:
    try:
        return expanded(value, env)
    except UsageError:
        return ""


def _in_arguments(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`--name=value`, `NAME=value`, and `--name value`."""
    for word, after in zip(words, (*words, "")[1:], strict=True):
        name, sign, value = word.partition("=")
        if sign or word.startswith("-"):
            yield name, value if sign else after


def _in_address(url: str) -> Iterator[tuple[str, str]]:
    """What its query says, as it is written there and as it is meant."""
    for part in url.partition("#")[0].partition("?")[2].split("&"):
        name, _, value = part.partition("=")
        yield name, value
        yield f"{name} ", unquote_plus(value)


def _is_key(name: str) -> bool:
    plain = name.strip("- ").replace("-", "_").replace(".", "_")
    return holds_secret(plain) or plain.lower() in ("key", "auth", "sig", "signature", "pwd", "pass")
