"""Rates browser calls by what each call does and the page on which it acts."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk
from workbench.risk.actions import assess_url
from workbench.risk.assessment import Assessment, Part, hides, one, shortened, summed
from workbench.risk.paths import PathContext, within
from workbench.risk.protected_names import is_secret
from workbench.secrets.masker import MASKER, masks_in
from workbench.tools.browser.calls import BrowserCall, CallError, parse_calls

_LOOKS: Final = frozenset({"noop", "scroll", "hover", "focus", "go_back", "go_forward"})
_CHANGES: Final = {
    "fill": "fills",
    "clear": "empties",
    "select_option": "chooses in",
    "press": "presses a key in",
    "drag_and_drop": "moves",
}
_OWN = lazy_pattern(r"localhost|.*\.localhost|127(?:\.\d+){3}|::1", re.IGNORECASE)


def assess_calls(
    code: str, context: PathContext, origin: str = "", elements: Mapping[str, str] = MappingProxyType({})
) -> Assessment:
    """Rate browser calls that start on the page `origin`, whose `elements` map ids to descriptions; HIGH if
    unreadable.
    """
    try:
        calls = parse_calls(code)
    except CallError:
        return one("HIGH", "the calls cannot be read", code)
    parts: list[Part] = []
    for call in calls:
        parts.append(_part(call, context, origin, elements))
        if call.name == "goto":
            origin, elements = str(call.arguments["url"]), {}
    return summed(parts)


def _part(call: BrowserCall, context: PathContext, origin: str, elements: Mapping[str, str]) -> Part:
    text = shortened(str(call))
    why = _hidden(call)
    if why:
        return Part(text, "HIGH", why)
    if call.name == "goto":
        return _going(text, str(call.arguments["url"]))
    if call.name in _LOOKS:
        return Part(text, "LOW")
    if call.name == "upload_file":
        return _giving(text, call.arguments["file"], context, origin)
    element = elements.get(str(call.arguments.get("bid", call.arguments.get("from_bid", ""))), "")
    what = _CHANGES.get(call.name, "clicks")
    return Part(text, "MEDIUM", f"{what}{f' {element}' if element else ''} on {_host(origin)}")


def _hidden(call: BrowserCall) -> str:
    """Return why an argument is suspicious: it hides something or contains a secret; empty if neither applies."""
    strings = [str(value) for value in call.arguments.values()]
    if any(hides(text) for text in strings):
        return "an argument cannot be resolved"
    gives = masks_in(strings) or any(MASKER.masked(text) != text for text in strings)
    return "sends a secret along" if gives else ""


def _going(text: str, url: str) -> Part:
    """Rate opening a URL; the page's code is not rated, because it runs only inside the browser."""
    if url == "about:blank":
        return Part(text, "LOW")
    result = assess_url(url)
    if result.risk == "HIGH":
        return Part(text, "HIGH", result.reasons[0] if result.reasons else "the URL cannot be resolved")
    host = urlsplit(url).hostname or ""
    risk: Risk = "MEDIUM"
    reason = f"opens a page of {_host(url)}"
    if _OWN.fullmatch(host):
        reason = "opens a page of this machine"
    elif not _is_public(host):
        risk, reason = "HIGH", "opens a page on your local network"
    return Part(text, risk, reason)


def _giving(text: str, files: list[str], context: PathContext, origin: str) -> Part:
    """Rate uploading files to a page."""
    for file in files:
        path = file if file.startswith("/") else str(Path(context.workspace) / file)
        if is_secret(path) or is_secret(context.resolved(path)):
            return Part(text, "HIGH", f"passes a file that may contain secrets to {_host(origin)}", tuple(files))
        if not within(context.resolved(path), context.workspace):
            return Part(text, "HIGH", f"passes a file from outside the workspace to {_host(origin)}", tuple(files))
    is_own = _OWN.fullmatch(urlsplit(origin).hostname or "") is not None
    return Part(text, "MEDIUM" if is_own else "HIGH", f"passes a workspace file to {_host(origin)}", tuple(files))


def _host(origin: str) -> str:
    return urlsplit(origin).hostname or "the page"


def _is_public(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".internal", ".lan", ".home.arpa"))
