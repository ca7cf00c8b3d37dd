"""The proxies that the environment names: OpenAPI calls go through them, pages only where the settings say so.

A page's name is resolved here and only the address that was checked is connected to; a proxy would resolve it again. An
error of a page that is read without one says so where that matters.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

_UNUSED = (
    " The environment names a proxy for it, and pages are not read through proxies; `proxy = true` in [tools.web_read] "
    "lets web_read do so."
)
_OWN = re.compile(r"(?:.+\.)?localhost|127(?:\.\d+){3}|::1", re.IGNORECASE)


def proxy_of(url: str) -> str:
    """The proxy for an address by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; empty where none is meant.

    None is for this machine itself.
    """
    parts = urlsplit(url)
    known = getproxies_environment()
    found = known.get(parts.scheme) or known.get("all") or ""
    if not found or _OWN.fullmatch(parts.hostname or "") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    return found if "://" in found else f"http://{found}"


def unused_note(url: str) -> str:
    """What to add where an address could not be reached although the environment names a way."""
    return _UNUSED if proxy_of(url) else ""
