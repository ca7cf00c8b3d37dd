"""Finds the values in the manifests of Kubernetes Secrets, which may have any key and any form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.lazy_pattern import lazy_pattern

_KIND = lazy_pattern(r"\bkind\\?[\"']?:[ \t]*\\?[\"']?Secret(?:List)?\b")
_OTHER_KIND = lazy_pattern(r"\bkind\\?[\"']?:[ \t]*\\?[\"']?(?!(?:Secret|SecretList|List)\b)[A-Za-z]+[\s\"'\\,}]")
_BEGIN = lazy_pattern(r"^[ \t{-]*[\"']?apiVersion[\"']?:", re.MULTILINE)
_DOCUMENT = lazy_pattern(r"^---.*$", re.MULTILINE)
_BLOCK = lazy_pattern(
    r"^(?P<indent>[ \t-]*)(?:data|stringData):[ \t]*\r?\n(?P<lines>(?:(?P=indent)[ \t]+\S.*(?:\n|\Z))+)", re.M
)
_LINE = lazy_pattern(
    r"^[ \t]+(?:[\"']?[\w.-]+[\"']?:[ \t]+(?!‹|[\"']?(?:[{<]|\$\{))(?P<value>[^|>\s].*?)"
    r"|(?![\"']?[\w.-]+[\"']?:(?:\s|$))(?P<line>(?!‹)\S.*?))[ \t]*\r?$",
    re.MULTILINE,
)
_OBJECT = lazy_pattern(r"\\?\"(?:data|stringData)\\?\"[ \t]*:\s*\{(?P<items>[^{}]*)\}")
_ITEM = lazy_pattern(r":[ \t]*\\?\"(?P<value>(?!‹|[{<]|\$\{)(?:[^\"\\]|\\[^\"])+)\\?\"")


def values_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield, in order, the start and end of each value of a Secret; a text may contain several manifests."""
    if not _KIND.search(text):
        return
    starts = [0, *(mark.end() for mark in _DOCUMENT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if _KIND.search(text, start, end):
            yield from sorted({*_in_yaml(text, start, end), *_in_json(text, start, end)})


def unfinished_manifest(text: str) -> int | None:
    """Return the start of the last manifest in an incomplete text if it may be that of a Secret, or None."""
    starts = [mark.start() for mark in _BEGIN.finditer(text)]
    for start in starts[:1] if starts and _KIND.search(text) else starts[-1:]:
        if not _OTHER_KIND.search(text, start):
            return start
    return None


def _in_yaml(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for block in _BLOCK.finditer(text, start, end):
        for line in _LINE.finditer(text, block.start("lines"), block.end("lines")):
            yield line.span(line.lastgroup or 0)


def _in_json(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for block in _OBJECT.finditer(text, start, end):
        for item in _ITEM.finditer(text, block.start("items"), block.end("items")):
            yield item.span("value")
