"""Describes an action in a few words: its icon, headline, outcome and facts; used by rows, cards and the detail page.

Lines come from what runs (command, path), not from what the model says about it; only a title may be its summary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from rich.cells import cell_len

from workbench.ascii import add_sign
from workbench.durations import measured_duration, whole_duration
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.presentation import Presentation
from workbench.text import counted, first_line, revealed, visible, visible_path
from workbench.tools.manifest import GENERIC, ToolKind, kind_of, presentation_of
from workbench.view.state import CHANGED_BACK, ActionItem
from workbench.view.wrapping import Line, Piece, count_lines

LEAST_TIME: Final = 0.1
"""A row shows how long its action took from this many seconds on."""
LONGEST = 2_000
"""The most characters of an argument that are read for one line."""

PHASE_ICONS: Final[dict[str, tuple[str, str]]] = {
    "proposed": ("○", "dim"),
    "waiting": ("?", "waiting"),
    "approved": ("○", "dim"),
    "running": ("●", "running"),
    "done": ("✓", "ok"),
    "failed": ("✗", "failed"),
    "rejected": ("–", "dim"),
    "skipped": ("–", "dim"),
    "lost": ("!", "failed"),
}
"""The icon and style of each phase."""

_FILES_RESTORED: Final = Presentation(icon="±", result="changes")
_GROUP: Final = lazy_pattern(r"\[([^\[\]]*)\]")
_FIELD: Final = lazy_pattern(r"\{(\w+)(?::(\w+))?\}")
_OUTCOMES: Final = {"rejected": "rejected", "skipped": "skipped", "lost": "unknown"}


def presentation(item: ActionItem) -> Presentation:
    """Return how the item's tool presents this call."""
    if item.tool == CHANGED_BACK:
        return _FILES_RESTORED
    return presentation_of(item.tool, item.arguments, item.presentation)


def tool_sign(item: ActionItem) -> str:
    """Return the icon of the item's tool, one cell wide."""
    return icon(presentation(item))


def icon(form: Presentation) -> str:
    """Return the icon of a presentation, or the generic one if it does not fill exactly one cell."""
    if not _is_one_cell(form.icon):
        return GENERIC.icon
    if _is_one_cell(form.ascii_icon):
        add_sign(form.icon, form.ascii_icon)
    return form.icon


def _is_one_cell(sign: str) -> bool:
    return len(sign) == 1 and sign.isprintable() and cell_len(sign) == 1


def action_line(item: ActionItem, workspace: str = "") -> str:
    """Describe the action in one line, safe to show; paths in the workspace are relative to it."""
    line = _restored_files(item, workspace) if item.tool == CHANGED_BACK else _action_line(item, workspace)
    return f"{line} · {item.part}" if item.part else line


class ActionTitle(NamedTuple):
    """The title of an action, and the text that the screen shows dim after it; both are safe to show."""

    text: str
    detail: str = ""


_BY_SUBJECT: Final[frozenset[ToolKind]] = frozenset({"edit", "search", "plan", "thought", "question", "final"})
"""Kinds of tools whose calls are titled with their subject; other calls have the model's summary as title."""


def user_words(item: ActionItem) -> str:
    """Return the prefix that marks a user's own action and whether it left the sandbox; "" for the agent's actions."""
    if not item.by_user:
        return ""
    return "you, outside · " if item.arguments.get("outside_sandbox") else "you · "


def title_of(item: ActionItem, workspace: str = "") -> ActionTitle:
    """Return the title of an action: the model's summary followed by the command or, without a summary, what runs."""
    title = _title(item, workspace)
    return ActionTitle(f"{title.text} · {item.part}", title.detail) if item.part else title


def _title(item: ActionItem, workspace: str) -> ActionTitle:
    if item.tool == CHANGED_BACK:
        return ActionTitle(_sentence(_restored_files(item, workspace)))
    if item.error:
        return ActionTitle(_action_line(item, workspace))
    form, arguments = presentation(item), item.arguments
    kind, summary = kind_of(item.tool), _short(item.summary)
    if kind == "command":
        arguments = {**arguments, "command": without_leading_cd(arguments.get("command"), workspace)}
    line = headline(item.tool, arguments, item.presentation, workspace)
    if kind == "question":
        line = _without_markdown(line)
    sign = f"{form.icon} " if kind == "other" and form.icon != GENERIC.icon else ""
    own = _fill(form.title, arguments, workspace) or sign + line
    if summary and kind not in _BY_SUBJECT:
        return ActionTitle(summary, line)
    return ActionTitle(own, summary if summary != own else "")


