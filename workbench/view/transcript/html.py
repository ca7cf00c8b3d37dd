"""A transcript as one HTML page that needs nothing beside it; no word of a session becomes markup, script or link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from workbench.view.state import SessionState
from workbench.view.transcript.markdown import title_of
from workbench.view.transcript.transcript import Entry, Fold, entries, facts

_TEXT = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
_TEXT.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_CLASS = re.compile(r' class="language-[^"]*"')


def page_of(state: SessionState, picture: str = "") -> Iterator[str]:
    """The lines of the page; `picture` is an SVG of the screen that stands above the rest."""
    style = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
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


def _section(entry: Entry) -> Iterator[str]:
    yield f'<section class="{entry.kind}{" failed" if entry.failed else ""}">'
    tag = "h3" if entry.kind == "action" else "p" if entry.kind == "notice" else "h2"
    yield f"<{tag}>{escape(entry.title)}</{tag}>"
    if entry.text.strip():
        yield f"<div>{_CLASS.sub('', _TEXT.render(entry.text)).strip()}</div>"
    for fold in entry.folds:
        yield f"<details><summary>{escape(fold.title)}</summary>\n<pre>{_body(fold)}</pre></details>"
    yield "</section>"


def _body(fold: Fold) -> str:
    if fold.language != "diff":
        return escape(fold.body)
    return "\n".join(_diff_line(line) for line in fold.body.split("\n"))


def _diff_line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1]) if not line.startswith(("+++ ", "--- ")) else None
    return f"<{tag}>{escape(line)}</{tag}>" if tag else escape(line)
