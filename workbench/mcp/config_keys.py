"""Converts other programs' configurations of a server to the keys that `config` reads.

FastMCP, Claude Code, Cursor, VS Code, Cline, Roo, Windsurf, Gemini, Goose, Zed, opencode, Codex, Continue and others
use different keys for the same settings. An unknown key is ignored with a notice and never makes a server unusable.
Keys that grant approvals in another program (`autoApprove`, `alwaysAllow`, `trust`) have no effect.
"""

from __future__ import annotations

import re
import shlex
import shutil
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from workbench.lazy_pattern import lazy_pattern
from workbench.mcp.config_key_names import APPROVALS, NEEDLESS, SYNONYMS

LONGEST_SECONDS = 86_400
_MILLISECONDS = 1_000
"""In files of other programs, a timeout of at least this number is in milliseconds, which most of them use."""

_TYPES: Final = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "sse": "sse",
    "remote": "",
}
"""The transport for each type (in lower case, without hyphens); a remote server may have either HTTP transport."""
_UNSUPPORTED: Final = ("ws", "websocket", "builtin", "inlinepython", "frontend", "platform", "inprocess")
_NUMBERS: Final = ("timeout", "startTimeout", "askTimeout", "firstWait")
_SWITCHES: Final = ("enabled", "disabled", "sampling", "elicitation", "sandbox")
_STRINGS: Final = ("command", "url", "cwd", "description")
_OAUTH: Final = {"clientid": "clientId", "clientsecret": "clientSecret", "callbackport": "callbackPort"}
_KEY_LENGTH = 40


@dataclass
class Normalized:
    """The result of the conversion: `table` has the keys that `config` reads, `ignored` lists the keys without effect,
    `notes` the values that had to be interpreted; `problem` says why the server cannot be used.
    """

    table: dict[str, Any] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""
    hidden_tools: tuple[str, ...] = ()
    only_tools: tuple[str, ...] = ()
    tries_sse: bool = False
    timed: set[str] = field(default_factory=set)
    """The keys of numbers that were written with a unit, such as `"30s"`."""

    @property
    def notices(self) -> Iterator[str]:
        """A line about the keys without effect and the values that had to be interpreted, or nothing."""
        approvals = [key for key in self.ignored if key in APPROVALS]
        others = [key for key in self.ignored if key not in APPROVALS]
        parts = [f"{_listed(approvals)} without effect: what may run is decided here"] if approvals else []
        parts += [f"{_listed(others)} not used"] if others else []
        if parts or self.notes:
            yield "; ".join([*parts, *self.notes])


def normalized(value: Mapping[str, Any], *, is_foreign: bool, directory: str = ".") -> Normalized:
    """Return a server's configuration with the keys that `config` reads.

    `is_foreign` says that the file has the format of another program, so timeouts may be in milliseconds. Relative
    paths start at `directory`.
    """
    result = Normalized()
    if isinstance(value.get("transport"), Mapping):  # the whole server may be in it
        value = {**value["transport"], **{key: part for key, part in value.items() if key != "transport"}}
    entries = dict(_renamed(value, result))
    for key, part in entries.items():
        _READERS.get(key, _other)(key, part, result)
    if isinstance(entries.get("command"), str):
        _split_command(result, directory)
    _read_type(entries, result)
    for key in _NUMBERS:
        if key in result.table:
            _read_seconds(key, is_foreign=is_foreign, result=result)
    return result


def _listed(keys: Iterable[str]) -> str:
    names = [f"`{key[:_KEY_LENGTH]}`" for key in dict.fromkeys(keys)]
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _renamed(value: Mapping[str, Any], result: Normalized) -> Iterator[tuple[str, Any]]:
    """Yield each entry under our key; entries that are null, and second keys with the same meaning, are omitted."""
    for key, part in value.items():
        name = SYNONYMS.get(key, key)
        if part is None or key in NEEDLESS:
            continue
        if name != key and name in value:
            result.ignored.append(key)
            continue
        if key == "startup_timeout_ms" and isinstance(part, int | float):
            part = part / 1_000
        yield name, part


Reader = Callable[[str, Any, Normalized], None]


def _other(key: str, _: Any, result: Normalized) -> None:
    result.ignored.append(key)


def _string(key: str, part: Any, result: Normalized) -> None:
    if isinstance(part, str | int | float) and not isinstance(part, bool):
        text = str(part)
        result.table[key] = _completed_url(text.strip(), result) if key == "url" else text
    else:
        result.ignored.append(key)


def _completed_url(text: str, result: Normalized) -> str:
    """Return the URL; if it has no scheme, `https://` is added, or `http://` for a server on this machine."""
    if not _NO_SCHEME.fullmatch(text):
        return _SCHEME.sub(lambda scheme: scheme[0].lower(), text)
    host = text.removeprefix("//")
    url = f"{'http' if _THIS_MACHINE.match(host) else 'https'}://{host}"
    result.notes.append(f"`url` is read as {re.split('[?#]', url)[0][:_LONGEST_URL]!r}")
    return url


