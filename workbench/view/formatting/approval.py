"""The text of a question: what will run, why it needs approval, what the model says; used by the approval screen.

All text is safe to show: each line has passed through `paint_line`, so hidden characters appear as escapes or dots.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from workbench.diff.hunks import FileDiff, compare
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import OUTSIDE_SANDBOX
from workbench.text import counted, revealed, size_of, visible_path
from workbench.tools.ask_human.question import who_asks
from workbench.tools.manifest import kind_of
from workbench.view.approval.questions import Bundle
from workbench.view.diff.lines import paint_line
from workbench.view.formatting.actions import plus_minus, presentation, short_path, tool_sign
from workbench.view.state import ActionItem

if TYPE_CHECKING:
    from workbench.protocol.deletion_list import DeletedPath, DeletionList
    from workbench.protocol.events import Segment

PrefixedLine = tuple[str, str, str]
"""The prefix of a line, the line (not yet safe to show) and the name of its style."""
EXCERPT_LINES = 8
"""The most changed lines that the question itself shows; its full text has all of them."""


def changed_by_others(action: ActionItem, most: int | None = EXCERPT_LINES) -> Iterator[PrefixedLine]:
    """Yield what others changed in each stale file, at most `most` lines per file (all if None)."""
    for file in action.stale:
        change = compare(short_path(file.path, action.working_dir), file.seen, file.theirs)
        yield "", f"The other change to {change.path}", "label"
        lines = list(_lines(change))
        yield from islice(lines, most)
        if most is not None and len(lines) > most:
            yield (
                "  ",
                f"{len(lines) - most} more {'line' if len(lines) - most == 1 else 'lines'} of it in the full text",
                "dim",
            )


def intended_by_agent(action: ActionItem) -> Iterator[PrefixedLine]:
    """Yield, for the full text, the change that the agent wanted to make to each stale file as it had seen it."""
    for file in action.stale:
        change = compare(short_path(file.path, action.working_dir), file.seen, file.wanted)
        yield "", f"{change.path} as the agent proposed it  {plus_minus(change.added, change.removed)}", "label"
        yield from _lines(change)


def _lines(change: FileDiff) -> Iterator[PrefixedLine]:
    for hunk in change.hunks:
        yield "  ", f"line {hunk.old + 1}:", "dim"
        yield from (("  − ", line.rstrip("\n"), "argument") for line in change.old[hunk.old : hunk.old_end])
        yield from (("  + ", line.rstrip("\n"), "argument") for line in change.new[hunk.new : hunk.new_end])


LONGEST_QUOTE = 300
_PLAIN_WORD: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH_NAME: Final = lazy_pattern(r"(?:\A|_)(?:path|file|filename|directory|dir|folder|cwd)\Z")
"""Matches the names of arguments that hold a path."""
EDITED = "Edited by you. The risk is recalculated; you are asked again if it goes up, or is HIGH."
_PART_INDENT: Final = 2
_RISK_INDENT: Final = 6
_VERBS = {"create": "new file", "undo_edit": "undo the last edit", "insert": "insert"}


class StyledLine(NamedTuple):
    """One line, safe to show, and the name of its style in the text widget ("" for plain)."""

    text: str
    style: str = ""
    indent: int = 0
    """How many columns its wrapped rows are indented."""


def what_runs(action: ActionItem, edited: Mapping[str, Any] | None = None) -> list[StyledLine]:
    """Return everything that will run: the command or the arguments, then the parts of a command with their risks.

    `edited` holds arguments that the user edited; they replace the model's, and are not rated yet.
    """
    if edited is not None:
        own = replace(action, arguments=dict(edited), segments=(), deleted=(), preview=(), stale=())
        return [*what_runs(own), StyledLine(""), StyledLine(EDITED, "label")]
    if kind_of(action.tool) == "command":
        lines = list(_command(action.arguments))
    elif action.preview and presentation(action).result == "changes" and kind_of(action.tool) == "edit":
        lines = [StyledLine(on_one_line(_edit_line(action)), "command")]
    else:
        is_named = not presentation(action).question
        name = [StyledLine(on_one_line(f"{tool_sign(action)} {action.tool}"), "command")] if is_named else []
        lines = [*name, *argument_lines(action.arguments)]
    if action.segments:
        lines.append(StyledLine(""))
        lines += part_lines(action.segments)
    if action.deleted:
        lines += [StyledLine(""), *deletion_lines(action.deleted)]
    return lines + [StyledLine(f"{sign}{on_one_line(text)}", style) for sign, text, style in changed_by_others(action)]


def deletion_lines(lists: Sequence[DeletionList]) -> Iterator[StyledLine]:
    """Yield one line for each path that the action would delete: its files, their size, and how they are restored."""
    for each in lists:
        for path in each.paths:
            facts = f"{deleted_amount(path)}; {path.restorable}" if path.restorable else deleted_amount(path)
            yield StyledLine(on_one_line(f"{path.verb} {path.path} ({facts})"), deleted_style(path))
        if each.more:
            yield StyledLine(more_deleted(each.more, each.more_lost), "dim")


def deleted_amount(path: DeletedPath) -> str:
    """Return the number of files and their size."""
    if path.files is None:
        return "files only known at run time"
    count = counted(path.files, "file") if path.is_whole else f"more than {path.files - 1:,} files"
    return f"{count}, {size_of(path.size)}"


def deleted_style(path: DeletedPath) -> str:
    """Return the style of a path in the list of deletions."""
    return "" if path.comes_back else "risk-high"


def more_deleted(count: int, lost: int) -> str:
    """Return the last line of a list that omits `count` paths, `lost` of which cannot be restored."""
    return f"… and {count:,} more{f', {lost:,} of which can NOT be restored' if lost else ''}"


def why_asked(action: ActionItem, mode: str) -> list[StyledLine]:
    """Return the rule that asks, the reasons, the model's own words and the working directory."""
    rule = action.rule or f'mode "{mode}"'
    lines = _asker(action)
    lines += [StyledLine(on_one_line(f"Why asked: {rule}.") + _quote(action))]
    lines += [StyledLine(f"· {on_one_line(reason)}", indent=2) for reason in action.reasons]
    if action.working_dir:
        lines.append(StyledLine(f"Working directory {on_one_line(visible_path(action.working_dir))}", "dim"))
    return lines