_BLOCK_MARK: Final = lazy_pattern(r"(?:#{1,6}|>|[-*+])\s+")
_INLINE_MARK: Final = lazy_pattern(r"(\*\*|~~|`|\*|(?<!\w)_(?!_))(?=\S)(.+?)(?<=\S)\1(?!\w)")
_LINK: Final = lazy_pattern(r"\[([^][]+)\]\([^()\s]+\)")


def _without_markdown(line: str) -> str:
    """Return a line of Markdown without the marks of headings, emphasis, code and links."""
    line = _LINK.sub(r"\1", line)
    if match := _BLOCK_MARK.match(line):
        line = line[match.end() :]
    return _INLINE_MARK.sub(r"\2", _INLINE_MARK.sub(r"\2", line))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


_CD: Final = lazy_pattern(r"""\s*cd\s+(?:'([^']*)'|"([^"$`\\]*)"|([\w@%+=:,./~-]+))\s*&&\s*(?=\S)""", re.ASCII)


def without_leading_cd(command: object, workspace: str) -> object:
    """Return a command without a redundant `cd` into the workspace at its start."""
    match = _CD.match(command) if isinstance(command, str) and workspace else None
    if match is None or not isinstance(command, str):
        return command
    target = match[1] or match[2] or match[3] or ""
    return command[match.end() :] if target.rstrip("/") == workspace.rstrip("/") else command


def reads_title(items: Sequence[ActionItem], workspace: str = "") -> ActionTitle:
    """Return the title of several reads: the number of files and searches, followed by their names."""
    searches = [item for item in items if kind_of(item.tool) == "search"]
    views = (item for item in items if kind_of(item.tool) != "search")
    paths = list(dict.fromkeys(str(item.arguments.get("path", "")) for item in views))
    counts = [f"read {counted(len(paths), 'file')}"] if paths else []
    counts += [f"searched {counted(len(searches), 'time')}"] if searches else []
    names = [visible_path(PurePath(path).name or path) for path in paths]
    names += [_short(item.arguments.get("pattern", ""), 40) for item in searches]
    return ActionTitle(_sentence(", ".join(counts)), ", ".join(names))


def _action_line(item: ActionItem, workspace: str) -> str:
    if item.error:
        name, why = visible(item.tool[:80], lines=False), _short(item.error)
        return why if why.startswith(f"{name} ") else f"{name}: {why}"
    return headline(item.tool, item.arguments, item.presentation, workspace)


def question_words(item: ActionItem, workspace: str = "") -> str:
    """Return the title that the tool gives a question about this call, safe to show; empty if it gives none."""
    return _fill(presentation(item).question, item.arguments, workspace)


def decision_of(item: ActionItem) -> str:
    """Return who or what allowed or denied the action; empty for the user's own, and before a decision."""
    if not item.decided_by or item.by_user:
        return ""
    return decision_text(item.decided_by, item.decided_rule, is_denied=item.phase == "rejected")


def decision_text(by: str, rule: str, *, is_denied: bool) -> str:
    """Return a decision and who or what made it, safe to show: "rejected by you", "denied by rule deny $ curl *"."""
    if by == "person":
        return "rejected by you" if is_denied else "allowed by you"
    verdict = "denied" if is_denied else "allowed"
    # The name of a mode or a hook says that it is one.
    of = "rule " if by == "rule" and not rule.startswith('hook "') else ""
    return f"{verdict} by {of}{visible(rule, lines=False) or by}"


def headline(tool: str, arguments: Mapping[str, Any], recorded: Presentation | None = None, workspace: str = "") -> str:
    """Describe a call in one line, safe to show: its tool's template filled in, or else its name and arguments."""
    template = presentation_of(tool, arguments, recorded).headline
    return _fill(template, arguments, workspace) or _name_and_arguments(tool, arguments)


def _fill(template: str, arguments: Mapping[str, Any], workspace: str) -> str:
    def field_value(field: str, how: str) -> str:
        value = arguments.get(field)
        return "" if value is None or value in ("", [], {}) else _headline_value(value, how, workspace)

    return _filled(template, field_value)


