"""A transcript as Markdown, for issues and notes; nothing that a session holds becomes markup of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from workbench.text import first_line
from workbench.view.state import SessionState, UserItem
from workbench.view.transcript.transcript import Entry, Fold, entries, facts

_READER = MarkdownIt("commonmark").enable("table")
_ACTIVE = frozenset({"html_block", "html_inline", "image", "link_open"})
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~<>&-])")


def title_of(state: SessionState) -> str:
    """What the person calls the session, or said first, on one line."""
    said = next((item.text for item in state.items if isinstance(item, UserItem)), "")
    return first_line(state.title, 100) or first_line(said, 100) or "A session"


def markdown_of(state: SessionState) -> Iterator[str]:
    """The lines of the document."""
    yield f"# {_plain(title_of(state))}"
    yield ""
    yield from (f"- {name}: {_code(value)}" for name, value in facts(state))
    for entry in entries(state):
        yield ""
        yield from _written(entry)


def _written(entry: Entry) -> Iterator[str]:
    if entry.kind == "notice":
        yield f"*{_plain(entry.title)}*"
    elif entry.kind == "action":
        yield f"#### {'✗ ' if entry.failed else ''}{_code(entry.title)}"
    else:
        yield f"### {_plain(entry.title)}"
    if entry.text.strip():
        yield ""
        yield from (f"> {line}".rstrip() for line in _harmless(entry.text).split("\n"))
    for fold in entry.folds:
        yield ""
        yield from _folded(fold)


def _folded(fold: Fold) -> Iterator[str]:
    fence = "`" * max(3, _longest_run(fold.body) + 1)
    yield f"<details><summary>{_entities(fold.title)}</summary>"
    yield ""
    yield f"{fence}{fold.language}"
    yield fold.body
    yield fence
    yield ""
    yield "</details>"


def _harmless(text: str) -> str:
    """Markdown as it is, where it is only that; with HTML, links or pictures in it every sign of its stands for itself.

    The quote around it ends a fence that was left open.
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
    """For a line of HTML in Markdown: nothing in it is read as either."""
    return "".join(sign if sign.isalnum() or sign in " .,:/" else f"&#{ord(sign)};" for sign in text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
