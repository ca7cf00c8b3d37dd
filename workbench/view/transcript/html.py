"""Writes a session as one HTML page that works without a network; nothing of the session becomes active in it.

Its content security policy admits only the page's own style and script, by their hashes, so that even text that was not
escaped would do nothing. Without scripts, the page can be read and unfolded, but has neither search nor keys.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from markdown_it import MarkdownIt

from workbench.durations import measured_duration
from workbench.lazy_pattern import lazy_pattern
from workbench.text import counted, visible
from workbench.view.formatting.actions import plus_minus, short_path
from workbench.view.state import ActionItem, SessionState
from workbench.view.transcript.transcript import Detail, RecordedState, TranscriptEntry, entries, facts, title_of
from workbench.view.usage import tokens

_READER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
_READER.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])
_LANGUAGE = lazy_pattern(r' class="language-[^"]*"')
_ALIGNMENT = lazy_pattern(r'(<t[dh]) style="text-align:(\w+)"')
"""Matches the inline styles of table cells, which the policy of the page does not admit; classes replace them."""
_MARKUP = lazy_pattern(r"[`*_\[<&|\\~]|^[ \t>#+=\d-]", re.MULTILINE)
"""Matches what may be Markdown: most messages have none, and parsing all would take longer than the rest of the page.
"""
_PARAGRAPHS = lazy_pattern(r"\n[ \t]*\n\s*")
_DIFF_TAGS = {"+": "ins", "-": "del", "@": "i"}
_OPEN_DIFF = 60
"""Lines up to which the diffs of a step are open at first."""
_TASK_ICONS = {"todo": "○", "in_progress": "◐", "done": "✓"}
_KEYS = {
    "j, k": "next, previous step",
    "n, p": "next, previous message of the user",
    "o": "expand or collapse the step",
    "e": "expand or collapse all steps",
    "/": "search",
    "Esc": "show everything again",
    "t": "dark or light",
    "?": "these keys",
}


def page_of(recorded: RecordedState, picture: str = "") -> Iterator[str]:
    """Yield the lines of the page; `picture` is an SVG of the screen, shown above the rest."""
    state = recorded.state
    style, script = _part("page.css"), _part("page.js")
    title = escape(title_of(state))
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>"
    yield (
        '<div id="tools"><input id="search" type="search" placeholder="Search ( / )" aria-label="Search">'
        '<output id="count"></output><button id="fold">Expand all</button><button id="theme">Dark or light</button>'
        '<button id="help" title="Keys" aria-label="Keys">?</button></div>\n</header>'
    )
    yield '<div id="page">\n<aside>'
    yield from _facts(recorded)
    yield from _costs(recorded)
    yield from _tasks(state)
    yield from _changes(state)
    yield '<nav id="timeline" aria-label="Timeline"></nav>\n</aside>\n<main>'
    if picture:
        yield f'<figure><img alt="The screen" src="data:image/svg+xml;base64,{_base64(picture)}"></figure>'
    for entry in entries(state):
        yield _step(entry) if entry.kind == "action" else _message(entry)
    yield f"</main>\n</div>\n{_help()}\n<script>{script}</script>\n</body>\n</html>"


def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the policy that admits this style, this script and embedded pictures, and nothing else."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode(errors="replace")).decode()


def _facts(recorded: RecordedState) -> Iterator[str]:
    rows = facts(recorded.state)
    if recorded.began is not None and recorded.ended is not None:
        took = measured_duration((recorded.ended - recorded.began).total_seconds())
        rows.append(("Time", f"{recorded.began:%Y-%m-%d %H:%M} UTC, {took}"))
    yield '<section id="facts">\n<h2>Session</h2>\n<dl>'
    yield from (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    yield "</dl>\n</section>"


def _costs(recorded: RecordedState) -> Iterator[str]:
    if not recorded.models:
        return
    yield '<section id="costs">\n<h2>Costs</h2>\n<table>'
    yield "<tr><th>Model</th><th>Calls</th><th>In</th><th>Out</th><th>Cost</th></tr>"
    for name, totals in sorted(recorded.models.items(), key=lambda row: row[1].cost, reverse=True):
        cells = (name, f"{totals.calls:,}", tokens(totals.input), tokens(totals.output), totals.price)
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</table>\n</section>"


def _tasks(state: SessionState) -> Iterator[str]:
    if not state.tasks:
        return
    done = sum(task.status == "done" for task in state.tasks)
    yield f'<section id="tasks">\n<h2>Plan {done}/{len(state.tasks)}</h2>\n<ul>'
    for task in state.tasks:
        title = escape(visible(task.title, lines=False))
        steps = f" <small>{_anchors(task.steps)}</small>" if task.steps else ""
        status = task.status.replace("_", " ")
        yield f'<li class="{task.status}" title="{status}">{_TASK_ICONS[task.status]} {title}{steps}</li>'
    yield "</ul>\n</section>"


def _anchors(steps: Sequence[int]) -> str:
    """Return links to the first and the last of the steps."""
    return " – ".join(f'<a href="#s{step}">{step}</a>' for step in dict.fromkeys((steps[0], steps[-1])))


def _changes(state: SessionState) -> Iterator[str]:
    if not state.changes:
        return
    last = _last_steps(state.items)
    yield f'<section id="changes">\n<h2>{counted(len(state.changes), "file")} changed</h2>\n<ul>'
    for path, file in state.changes.items():
        name = escape(short_path(path, state.workspace))
        linked = f'<a href="#s{last[path]}">{name}</a>' if path in last else name
        note = visible(file.note, lines=False) if file.note else plus_minus(file.added, file.removed)
        yield f"<li>{linked} <small>{escape(note)}</small></li>"
    yield "</ul>\n</section>"


def _last_steps(items: Iterable[object]) -> dict[str, int]:
    """Return the number of the last step of the agent's own that changed each file."""
    own = (item for item in items if isinstance(item, ActionItem) and not item.agent)
    return {delta.path: item.number for item in own for delta in item.files}


