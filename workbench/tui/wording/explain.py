"""A question in words: all that will run, why it is asked, what the model says. Pure; used by the approval screen.

Text is safe to show: each line went through `paint_line`, so what hides elsewhere is an escape or a dot here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from workbench.diff.hunks import FileDiff, compare
from workbench.text import revealed
from workbench.tools.ask_human.question import who_asks
from workbench.tui.diff.lines import paint_line
from workbench.tui.fold.state import ActionItem
from workbench.tui.wording.stale import changed_by_others
from workbench.tui.wording.summaries import EDITOR_TOOL, SHELL_TOOL, plus_minus, short_path, tool_sign

LONGEST_QUOTE = 300
EDITED = "Edited by you. It is rated anew, and asked about again when that comes out higher than now, or HIGH."
_REASONS = 36
"""The column in which the reasons of parts begin."""
_VERBS = {"create": "new file", "undo_edit": "undo the last edit", "insert": "insert"}


class Said(NamedTuple):
    """One line that is safe to show, and the name of its style (of the text widget; "" for plain)."""

    text: str
    style: str = ""
    indent: int = 0
    """Columns that its further rows stand further in."""


def what_runs(action: ActionItem, edited: Mapping[str, Any] | None = None) -> list[Said]:
    """All of what will run: the command or the arguments, then the parts of a command with their risks.

    With `edited` the person's own arguments, which are not rated yet.
    """
    if edited is not None:
        own = replace(action, arguments=dict(edited), segments=(), preview=(), stale=())
        return [*what_runs(own), Said(""), Said(EDITED, "label")]
    if action.tool == SHELL_TOOL:
        lines = list(_command(action.arguments))
    elif action.tool == EDITOR_TOOL and action.preview:
        lines = [Said(one_line(_edit_line(action)), "command")]
    else:
        lines = [Said(one_line(f"{tool_sign(action)} {action.tool}"), "command"), *argument_lines(action.arguments)]
    if action.segments:
        lines.append(Said(""))
        lines += [line for segment in action.segments for line in _segment(segment.text, segment.risk, segment.reason)]
    return lines + [Said(f"{sign}{one_line(text)}", style) for sign, text, style in changed_by_others(action)]


def why_asked(action: ActionItem, mode: str) -> list[Said]:
    """The rule that asks, reasons, the model's own words and the folder it happens in."""
    rule = action.rule or f'mode "{mode}"'
    lines = _asker(action)
    lines += [Said(one_line(f"Why asked: {rule}.") + _quote(action))]
    lines += [Said(f"· {one_line(reason)}", indent=2) for reason in action.reasons]
    if action.working_dir:
        lines.append(Said(f"Working directory {one_line(action.working_dir)}", "dim"))
    return lines


def reasons(action: ActionItem) -> list[Said]:
    """For whom it is asked, and the reasons that do not stand beside a part of what runs."""
    said = {segment.reason for segment in action.segments}
    return _asker(action) + [Said(f"· {one_line(reason)}", indent=2) for reason in action.reasons if reason not in said]


def _asker(action: ActionItem) -> list[Said]:
    return [Said(one_line(f"Asked for {who_asks(action.agent)}."), "command")] if action.agent else []


def _quote(action: ActionItem) -> str:
    """What the model said of it; nothing of a risk that it did not name, or was not asked for."""
    said = one_line(action.summary.strip()[:LONGEST_QUOTE])
    risk = "" if action.model_risk == "UNKNOWN" else f" {action.model_risk}"
    if not risk and not said:
        return ""
    return f' The model says{risk}: "{said}".' if said else f" The model says{risk}."


def files_written(action: ActionItem) -> list[FileDiff]:
    """The differences the action would make, named below its folder where they lie in it."""
    return [
        _compared(revealed(short_path(delta.path, action.working_dir), lines=False), delta.before, delta.after)
        for delta in action.preview
    ]


_compared = lru_cache(8)(compare)  # a question compares its files more than once


def _command(arguments: Mapping[str, Any]) -> Iterator[Said]:
    command = str(arguments.get("command", ""))
    if str(arguments.get("reset", "")).lower() == "true":
        yield Said("a new shell: variables and directory are lost", "label")
    if str(arguments.get("is_input", "")).lower() == "true":
        yield Said("input to the running command:", "label")
    lines = command.split("\n") if command else []
    for index, line in enumerate(lines):
        yield Said(("$ " if index == 0 else "  ") + one_line(line), "command")
    rest = {name: value for name, value in arguments.items() if name not in ("command", "reset", "is_input")}
    yield from argument_lines({name: value for name, value in rest.items() if value is not None})


def _edit_line(action: ActionItem) -> str:
    path = short_path(str(action.arguments.get("path", "")), action.working_dir)
    diffs = files_written(action)
    changes = plus_minus(sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs))
    return f"± {path}  {_VERBS.get(str(action.arguments.get('command')), 'edit')}  {changes}"


def argument_lines(arguments: Mapping[str, Any]) -> Iterator[Said]:
    """Each as `name: value`; a value of several lines below its name."""
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
        if "\n" not in text:
            yield Said(f"{one_line(name)}: {one_line(text)}", "argument")
            continue
        yield Said(f"{one_line(name)}:", "label")
        for line in text.split("\n"):
            yield Said(f"  {one_line(line)}", "argument")


def _segment(text: str, risk: str, reason: str) -> Iterator[Said]:
    """A part of the command: short ones on one line with their risk, long ones above it."""
    shown = [one_line(line) for line in text.split("\n")]
    if len(shown) == 1 and len(shown[0]) <= 24:
        yield Said(f"  {shown[0]:<24}  {risk:<7} {one_line(reason)}", f"risk-{risk.lower()}", _REASONS)
        return
    for line in shown:
        yield Said(f"  {line}")
    yield Said(f"  {'':<24}  {risk:<7} {one_line(reason)}", f"risk-{risk.lower()}", _REASONS)


def one_line(text: str) -> str:
    """One line of it; a tab is an escape too (in a command it is no mere blank), and so are look-alike letters."""
    return paint_line(revealed(text.replace("\n", " ").replace("\t", "\\t"), lines=False)).text
