"""The risk of reading an address of the web: where it leads, and what it could carry away; used by `local`."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import unquote, urlsplit

from workbench.security.assessment import Assessment, Part, one, shortened, summed
from workbench.security.foreign import METADATA
from workbench.security.hidden import hides
from workbench.security.secrets import KNOWN, masks_in

_PLAIN: Final = re.compile(
    r"(?P<root>https?://(?P<host>[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)(?:[/?][!-\[\]-~]*)?", re.I
)
_DOTS: Final = re.compile(r"/\.{1,2}(?:/|\Z)")
_LONGEST: Final = 600
"""Characters of an address from which it could carry a file away."""


def assess_address(url: str) -> Assessment:
    """The rating of reading it: MEDIUM, as all of the network; HIGH where it is not plain or carries something off."""
    plain = _PLAIN.fullmatch(url.strip())
    why = _danger(url, is_plain=plain is not None)
    if why or plain is None:
        return one("HIGH", why, url)
    reason = "reads from the own network" if _is_private(plain["host"]) else "reads from the network"
    return summed([Part(shortened(url), "MEDIUM", reason, (canonical(url.strip()),))])


def canonical(url: str) -> str:
    """A plain address as rules are held against it: scheme and host in small letters, a path always."""
    found = urlsplit(url)
    query = f"?{found.query}" if found.query else ""
    return f"{found.scheme.lower()}://{found.netloc.lower()}{found.path or '/'}{query}"


def _danger(url: str, *, is_plain: bool) -> str:
    if hides(url) or not is_plain:
        return "the address is not plain"
    if METADATA.search(url):
        return "an address that gives out keys"
    path = unquote(unquote(urlsplit(url).path))
    if _DOTS.search(path) or "\\" in path:
        return "the address is not plain"
    if masks_in([url]) or KNOWN.masked(url) != url or KNOWN.masked(unquote(url)) != unquote(url):
        return "sends a secret along"
    return "is long enough to carry data away" if len(url) > _LONGEST else ""


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return "." not in host or host.lower().endswith((".local", ".internal", ".lan", ".home.arpa"))
