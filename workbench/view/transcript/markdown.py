"""Writes a transcript as Markdown, for issues and notes; nothing in it becomes active markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.token import Token

from workbench.lazy_pattern import lazy_pattern
from workbench.view.state import SessionState
from workbench.view.transcript.transcript import Detail, TranscriptEntry, entries, facts, title_of

_READER = MarkdownIt("commonmark").enable("table")
_READER.validateLink = lambda url: True  # type: ignore[method-assign]  # other readers may take any URL for a link
_ACTIVE = frozenset({"html_block", "html_inline", "image", "link_open"})
_BRACKET = lazy_pattern(r"(?<!\\)((?:\\\\)*)([\[\]<]|(?<=[^\s>\\])>)")
"""A bracket that is not escaped, after the escaped backslashes before it; `>` that begins a quotation is none."""
_LINK = lazy_pattern(r"(?<!\\)(?:\\\\)*\](?=[(:])")
_CODE_SPAN = lazy_pattern(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
"""Code within one line; code that continues on another one is treated as text."""
_SPECIAL = lazy_pattern(r"([\\`*_{}\[\]()#+!|~<>&-])")


def markdown_of(state: SessionState) -> Iterator[str]:
    """Yield the lines of the Markdown document."""
    yield f"# {_plain(title_of(state))}"
    yield ""
    yield from (f"- {name}: {_code(value)}" for name, value in facts(state))
    for entry in entries(state):
        yield ""
        yield from _written(entry)


def _written(entry: TranscriptEntry) -> Iterator[str]:
    if entry.kind == "notice":
        yield f"*{_plain(entry.heading)}*"
    elif entry.kind == "action":
        yield f"#### {'✗ ' if entry.failed else ''}{_code(entry.heading)}"
    else:
        yield f"### {_plain(entry.heading)}"
    if entry.text.strip():
        yield ""
        yield from (f"> {line}".rstrip() for line in _harmless(entry.text).split("\n"))
    for detail in entry.folds:
        yield ""
        yield from _folded(detail)


def _folded(detail: Detail) -> Iterator[str]:
    fence = "`" * max(3, _longest_run(detail.body) + 1)
    yield f"<details><summary>{_entities(detail.title)}</summary>"
    yield ""
    yield f"{fence}{detail.language}"
    yield detail.body
    yield fence
    yield ""
    yield "</details>"


def _harmless(text: str) -> str:
    """Return Markdown without active markup: HTML, links and images become the text that they were written as.

    Everything else keeps its form. If escaping brackets is not enough, all special characters are escaped. A code fence
    left open ends with the blockquote around the text.
    """
    if not _is_active(text):
        return text
    defused = "".join(part if is_code else _BRACKET.sub(r"\1\\\2", part) for part, is_code in _parts(text))
    return "\\\n".join(_plain(line) for line in text.split("\n")) if _is_active(defused) else defused


def _is_active(text: str) -> bool:
    """Return whether the text has HTML, links or images, or what another reader of Markdown might take for a link."""
    if any(token.type in _ACTIVE for token in _all(_READER.parse(text))):
        return True
    return any(_LINK.search(part) for part, is_code in _parts(text) if not is_code)


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of the text in order, and whether each is code, in which nothing is active."""
    blocks = (token.map for token in _READER.parse(text) if token.type in ("fence", "code_block") and token.map)
    code = {number for first, end in blocks for number in range(first, end)}
    lines = enumerate(re.findall(r"[^\n]*\n|[^\n]+", text))
    for is_code, group in groupby(lines, lambda numbered: numbered[0] in code):
        part = "".join(line for _, line in group)
        if is_code:
            yield part, True
            continue
        end = 0
        for span in _CODE_SPAN.finditer(part):
            yield part[end : span.start()], False
            yield span[0], True
            end = span.end()
        yield part[end:], False


def _all(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or [])


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _code(text: str) -> str:
    marks = "`" * (_longest_run(text) + 1)
    return f"{marks} {text} {marks}" if text.strip() else "–"


def _entities(text: str) -> str:
    """Return the text as HTML entities, so that neither HTML nor Markdown interprets any of it."""
    return "".join(sign if sign.isalnum() or sign in " .,:/" else f"&#{ord(sign)};" for sign in text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
