"""Rates file actions, URLs and calls of MCP servers' tools by what they touch."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Assessment, Part, hides, one, shortened, summed
from workbench.risk.paths import PathContext, words
from workbench.risk.protected_names import is_secret
from workbench.risk.reason import Reason, Trait, failed
from workbench.secrets.masker import MASKER, masks_in

_PATH_NAMES = words("path paths file files file_path filename folder directory dir")
READS = frozenset({"view", "read"})


def assess_file(operation: str, path: str, context: PathContext) -> Assessment:
    """Rate `view`, `create`, `str_replace` or another file operation on a path; never raises."""
    try:
        return _assessed(operation, path, context)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        return one("HIGH", failed(error))


def _assessed(operation: str, path: str, context: PathContext) -> Assessment:
    if not path.startswith("/") or hides(path):
        return one("HIGH", "the path cannot be resolved", f"{operation} {path}")
    risk, reason = context.reading(path) if operation in READS else context.writing(path)
    if operation == "delete":
        risk, reason = context.deleting(path)
    shares = operation not in (*READS, "delete") and context.shares(path)
    if risk == "MEDIUM" and shares:
        risk, reason = "HIGH", "the file has another name elsewhere, which changes too"
    result = one(risk, reason, f"{operation} {path}", (path,))
    if operation in READS or not (shares or context.protects(path)):
        return result
    return result._replace(parts=tuple(part._replace(protected=(path,)) for part in result.parts))


def assess_reading(arguments: Mapping[str, Any], context: PathContext) -> Assessment:
    """Rate the call of a read-only tool by the files and directories it names, including everything below them."""
    return summed(_read(path, context) for path in named_paths(arguments, context.workspace))


def _read(path: str, context: PathContext) -> Part:
    risk, reason = context.reading(path, deep=True)
    if hides(path):
        risk, reason = "HIGH", "the path cannot be resolved"
    return Part(shortened(path), risk, reason, (path,))


def named_paths(arguments: Mapping[str, Any], directory: str) -> list[str]:
    """Return the absolute paths in arguments whose names suggest a path; `directory` is the base of relative paths."""
    result: list[str] = []
    for name, value in arguments.items():
        if name.casefold() in _PATH_NAMES:
            result += [
                each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str) and each
            ]
    return list(dict.fromkeys(_absolute(path, directory) for path in result))


def _absolute(path: str, directory: str) -> str:
    whole = os.path.expanduser(path) if path.startswith("~") else path  # noqa: PTH111 - Path costs more
    return os.path.normpath(whole if whole.startswith("/") else f"{directory}/{whole}")


_URL = lazy_pattern(r"\A\s*(?:javascript|data|file|vbscript|blob|chrome|about|view-source):", re.I)
METADATA = lazy_pattern(
    r"169\.254\.169\.254|metadata\.google|\[fd00:ec2|\b2852039166\b|0xa9fea9fe|169\.254\.170\.2\b", re.I
)
"""Matches the addresses from which cloud machines fetch their credentials."""


def assess_foreign(described: Mapping[str, Any]) -> Assessment:
    """Rate a call of an MCP server's tool, given as a mapping with `tool`, `annotations`, `pinned`, `description` and
    `args`.

    A mapping with `event` describes an event sent by a server. The optional `call` is a line that describes the call
    and names the server; it is appended to each reason.
    """
    rated, call = _rated(described), str(described.get("call", ""))
    if described.get("server"):
        rated = rated._replace(server_tool=f"{described['server']}/{described.get('tool', '')}")
    return rated._replace(reasons=tuple(f"{reason}: {call}" for reason in rated.reasons)) if call else rated


def _rated(described: Mapping[str, Any]) -> Assessment:
    tool = str(described.get("tool", ""))
    if "event" in described:
        return one("HIGH", "a server asks for something by itself", str(described["event"]))
    if described.get("description_hash_changed") or described.get("server_command_changed"):
        return one("HIGH", "has changed since it was approved", tool)
    words = f"{tool}\n{described.get('description', '')}\n{json.dumps(described.get('args', {}), ensure_ascii=False)}"
    hidden = hides(words) or (METADATA.search(str(described.get("call", ""))) and "a URL that gives out credentials")
    if hidden:
        return one("HIGH", hidden, tool)
    for value in _strings(described.get("args", {})):
        if _URL.match(value) or METADATA.search(value):
            return one("HIGH", Reason("a URL that runs code or reads files", Trait.RUNS), tool)
        if value.startswith(("/", "~")) and is_secret(value):
            return one("HIGH", "names a file that may contain secrets", tool)
    return _by_annotations(tool, described.get("annotations") or {}, bool(described.get("pinned")))


def _by_annotations(tool: str, hints: Mapping[str, Any], pinned: bool) -> Assessment:
    """Rate a tool by its annotations; `readOnlyHint` is trusted only if the tool is `pinned` (unchanged since its
    approval).
    """
    if hints.get("destructiveHint") is True and not (hints.get("readOnlyHint") and pinned):
        return one("HIGH", "the tool is marked as destructive", tool)
    if hints.get("readOnlyHint") is True and pinned:
        return Assessment("LOW")
    return one("MEDIUM", "a tool of another program", tool)


def _strings(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth > 20:
        return ["javascript:"]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for part in value for text in _strings(part, depth + 1)] if isinstance(value, list) else []


_PLAIN: Final = lazy_pattern(
    r"(?P<root>https?://(?P<host>[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)(?:[/?][!-\[\]-~]*)?", re.I
)
_DOTS: Final = lazy_pattern(r"/\.{1,2}(?:/|\Z)")
_LONGEST: Final = 600
"""The maximum length of a URL, in characters; a longer one could be used to send a file away."""


def assess_url(url: str) -> Assessment:
    """Rate reading a URL: MEDIUM, like any network access; HIGH if it is not plain or could carry data away."""
    plain = _PLAIN.fullmatch(url.strip())
    why = _danger(url, is_plain=plain is not None)
    if why or plain is None:
        return one("HIGH", why, url)
    reason = (
        Reason("reads from your local network", Trait.READS)
        if _is_private(plain["host"])
        else Reason("reads from the network", Trait.READS)
    )
    return summed([Part(shortened(url), "MEDIUM", reason, (canonical(url.strip()),))])


def canonical(url: str) -> str:
    """Return a plain URL in the form that rules match: scheme and host in lower case, and at least `/` as path."""
    result = urlsplit(url)
    query = f"?{result.query}" if result.query else ""
    return f"{result.scheme.lower()}://{result.netloc.lower()}{result.path or '/'}{query}"


def _danger(url: str, *, is_plain: bool) -> str:
    if hides(url) or not is_plain:
        return "the URL cannot be resolved"
    if METADATA.search(url):
        return "a URL that gives out credentials"
    path = unquote(unquote(urlsplit(url).path))
    if _DOTS.search(path) or "\\" in path:
        return "the URL cannot be resolved"
    if masks_in([url]) or MASKER.masked(url) != url or MASKER.masked(unquote(url)) != unquote(url):
        return "sends a secret along"
    return "is long enough to carry data away" if len(url) > _LONGEST else ""


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return "." not in host or host.lower().endswith((".local", ".internal", ".lan", ".home.arpa"))