_LONGEST_URL = 80
_SCHEME: Final = lazy_pattern(r"\Ahttps?://", re.IGNORECASE)
_NO_SCHEME: Final = lazy_pattern(r"(?://)?(?:\[[0-9A-Fa-f:.]+\]|[\w-]+(?:\.[\w-]+)*)(?::\d{1,5})?(?:[/?#]\S*)?")
"""Matches a host, possibly with a port, a path and a query; it may not be preceded by a user name or password."""
_THIS_MACHINE: Final = lazy_pattern(r"(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])(?:[:/?#]|$)", re.IGNORECASE)


def _command(_: str, part: Any, result: Normalized) -> None:
    """Read a program, a list of a program and its arguments, or a table of both."""
    if isinstance(part, Mapping):
        for key, inner in part.items():
            name = "command" if key == "path" else key
            if name in ("command", "args", "env"):
                _READERS[name](name, inner, result)
            else:
                result.ignored.append(f"command.{key}")
    elif isinstance(part, list) and part:
        words = [str(word) for word in part]
        result.table["command"] = words[0]
        result.table["args"] = words[1:] + list(result.table.get("args", []))
    else:
        _string("command", part, result)


_HARMLESS: Final = lazy_pattern(r"""(?:[^$`|&;<>()*?~#!{}\\\n]|\$\{[^}\s]*\})+""")


def _split_command(result: Normalized, directory: str) -> None:
    """Split a `command` that contains arguments too, unless the whole text is the name of a program."""
    text = result.table["command"].strip()
    if not re.search(r"\s", text) or not _HARMLESS.fullmatch(text) or _is_program(text, directory):
        return
    try:
        words = shlex.split(text)
    except ValueError:
        return
    if len(words) > 1 and "=" not in words[0] and ("/" not in words[0] or _is_program(words[0], directory)):
        result.table["command"] = words[0]
        result.table["args"] = words[1:] + list(result.table.get("args", []))
        result.notes.append(f"`command` is read as {words[0][:_KEY_LENGTH]!r} with arguments")


def _is_program(name: str, directory: str) -> bool:
    return Path(directory, name).is_file() if "/" in name else shutil.which(name) is not None


def _args(_: str, part: Any, result: Normalized) -> None:
    if isinstance(part, str):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
    elif isinstance(part, list) and all(isinstance(each, str | int | float | None) for each in part):
        words = [_plain(each) for each in part if each is not None]
    else:
        result.ignored.append("args")
        return
    result.table["args"] = [*result.table.get("args", []), *words]


def _pairs(key: str, part: Any, result: Normalized) -> None:
    """Read the table `env` or `headers`, or a list or lines of its entries; numbers and booleans become text, and
    entries without a value are omitted.
    """
    part = _table_of(part, "=" if key == "env" else ":")
    if not isinstance(part, Mapping):
        result.ignored.append(key)
        return
    values = {name: _plain(value) for name, value in part.items() if isinstance(value, str | int | float)}
    result.ignored += [f"{key}.{name}" for name, value in part.items() if name not in values and value is not None]
    result.table[key] = {**result.table.get(key, {}), **values}


def _table_of(part: Any, sign: str) -> Any:
    """Return the table for a list, or the lines, of entries: texts such as `NAME=value` (with `sign` as the separator)
    or tables with `name` and `value`. Anything else is returned unchanged.
    """
    entries = part.splitlines() if isinstance(part, str) else part
    if not isinstance(entries, list):
        return part
    table: dict[str, Any] = {}
    for entry in entries:
        if isinstance(entry, str) and sign in entry.strip().strip(sign):
            name, _, value = entry.partition(sign)
            table[name.strip()] = value.strip() if sign == ":" else value
        elif isinstance(entry, Mapping) and isinstance(entry.get("name", entry.get("key")), str):
            table[entry.get("name", entry.get("key"))] = entry.get("value")
        elif entry:
            return part
    return table


