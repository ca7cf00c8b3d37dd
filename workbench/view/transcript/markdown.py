"""Writes a transcript as Markdown, for issues and notes; nothing in it becomes active markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from workbench.lazy_pattern import lazy_pattern
from workbench.view.state import SessionState
from workbench.view.transcript.transcript import Detail, TranscriptEntry, entries, facts, title_of

_READER = MarkdownIt("commonmark").enable("table")
_ACTIVE = frozenset({"html_block", "html_inline", "image", "link_open"})
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
    """Return Markdown unchanged if it is harmless; if it has HTML, links or images, escape all special characters.

    A code fence left open ends with the blockquote around the text.
    """
    if any(token.type in _ACTIVE for token in _all(_READER.parse(text))) or "](" in text or "]:" in text:
        return "\\\n".join(_plain(line) for line in text.split("\n"))
    return text


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