def reasons(action: ActionItem) -> list[StyledLine]:
    """Return which sub-agent asks, if any, and the reasons that are not shown beside a part of the command."""
    part_reasons = {segment.reason for segment in action.segments}
    return _asker(action) + [
        StyledLine(f"· {on_one_line(reason)}", indent=2) for reason in action.reasons if reason not in part_reasons
    ]


def _asker(action: ActionItem) -> list[StyledLine]:
    return [StyledLine(on_one_line(f"Asked for {who_asks(action.agent)}."), "command")] if action.agent else []


def _quote(action: ActionItem) -> str:
    """Return the model's words about the action; the risk is omitted if the model named none or was not asked."""
    summary = on_one_line(" ".join(action.summary.strip()[:LONGEST_QUOTE].split("\n")))
    risk = "" if action.model_risk == "UNKNOWN" else f" {action.model_risk}"
    if not risk and not summary:
        return ""
    return f' The model says{risk}: "{summary}".' if summary else f" The model says{risk}."


def files_written(action: ActionItem) -> list[FileDiff]:
    """Return the diffs of the files that the action would write; paths in the working directory are relative to it."""
    return [
        _compared(short_path(delta.path, action.working_dir), delta.before, delta.after) for delta in action.preview
    ]


_compared = lru_cache(8)(compare)  # cached because a question compares its files more than once


def runs_outside(action: ActionItem) -> bool:
    """Return whether the command would leave the sandbox; without one, asking for that changes nothing."""
    return is_true(action.arguments.get("outside_sandbox")) and any(
        part.text == OUTSIDE_SANDBOX for part in action.segments
    )


def _command(arguments: Mapping[str, Any]) -> Iterator[StyledLine]:
    command = str(arguments.get("command", ""))
    if is_true(arguments.get("reset")):
        yield StyledLine("a new shell: variables and directory are lost", "label")
    if is_true(arguments.get("is_input")):
        yield StyledLine("input to the running command:", "label")
    lines = command.split("\n") if command else []
    for index, line in enumerate(lines):
        yield StyledLine(("$ " if index == 0 else "  ") + on_one_line(line), "command")
    # The title and the reasons for the risk say that it leaves the sandbox, and why; without one, it changes nothing.
    outside = ("outside_sandbox", "why") if is_true(arguments.get("outside_sandbox")) else ()
    omitted = {"command", "reset", "is_input", *outside}
    yield from argument_lines(
        {name: value for name, value in arguments.items() if name not in omitted and value is not None}
    )


def is_true(value: object) -> bool:
    """Return whether an argument is true; some models send the string "true"."""
    return str(value).lower() == "true"


def _edit_line(action: ActionItem) -> str:
    path = short_path(str(action.arguments.get("path", "")), action.working_dir)
    diffs = files_written(action)
    changes = plus_minus(sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs))
    return f"± {path}  {_VERBS.get(str(action.arguments.get('command')), 'edit')}  {changes}"


