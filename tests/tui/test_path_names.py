"""Paths with line breaks, tabs, odd blanks or direction marks: no two of them look alike where the user decides."""

from itertools import product
from pathlib import Path

import pytest

from workbench.diff.hunks import compare
from workbench.protocol.events import FileDelta
from workbench.protocol.stale_file import StaleFile
from workbench.rules.rule import parse_rule
from workbench.rules.rule_files import command_subject
from workbench.rules.rule_set import deciding
from workbench.session.actions.fingerprint import executed_changes
from workbench.session.actions.stale_files import stale_reasons
from workbench.session.storage.session_list import SessionSummary
from workbench.text import visible_path
from workbench.tui.widgets.activity import _action
from workbench.tui.widgets.changes_panel import file_line
from workbench.tui.widgets.status_line import _directory_part
from workbench.tui.widgets.viewer_title import ViewerTitle
from workbench.view.formatting.actions import action_line, headline, short_path
from workbench.view.formatting.approval import files_written, on_one_line, what_runs, why_asked
from workbench.view.formatting.detail import full_text
from workbench.view.formatting.sessions import SessionRow, details, directory_heading
from workbench.view.state import ActionItem, FileState

NAMES = {
    "space": "a b",
    "newline": "a\nb",
    "return": "a\rb",
    "tab": "a\tb",
    "form feed": "a\fb",
    "next line": "a\x85b",
    "line separator": "a\u2028b",
    "no-break space": "a\u00a0b",
    "thin space": "a\u2009b",
    "ideographic space": "a\u3000b",
    "direction": "a\u202eb",
    "isolate": "a\u2066b",
    "zero width": "a\u200bb",
    "nothing": "ab",
    "backslash n": "a\\nb",
    "backslash u": "a\\u2028b",
    "two backslashes": "a\\\\nb",
    "space at the end": "ab ",
    "two at the end": "ab  ",
    "no-break at the end": "ab\u00a0",
    "newline at the end": "ab\n",
    "accent": "\u00e9",
    "accent apart": "e\u0301",
    "other letters": "\u0430\u0435\u043e",
    "these letters": "aeo",
}


def _edit(path: str, **more: object) -> ActionItem:
    delta = FileDelta(path=path, before="x\n", after="y\n")
    arguments = {"command": "create", "path": path, "file_text": "y\n"}
    return ActionItem(1, 1, "a", "str_replace_editor", arguments, preview=(delta,), working_dir="/w", **more)  # type: ignore[arg-type]


def _text(lines: object) -> str:
    return "\n".join(line.text for line in lines)  # type: ignore[attr-defined]


def _reason(path: str) -> str:
    (line,) = stale_reasons([StaleFile(path=path, seen="x\n", theirs="z\n", wanted="y\n")])
    return on_one_line(line)


SURFACES = {
    "question, edit": lambda path: _text(what_runs(_edit(path))),
    "question, diff": lambda path: files_written(_edit(path))[0].path,
    "question, directory": lambda path: _text(why_asked(ActionItem(1, 1, "a", "x", {}, working_dir=path), "high")),
    "question, argument": lambda path: _text(what_runs(ActionItem(1, 1, "a", "deploy", {"path": path}))),
    "question, stale": lambda path: _text(
        what_runs(_edit(path, stale=(StaleFile(path=path, seen="x\n", theirs="z\n", wanted="y\n"),)))
    ),
    "question, stale reason": _reason,
    "question, executed": lambda path: on_one_line(executed_changes({}, {path: "1"}, "/w")),
    "full text": lambda path: full_text(_edit(path)),
    "timeline": lambda path: action_line(_edit(path), "/w"),
    "activity": lambda path: _action(_edit(path), "/w"),
    "changes": lambda path: "".join(piece.text for piece in file_line(FileState(path, "", "x"), "/w", 80)),
    "diff viewer": lambda path: ViewerTitle("", compare(short_path(path, "/w"), "x", "y"), 0).content.plain,
    "status line": lambda path: _directory_part(Path(path), "", 80).plain,
    "sessions": lambda path: details(SessionRow(SessionSummary("s", workspace=path))),
    "sessions, heading": lambda path: "".join(
        piece.text for piece in directory_heading(SessionRow(SessionSummary("s", workspace=path)))
    ),
    "headless": lambda path: headline("str_replace_editor", {"command": "view", "path": path}),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_no_two_paths_look_alike(surface):
    texts = {name: SURFACES[surface](f"/w/{path}") for name, path in NAMES.items()}
    alike = [(one, other) for one, other in product(texts, texts) if one < other and texts[one] == texts[other]]
    assert alike == []
    assert [name for name, text in texts.items() if not text.replace("\n", "").isprintable()] == []
    assert "a\\nb" in texts["newline"]
    assert "a b" in texts["space"]


def test_the_reason_of_a_rule_shows_the_name_of_a_script(tmp_path):
    for name in ("a\nb.sh", "a b.sh"):
        (tmp_path / name).write_text("git push\n")
    lines = [f"sh $'{name}.sh'" for name in ("a\\nb", "a b")]
    rules = [deciding([parse_rule("deny $ git push *")], command_subject(line, str(tmp_path), "/h")) for line in lines]
    assert [rule.reason.split("`")[1] for rule in rules if rule is not None] == ["a\\nb.sh", "a b.sh"]


def test_the_shown_forms_of_all_short_names_differ():
    signs = ["a", "\\", "n", " ", "\n", "\u00a0", "\u0301", "x", "2", "0"]
    names = {"".join(each) for size in range(5) for each in product(signs, repeat=size)}
    assert len({visible_path(name) for name in names}) == len(names)
    assert all(visible_path(name).isprintable() for name in names)


@pytest.mark.parametrize("path", ["src/x.py", "a b/c", "docs/Größe.md", "日本語/ファイル.txt", "документы/отчёт.md"])
def test_ordinary_paths_stay_as_they_are(path):
    assert visible_path(path) == path