def _message(entry: TranscriptEntry) -> str:
    tag = "p" if entry.kind == "notice" else "h2"
    facts = f" <small>{escape(entry.facts)}</small>" if entry.facts else ""
    text = f"<div>{_markup(entry.text)}</div>" if entry.text.strip() else ""
    folds = "".join(f"<details><summary>{escape(part.title)}</summary>{_pre(part)}</details>" for part in entry.folds)
    classes = f"{entry.kind} failed" if entry.failed else entry.kind
    return f'<section class="{classes}"><{tag}>{escape(entry.title)}{facts}</{tag}>{text}{folds}</section>'


def _step(entry: TranscriptEntry) -> str:
    at = f"{entry.at:%H:%M:%S} · " if entry.at is not None else ""
    folds = sorted(entry.folds, key=lambda part: part.language != "diff")
    changes = sum(part.body.count("\n") + 1 for part in folds if part.language == "diff")
    name = f' id="s{entry.number}"' if entry.number else ""
    state = " open" if 0 < changes <= _OPEN_DIFF else ""
    classes = "action failed" if entry.failed else "action"
    parts = "".join(f"<h3>{escape(part.title)}</h3>{_pre(part)}" for part in folds)
    summary = f"{escape(entry.title)} <small>{at}{escape(entry.facts)}</small>"
    return f'<details class="{classes}"{name}{state}><summary>{summary}</summary>{parts}</details>'


def _markup(text: str) -> str:
    if _MARKUP.search(text):
        html = _LANGUAGE.sub("", _READER.render(text)).strip()
        return _ALIGNMENT.sub(r'\1 class="\2"', html)
    paragraphs = (escape(part).replace("\n", "<br>\n") for part in _PARAGRAPHS.split(text.strip()))
    return "\n".join(f"<p>{part}</p>" for part in paragraphs)


def _pre(part: Detail) -> str:
    # HTML drops a newline at the beginning.
    return f"<pre>\n{_diff(part.body) if part.language == 'diff' else escape(part.body, quote=False)}</pre>"


def _diff(body: str) -> str:
    lines = body.split("\n")
    # A removed `-- comment` looks like the line that names the file.
    names = 2 if lines[0].startswith("--- ") else 0
    runs = groupby(lines[names:], key=lambda line: _DIFF_TAGS.get(line[:1], ""))
    return _run("", lines[:names]) + "".join(_run(tag, part) for tag, part in runs)


def _run(tag: str, lines: Iterable[str]) -> str:
    text = escape("".join(f"{line}\n" for line in lines), quote=False)
    return f"<{tag}>{text}</{tag}>" if tag else text


def _help() -> str:
    rows = "".join(f"<dt><kbd>{key}</kbd></dt><dd>{what}</dd>" for key, what in _KEYS.items())
    return f'<dialog id="keys">\n<h2>Keys</h2>\n<dl>{rows}</dl>\n<button id="close">Close</button>\n</dialog>'