def _plain(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _switch(key: str, part: Any, result: Normalized) -> None:
    words = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
    value = part if isinstance(part, bool) else words.get(str(part).strip().lower())
    if value is None:
        result.ignored.append(key)
    else:
        result.table[key] = value


_UNITS: Final = {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_DURATION: Final = lazy_pattern(rf"([\d.]+)\s*({'|'.join(_UNITS)})s?")


def _number(key: str, part: Any, result: Normalized) -> None:
    written = _DURATION.fullmatch(part.strip().lower()) if isinstance(part, str) else None
    try:
        if written:
            part = float(written[1]) * _UNITS[written[2]]
            result.timed.add(key)
        number = float(part) if not isinstance(part, bool) else 0.0
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if 0 < number < float("inf"):
        result.table[key] = number
    else:
        result.ignored.append(key)


def _read_seconds(key: str, *, is_foreign: bool, result: Normalized) -> None:
    """Convert the value of `key` to seconds if it is in milliseconds, and limit it to a day."""
    number = result.table[key]
    if key not in result.timed and number >= (_MILLISECONDS if is_foreign else LONGEST_SECONDS + 1):
        number /= 1_000
        result.notes.append(f"`{key}` is read as milliseconds, {number:g} s")
    result.table[key] = min(number, LONGEST_SECONDS)


def _auth(_: str, part: Any, result: Normalized) -> None:
    """Read a token, the word `oauth`, or a table with the registered client."""
    kind = _auth_kind(part)
    if isinstance(part, Mapping):
        _auth_table(part, result)
    elif kind in ("oauth", *_NO_AUTH) or isinstance(part, bool):
        result.table.setdefault("oauth", part is not False and kind not in _NO_AUTH)
    elif isinstance(part, str) and kind not in _BEARER and kind not in _OTHER_AUTH:
        _token("auth", part, result)
    else:
        result.ignored.append("auth")


def _auth_table(part: Mapping[str, Any], result: Normalized) -> None:
    """Read a table with a token, headers, a user name and password, or the registered client."""
    kind = _auth_kind(next((part[key] for key in _AUTH_KINDS if isinstance(part.get(key), str)), ""))
    rest = {key: value for key, value in part.items() if key not in _AUTH_KINDS or not isinstance(value, str)}
    value = _popped(rest, _AUTH_TOKENS) or _variable(_popped(rest, _AUTH_VARIABLES))
    header = _popped(rest, ("header", "headerName", "header_name")) if kind not in ("oauth", "basic") else ""
    user, password = (rest.pop(key, None) for key in ("username", "password")) if kind == "basic" else (None, None)
    if value and header and kind in ("", *_BEARER, *_OTHER_AUTH):
        _pairs("headers", {header: value}, result)
    elif value and kind in _BEARER:
        _token("auth", value, result)
    elif kind == "basic" and isinstance(user, str) and isinstance(password, str) and "${" not in user + password:
        _token("auth", f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}", result)
    elif kind == "headers" or (not kind and "headers" in rest):
        _pairs("headers", rest.pop("headers", None), result)
    elif kind in _NO_AUTH:
        result.table.setdefault("oauth", False)
    elif kind == "oauth" or (not kind and not value):
        _oauth("oauth", rest, result, written="auth")
        return
    else:
        result.ignored.append("auth")
        return
    result.ignored += [f"auth.{key}" for key, part in rest.items() if part is not None]


def _auth_kind(part: Any) -> str:
    """Return the kind of authentication that a word names, in lower case; `oauth` for each version of OAuth.

    Returns an empty string if `part` is not text.
    """
    plain = re.sub(r"[-_ .]", "", part).lower() if isinstance(part, str) else ""
    return "oauth" if re.fullmatch(r"oauth[\d]*", plain) else plain


def _popped(table: dict[str, Any], keys: Iterable[str]) -> str:
    """Remove the first non-empty text under one of these keys from the table, and return it; empty if there is none."""
    key = next((key for key in keys if isinstance(table.get(key), str) and table[key]), "")
    return str(table.pop(key)) if key else ""


def _variable(name: str) -> str:
    return f"${{{name}}}" if name else ""


_AUTH_KINDS: Final = ("type", "kind", "scheme", "strategy", "method", "provider")
_NO_AUTH: Final = ("none", "off", "noauth", "anonymous", "disabled", "false")
_BEARER: Final = ("", "bearer", "token", "http", "bearertoken", "accesstoken", "pat")
_OTHER_AUTH: Final = ("apikey", "header", "headers", "basic", "custom")
_AUTH_TOKENS: Final = (
    *("token", "value", "bearer", "access_token", "accessToken", "bearerToken", "bearer_token"),
    *("api_key", "apiKey", "key"),
)
_AUTH_VARIABLES: Final = (
    *("token_env", "tokenEnv", "env", "env_var", "envVar", "token_env_var", "tokenEnvVar", "variable"),
    *("bearer_token_env_var", "bearerTokenEnvVar", "value_env", "api_key_env", "apiKeyEnv"),
)


def _token(key: str, part: Any, result: Normalized) -> None:
    if not isinstance(part, str) or not part:
        result.ignored.append(key)
        return
    value = part if re.match(r"(?i)(?:bearer|basic|token) ", part) else f"Bearer {part}"
    headers = result.table.setdefault("headers", {})
    if not any(name.lower() == "authorization" for name in headers):
        result.table["headers"] = {**headers, "Authorization": value}


def _token_variable(key: str, part: Any, result: Normalized) -> None:
    _token(key, f"${{{part}}}" if isinstance(part, str) and part else None, result)


def _variables(key: str, part: Any, result: Normalized) -> None:
    """Read names of variables: a list (`envKeys`) of those to pass on, or a table of headers and their variables."""
    target = "env" if key == "envKeys" else "headers"
    if isinstance(part, list) and key == "envKeys":
        part = {name: name for name in part if isinstance(name, str)}
    if isinstance(part, Mapping):
        _pairs(target, {name: f"${{{variable}}}" for name, variable in part.items()}, result)
    else:
        result.ignored.append(key)


def _oauth(key: str, part: Any, result: Normalized, *, written: str = "oauth") -> None:
    if isinstance(part, bool):
        result.table[key] = part
        return
    if not isinstance(part, Mapping):
        result.ignored.append(key)
        return
    client: dict[str, Any] = {}
    for name, value in part.items():
        ours = _OAUTH.get(str(name).replace("_", "").lower())
        expected = int if ours == "callbackPort" else str
        if ours is not None and isinstance(value, expected) and not isinstance(value, bool):
            client[ours] = value
        elif value is not None:
            result.ignored.append(f"{written}.{name}")
    result.table[key] = client


def _request_options(key: str, part: Any, result: Normalized) -> None:
    if not isinstance(part, Mapping):
        result.ignored.append(key)
        return
    for name, inner in part.items():
        if name == "headers":
            _pairs("headers", inner, result)
        else:
            result.ignored.append(f"{key}.{name}")


def _names(key: str, part: Any, result: Normalized) -> None:
    """Read the names of tools that are not offered, or of the only ones that are; `*` stands for all."""
    if isinstance(part, Mapping):
        lists = {"include": "onlyTools", "exclude": "hiddenTools"}
        for inner, names in part.items():
            if inner in lists and isinstance(names, list):
                _names(lists[inner], names, result)
            else:
                result.ignored.append(f"{key}.{inner}")
        return
    if not isinstance(part, list):
        result.ignored.append(key)
        return
    names = tuple(name for name in part if isinstance(name, str))
    if key == "hiddenTools":
        result.hidden_tools += names
    elif "*" not in names:
        result.only_tools += names


def _tools(key: str, part: Any, result: Normalized) -> None:
    """Read a list of the only tools to offer, or a table that disables tools; other settings of tools are ignored."""
    if isinstance(part, list):
        _names("onlyTools", part, result)
        return
    if not isinstance(part, Mapping):
        result.ignored.append(key)
        return
    for name, change in part.items():
        is_off = change is False or (isinstance(change, Mapping) and change.get("enabled") is False)
        if is_off:
            result.hidden_tools += (str(name),)
        if isinstance(change, Mapping) and change.keys() - {"enabled"}:
            result.ignored.append(f"tools.{name}")


def _no_op(_: str, __: Any, ___: Normalized) -> None:
    """Do nothing: the type is read last, because it depends on the other keys."""


_READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(_STRINGS, _string),
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(_SWITCHES, _switch),
    **dict.fromkeys(("env", "headers"), _pairs),
    **dict.fromkeys(("type", "transport"), _no_op),
    **dict.fromkeys(("hiddenTools", "onlyTools"), _names),
    **dict.fromkeys(("envKeys", "headerVariables"), _variables),
    "command": _command,
    "args": _args,
    "auth": _auth,
    "token": _token,
    "tokenVariable": _token_variable,
    "oauth": _oauth,
    "requestOptions": _request_options,
    "tools": _tools,
}


def _read_type(entries: Mapping[str, Any], result: Normalized) -> None:
    """Determine the transport from the type or, without a usable type, from the command or URL.

    A server whose type is not supported is kept, but disabled; `problem` says why.
    """
    key, table = "type" if "type" in entries else "transport", result.table
    word = entries.get(key, "")
    if not isinstance(word, str):
        result.ignored.append(key)
        word = ""
    name = re.sub(r"[-_ ]", "", word).lower()
    has_command, has_url = bool(table.get("command")), bool(table.get("url"))
    is_one = has_command != has_url and name not in _UNSUPPORTED
    if name and name not in _TYPES and is_one and not (has_url and "ws" in table["url"].partition("://")[0]):
        tried = "it is started as a program" if has_command else "HTTP is tried, then SSE"
        result.notes.append(f"`{key}` {word[:_KEY_LENGTH]!r} is unknown: {tried}")
    elif name and name not in _TYPES:
        result.problem = f"its type {word[:_KEY_LENGTH]!r} is not supported"
    kind = _TYPES.get(name, "")
    if not kind or not (has_command if kind == "stdio" else has_url):
        result.tries_sse = has_url and not has_command
        kind = "stdio" if has_command else "http"
    table["type"] = kind
