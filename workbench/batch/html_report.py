"""Writes a document as one HTML page that needs no network and no script; nothing in it becomes active.

Its content security policy admits only the page's own style, by its hash, so that even text that was not escaped would
do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from workbench.batch.charts import svg_of
from workbench.batch.document import ReportDocument, ReportSection
from workbench.text import visible


def html_of(document: ReportDocument) -> Iterator[str]:
    """Yield the lines of a page with the document."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = _safe(document.title)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    yield from (f"<p>{_safe(sentence)}</p>" for sentence in document.summary)
    for section in document.sections:
        yield from _section(section)
    yield "</body>\n</html>"


def _section(section: ReportSection) -> Iterator[str]:
    yield f"<section>\n<h2>{_safe(section.title)}</h2>"
    if section.chart is not None:
        yield "<figure>"
        yield from svg_of(section.chart)
        yield "</figure>"
    if section.rows:
        classes = [column.kind for column in section.columns]
        yield '<div class="wide"><table>\n<thead><tr>'
        for column in section.columns:
            yield f'<th scope="col" class="{column.kind}">{_safe(column.title)}</th>'
        yield "</tr></thead>\n<tbody>"
        for row in section.rows:
            cells = (f'<td class="{class_}">{_safe(cell)}</td>' for class_, cell in zip(classes, row, strict=True))
            yield f"<tr>{''.join(cells)}</tr>"
        yield "</tbody></table></div>"
    yield from (f'<p class="note">{_safe(note)}</p>' for note in section.notes)
    yield "</section>"


def _safe(text: str) -> str:
    return escape(visible(text, lines=False))