def argument_lines(arguments: Mapping[str, Any]) -> Iterator[StyledLine]:
    """Yield each argument as `name: value`; a value with several lines goes below its name."""
    for name, value in arguments.items():
        if isinstance(value, str) and _PATH_NAME.search(name):
            yield StyledLine(f"{on_one_line(name)}: {on_one_line(visible_path(value))}", "argument")
            continue
        text = _argument_text(value)
        if "\n" not in text:
            yield StyledLine(f"{on_one_line(name)}: {on_one_line(text)}", "argument")
            continue
        yield StyledLine(f"{on_one_line(name)}:", "label")
        for line in text.split("\n"):
            yield StyledLine(f"  {on_one_line(line)}", "argument")


def _argument_text(value: object) -> str:
    """Return an argument as text: a string as it is, a list of plain words with commas, anything else as JSON."""
    if isinstance(value, list | tuple) and value:
        words = [each for each in value if isinstance(each, str) and _PLAIN_WORD.fullmatch(each)]
        if len(words) == len(value):
            return ", ".join(words)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)


def part_lines(parts: Sequence[Segment]) -> Iterator[StyledLine]:
    """Yield the parts of a command, each with its risk and the reason in an indented line below it."""
    for part in parts:
        yield from (StyledLine(f"{' ' * _PART_INDENT}{on_one_line(line)}") for line in part.text.split("\n"))
        badge = f"{' ' * _RISK_INDENT}{risk_badge(part.risk)}  {on_one_line(part.reason)}"
        yield StyledLine(badge.rstrip(), f"risk-{part.risk.lower()}", _RISK_INDENT)


def on_one_line(text: str) -> str:
    """Return the text on one line, with line breaks, tabs and look-alike letters as escapes."""
    return paint_line(revealed(text, lines=False)).text


RISK_ICONS = {"LOW": "○", "MEDIUM": "◆", "HIGH": "▲", "UNKNOWN": "?"}


def risk_badge(risk: str) -> str:
    """Return the sign and the word of a risk."""
    return f"{RISK_ICONS[risk]} {risk}"


def bundle_words(bundle: Bundle) -> str:
    """Return what approving the bundle means: `Approve all 3`, `Approve 2 of 3` or, of a single action, `Approve`."""
    count = len(bundle.actions)
    if count == 1:
        return "Approve"
    return f"Approve all {count}" if count == bundle.pending else f"Approve {count} of {bundle.pending}"


def bundle_title(bundle: Bundle) -> str:
    """Return the question that approves the bundle."""
    return "Approve this action?" if len(bundle.actions) == 1 else f"{bundle_words(bundle)}?"


def all_of(bundle: Bundle) -> list[StyledLine]:
    """Return which actions are asked about separately, and everything that the bundle would run and write, and why
    each needs approval.
    """
    lines = list(_asked_separately(bundle))
    lines += [StyledLine("")] if lines else []
    for number, item in enumerate(bundle.actions, 1):
        position = f"{number} of {len(bundle.actions)}  " if len(bundle.actions) > 1 else ""
        head = f"{position}{risk_badge(item.risk)}"
        lines += [StyledLine(head, f"risk-{item.risk.lower()}"), *what_runs(item), *reasons(item)]
        lines += [*painted_changes(item), StyledLine("")]
    return lines


def _asked_separately(bundle: Bundle) -> Iterator[StyledLine]:
    for risk in bundle.higher:
        yield StyledLine(f"{risk_badge(risk)} is asked separately", f"risk-{risk.lower()}", 2)
    if bundle.has_question:
        yield StyledLine("? The agent's question is asked separately", "label", 2)
    if bundle.edited:
        actions = "The action" if bundle.edited == 1 else f"The {bundle.edited} actions"
        verb = "is" if bundle.edited == 1 else "are"
        yield StyledLine(f"{actions} that you edited {verb} asked separately", "label", 2)


def painted_changes(item: ActionItem) -> Iterator[StyledLine]:
    """Yield the changed lines of the files that the action would write, with hidden characters as escapes."""
    for diff in files_written(item):
        for hunk in diff.hunks:
            yield StyledLine(f"  {diff.path}, line {hunk.old + 1}", "label")
            yield from (
                StyledLine(f"  − {paint_line(line).text}", "removed") for line in diff.old[hunk.old : hunk.old_end]
            )
            yield from (
                StyledLine(f"  + {paint_line(line).text}", "added") for line in diff.new[hunk.new : hunk.new_end]
            )