def _filled(template: str, field_value: Callable[[str, str], str]) -> str:
    """Return the template with its fields replaced, or "" if it has fields and all are empty."""
    values: list[str] = []

    def value(match: re.Match[str]) -> str:
        values.append(field_value(match[1], match[2] or ""))
        return values[-1]

    def group(match: re.Match[str]) -> str:
        is_whole = all(field_value(field[1], field[2] or "") for field in _FIELD.finditer(match[1]))
        return match[1] if is_whole else ""

    line = _FIELD.sub(value, _GROUP.sub(group, visible(template[:LONGEST], lines=False)))
    return line.strip() if not values or any(values) else ""


def _headline_value(value: object, how: str, workspace: str) -> str:
    if how == "path":
        return short_path(str(value), workspace)
    if how == "lines":
        return _line_range(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    return _short(value, int(how) if how.isdecimal() else 300, revealed if how == "exact" else visible)


def _line_range(value: object) -> str:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return ""
    first, last = value
    return _short(f"{first}-{'end' if last == -1 else last}", 40)


def copied(item: ActionItem) -> tuple[str, str]:
    """Return a description and the text worth copying from an action: its subject (a command, a path) or arguments."""
    main = presentation(item).subject
    value = item.arguments.get(main)
    if isinstance(value, str) and value:
        return f"the {main}", value
    return "the arguments", json.dumps(item.arguments, ensure_ascii=False, indent=2, default=str)


def outcome(item: ActionItem) -> str:
    """Return how the action ended, in a few words (`exit 1`, `+3 −1`, `rejected`), or "".

    An action that the user refused is `rejected`; one that a rule, the mode or a hook refused is `denied by` it.
    """
    if item.phase == "rejected" and item.decided_by in ("rule", "mode"):
        return f"denied by {'hook' if item.decided_rule.startswith('hook ') else item.decided_by}"
    if item.phase in _OUTCOMES:
        return _OUTCOMES[item.phase]
    if item.exit_code == -1 and item.phase == "done":
        return "continues"
    if item.phase == "failed":
        return f"exit {item.exit_code}" if item.exit_code not in (None, 0, -1) else "error"
    if item.files:
        counts = [count_lines(delta.before, delta.after) for delta in item.files]
        return plus_minus(sum(added for added, _ in counts), sum(removed for _, removed in counts))
    return _filled(presentation(item).outcome, partial(_outcome_value, item)) if item.phase == "done" else ""


def _outcome_value(item: ActionItem, field: str, counts: str) -> str:
    value = item.observation.get(field)
    if counts:
        return counted(value, counts) if isinstance(value, int) else ""
    return "" if value is None else _short(value, 40)


def plus_minus(added: int, removed: int) -> str:
    """Format counts of lines like `+3 −1`; a zero side is omitted, and `±0` means that both are zero."""
    if not added and not removed:
        return "±0"
    return " ".join(part for part in (f"+{added}" if added else "", f"−{removed}" if removed else "") if part)


def group_sign(items: Sequence[ActionItem]) -> tuple[str, str]:
    """Return the sign and style of an action's phase; of several reads, those of the first that is not done."""
    return PHASE_ICONS[next((item.phase for item in items if item.phase != "done"), "done")]


def outcome_pieces(item: ActionItem) -> Line:
    """Return how an action ended, in its colors."""
    text = outcome(item)
    if text.startswith(("+", "−")):
        added, _, removed = text.partition("−")
        return count_columns(added.strip(), f"−{removed}" if removed else "")
    return [Piece(text, "failed" if text.startswith(("exit", "error", "unknown")) else "dim")]


REMOVED_CELLS: Final = 2
"""The least cells of a count of removed lines, so that the counts of several rows are aligned."""


def count_columns(added: str, removed: str, width: int = REMOVED_CELLS) -> Line:
    """Return the counts of a change, such as `+3` and `−1`, in their colors; that of removed lines fills `width`."""
    pieces = [Piece(added, "added")] if added else []
    return [*pieces, Piece(f"{' ' if added else ''}{removed.rjust(width)}", "removed")]


def duration_text(item: ActionItem, now: datetime | None) -> str:
    """Return how long the action has been running, or how long it took if that is worth showing."""
    if item.phase == "running" and item.started is not None:
        now = item.frozen_at or now
        return whole_duration(max(0.0, (now - item.started).total_seconds())) if now is not None else ""
    return measured_duration(item.duration) if item.duration is not None and item.duration >= LEAST_TIME else ""


def short_path(path: str, workspace: str = "") -> str:
    """Return the path as shown, by `visible_path`: relative to the workspace if it is inside."""
    pure = PurePath(path)
    if workspace and pure.is_relative_to(workspace):
        path = str(pure.relative_to(workspace))
    return visible_path(path) if len(path) <= LONGEST else f"…{visible_path(path[-LONGEST:])}"


def _restored_files(item: ActionItem, workspace: str) -> str:
    names = [short_path(delta.path, workspace) for delta in item.files]
    files = names[0] if len(names) == 1 else f"{len(names)} files"
    session = visible(str(item.arguments.get("session", "")), lines=False)
    return f"applied {files} from {session}" if session else f"reverted {files}"


def _name_and_arguments(tool: str, arguments: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{_short(name, 40)}={_short(value, 60)}" for name, value in list(arguments.items())[:4])
    return f"{visible(tool[:80], lines=False)} {listed}".strip()


def arguments_words(item: ActionItem) -> str:
    """Return the arguments that the title of an action leaves out, in one line, safe to show."""
    form = presentation(item)
    template = f"{form.title} {form.headline}"
    omitted = {field[1] for field in _FIELD.finditer(template)} | {"command", "task_list"}
    listed = [(name, value) for name, value in item.arguments.items() if name not in omitted and value is not None]
    return ", ".join(f"{_short(name, 40)}={_short(value, 60)}" for name, value in listed[:4])


def _short(value: object, width: int = 300, show: Callable[..., str] = visible) -> str:
    """Return the first line, at most `width` cells, with an ellipsis if more lines follow."""
    text = str(value)[:LONGEST].strip()
    line = first_line(text, width, show)
    return f"{line} …" if "\n" in text and not line.endswith("…") else line


_FACT_FORMATTERS: Final[Mapping[str, Callable[[Any], str]]] = {
    "exit_code": lambda code: f"exit code {code}" if isinstance(code, int) and code >= 0 else "",
    "timed_out": lambda is_so: "timed out" if is_so else "",
    "full_output": lambda path: f"the whole output is in {path}",
    "output_file": lambda path: f"the whole output is in {path}",
    "metadata": lambda metadata: _working_directory(metadata),
    "truncated": lambda is_so: "truncated" if is_so else "",
    "found": lambda count: f"{count} found" if isinstance(count, int) else f"found: {_plain(count)}",
    "matched_files": lambda count: f"files that match: {count}",
    "matched_lines": lambda count: f"lines that match: {count}",
    "url": lambda url: f"address: {url}",
    "title": lambda title: f"title: {title}",
    "kind": lambda kind: f"kind of text: {kind}",
    "pages": lambda count: f"parts: {count}" if count else "",
    "page": lambda number: f"part {number}",
    "status": lambda number: f"the server answered with {number}",
    "kept": lambda is_so: "cached" if is_so else "",
    "interpreter": lambda path: f"interpreter: {path}",
    "count": lambda number: f"cell {number}" if number else "",
    "restarted": lambda is_so: "interpreter restarted" if is_so else "",
    "server": lambda name: f"MCP server: {name}",
    "tool": lambda name: f"its tool: {name}",
    "agent": lambda name: f"sub-agent: {name}",
    "session": lambda name: f"its session: {name}",
    "definition": lambda source: f"its kind: {source}",
    "model": lambda name: f"written by {name}",
    "cost": lambda dollars: f"for ${dollars:.4f}" if isinstance(dollars, int | float) else "",
    "input_tokens": lambda count: f"{count} tokens in",
    "output_tokens": lambda count: f"{count} tokens out",
    "tabs": lambda tabs: f"open pages: {_plain(tabs)}" if tabs else "",
    "downloads": lambda files: f"downloaded: {_plain(files)}" if files else "",
}
_EXCLUDED_FIELDS: Final = frozenset(
    (
        *("content", "output", "old_content", "new_content", "is_error", "error", "command", "path", "prev_exist"),
        *("task_list", "files", "response"),
    )
)
"""Fields that are shown in the result's text, among the arguments or in the diff."""


def result_facts(observation: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each fact about the result; an unknown field is shown with its name."""
    for name, value in observation.items():
        if name in _EXCLUDED_FIELDS or value is None or value in ("", [], {}):
            continue
        fact = (
            _FACT_FORMATTERS[name](value) if name in _FACT_FORMATTERS else f"{name.replace('_', ' ')}: {_plain(value)}"
        )
        if fact:
            yield fact


def _working_directory(metadata: Any) -> str:
    path = metadata.get("working_dir") if isinstance(metadata, Mapping) else None
    return f"working directory: {path}" if path else ""


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
