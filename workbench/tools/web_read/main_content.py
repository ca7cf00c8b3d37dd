"""Finds the main text of an HTML page: the element marked as such, or else the element with the most paragraphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from bs4 import BeautifulSoup, Tag

_NO_TEXT = (
    *("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "audio", "video"),
    *("select", "button", "input", "textarea"),
)
_HIDDEN = (
    '[hidden], [aria-hidden="true"], [style*="display:none"], [style*="display: none"], [style*="visibility:hidden"]'
)
_AROUND = (
    'nav, footer, aside, dialog, [role="navigation"], [role="banner"], [role="contentinfo"], [role="complementary"], '
    '[role="search"], [role="dialog"], [role="alertdialog"]'
)
_MARKED = ('main, [role="main"]', "article", '#content, #main-content, .main-content, [itemprop="articleBody"]')
_BLOCKS = ("p", "pre", "blockquote", "td", "dd", "li")
_ENOUGH = 200
"""The minimum length of a main text, in characters."""
_SHARE = 0.3
"""The minimum share of the page's text for a main text that is not marked as such."""


def without_unseen(soup: BeautifulSoup) -> Tag:
    """Return the body without elements that are not text or are hidden."""
    for unwanted in soup.find_all(_NO_TEXT):
        unwanted.decompose()
    for unseen in soup.select(_HIDDEN):
        if unseen.name not in ("html", "body") and not unseen.decomposed:
            unseen.decompose()
    return soup.body or soup


def main_content(body: Tag) -> Tag:
    """Return the element with the main text; if none is recognized, the body without navigation and the like."""
    for marks in _MARKED:
        element = _longest(body.select(marks))
        if element is not None and _length(element) >= _ENOUGH:
            return _cleared(element)
    whole = _length(body)
    _cleared(body)
    for header in body.find_all("header"):
        if header.find_parent(["article", "main"]) is None and header.find("h1") is None:
            header.decompose()
    dense = _densest(body)
    return dense if dense is not None and _length(dense) >= max(_ENOUGH, _SHARE * whole) else body


def _cleared(element: Tag) -> Tag:
    for around in element.select(_AROUND):
        if not around.decomposed:
            around.decompose()
    return element


def _longest(elements: Iterable[Tag]) -> Tag | None:
    return max(elements, key=_length, default=None)


def _length(tag: Tag) -> int:
    return sum(len(text.strip()) for text in tag.strings)


def _densest(body: Tag) -> Tag | None:
    """Return the element with the most paragraphs: each counts fully for its parent, and half for its grandparent."""
    points: dict[int, float] = defaultdict(float)
    tags: dict[int, Tag] = {}
    for block in body.find_all(_BLOCKS):
        text = block.get_text(" ", strip=True)
        if len(text) < 25 or block.parent is None:
            continue
        worth = 1 + text.count(",") * 0.5 + min(len(text) / 100, 3)
        for tag, share in zip((block.parent, block.parent.parent), (1, 0.5), strict=True):
            if tag is not None:
                points[id(tag)] += worth * share
                tags[id(tag)] = tag
    best = sorted(points, key=points.__getitem__)[-5:]
    chosen = max(best, key=lambda each: points[each] * (1 - _linked(tags[each])), default=None)
    return None if chosen is None else tags[chosen]


def _linked(tag: Tag) -> float:
    """Return the share of the text that is in links, from 0 to 1."""
    return min(1.0, sum(_length(link) for link in tag.find_all("a")) / max(1, _length(tag)))
