"""Finds the links of a message that can be opened."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from workbench.lazy_pattern import lazy_pattern

_MOST: Final = 50
_LONGEST: Final = 2_000
_URL: Final = lazy_pattern(r"https?://[!-~]+")
"""Printable ASCII only: a URL with other characters may look like another one."""
_ENDS: Final = ".,;:!?'\"*_`>)]}"
"""Characters that end a sentence or a pair of brackets around a URL rather than the URL."""
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}


def urls_in(text: str) -> list[str]:
    """Return the http(s) URLs in a text, each once, in order; at most 50."""
    urls: dict[str, None] = {}
    for match in _URL.finditer(text):
        url = _without_end(re.split(r"[<>\"`\\^|]|\]\(", match[0], maxsplit=1)[0])
        if len(url) <= _LONGEST and _has_host(url):
            urls[url] = None
        if len(urls) == _MOST:
            break
    return list(urls)


def _without_end(url: str) -> str:
    while url and url[-1] in _ENDS:
        opening = _PAIRS.get(url[-1])
        if opening is not None and url.count(opening) >= url.count(url[-1]):
            break
        url = url[:-1]
    return url


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False
