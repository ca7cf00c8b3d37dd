"""Writes a transcript as Markdown, for issues and notes, and as an HTML page; nothing in it becomes active markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from workbench.lazy_pattern import lazy_pattern
from workbench.text import first_line
from workbench.view.state import SessionState, UserItem
from workbench.view.transcript.transcript import Detail, TranscriptEntry, entries, facts

_READER = MarkdownIt("commonmark").enable("table")
_ACTIVE = frozenset({"html_block", "html_inline", "image", "link_open"})
_SPECIAL = lazy_pattern(r"([\\`*_{}\[\]()#+!|~<>&-])")


def title_of(state: SessionState) -> str:
    """Return the user's title for the session, or else the first message, on one line."""
    message = next((item.text for item in state.items if isinstance(item, UserItem)), "")
    return first_line(state.title, 100) or first_line(message, 100) or "A session"


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
        yield f"*{_plain(entry.title)}*"
    elif entry.kind == "action":
        yield f"#### {'✗ ' if entry.failed else ''}{_code(entry.title)}"
    else:
        yield f"### {_plain(entry.title)}"
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


_TEXT = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
_TEXT.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_CLASS = lazy_pattern(r' class="language-[^"]*"')


def page_of(state: SessionState, picture: str = "") -> Iterator[str]:
    """Yield the lines of the HTML page; `picture` is an SVG of the screen, shown above the rest."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(title_of(state))}</title>\n<style>\n{style}</style>\n</head>\n<body>"
    yield f"<h1>{escape(title_of(state))}</h1>\n<dl>"
    yield from (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts(state))
    yield "</dl>"
    if picture:
        yield f"<figure>{picture}</figure>"
    for entry in entries(state):
        yield from _section(entry)
    yield "</body>\n</html>"


def _section(entry: TranscriptEntry) -> Iterator[str]:
    yield f'<section class="{entry.kind}{" failed" if entry.failed else ""}">'
    tag = "h3" if entry.kind == "action" else "p" if entry.kind == "notice" else "h2"
    yield f"<{tag}>{escape(entry.title)}</{tag}>"
    if entry.text.strip():
        yield f"<div>{_CLASS.sub('', _TEXT.render(entry.text)).strip()}</div>"
    for detail in entry.folds:
        yield f"<details><summary>{escape(detail.title)}</summary>\n<pre>{_body(detail)}</pre></details>"
    yield "</section>"


def _body(detail: Detail) -> str:
    if detail.language != "diff":
        return escape(detail.body)
    return "\n".join(_diff_line(line) for line in detail.body.split("\n"))


def _diff_line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1]) if not line.startswith(("+++ ", "--- ")) else None
    return f"<{tag}>{escape(line)}</{tag}>" if tag else escape(line)
