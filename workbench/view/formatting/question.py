"""The panel that asks for an approval, part by part: title, reasons, parts of a command, batch, key hints.

All text is safe to show: what comes from outside has passed through `on_one_line` or `visible_path`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec.structs import replace
from rich.cells import cell_len

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.deletion_list import DeletedPath, DeletionList
from workbench.protocol.events import Segment
from workbench.rules.subject import NETWORK
from workbench.text import counted, first_line, visible_path
from workbench.tools.ask_human.question import PUT_BACK, who_asks
from workbench.tools.manifest import kind_of
from workbench.view.approval.proposal import Proposal
from workbench.view.diff.lines import wrap_offsets
from workbench.view.formatting.actions import (
    action_line,
    plus_minus,
    presentation,
    question_words,
    short_path,
    tool_sign,
)
from workbench.view.formatting.approval import (
    LONGEST_QUOTE,
    StyledLine,
    changed_by_others,
    deleted_amount,
    deleted_style,
    files_written,
    is_true,
    more_deleted,
    on_one_line,
    risk_badge,
    runs_outside,
    what_runs,
)
from workbench.view.formatting.key_hints import KeyHint
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.state import ActionItem
from workbench.view.wrapping import Line, Piece, clip, line_width, pad, row_starts, wrapped

_EDITS: Final = {"create": "Create", "insert": "Insert into", "undo_edit": "Undo the last edit of"}
_ORDER: Final = ("HIGH", "UNKNOWN", "MEDIUM", "LOW")
_WIDEST_PART = 0.6
"""The share of the width that the parts of a command may take in their table."""
_NARROWEST_REASON = 20
"""The columns that a reason needs beside its part; with fewer, it goes below."""
_RISK_CELLS = 9
_GAP = 3
_MODE: Final = lazy_pattern(r'mode "(.*?)(?: \((.*)\))?"')
_LONGEST_COMMAND: Final = 40
"""The most characters of a command in the title of a question about a host."""


def is_titled(action: ActionItem) -> bool:
    """Return whether the title says everything besides the diff, because the action edits the file that the title
    names.
    """
    return bool(action.preview) and presentation(action).result == "changes" and kind_of(action.tool) == "edit"


def title_words(action: ActionItem) -> str:
    """Return what the action does, in a few words; if it is an action of another agent, as `Let AGENT …`."""
    words = _title_words(action)
    agent = on_one_line(presentation(action).agent)
    return f"Let {agent} {words[:1].lower()}{words[1:]}" if agent else words


def _title_words(action: ActionItem) -> str:
    if is_titled(action):
        path = short_path(str(action.arguments.get("path", "")) or action.preview[0].path, action.working_dir)
        return f"{_EDITS.get(str(action.arguments.get('command')), 'Edit')} {path}"
    if action.tool == NETWORK:
        command = first_line(str(action.arguments.get("command", "")), _LONGEST_COMMAND)
        return (
            f"{f'`{command}`' if command else 'A program'} wants {on_one_line(str(action.arguments.get('host', '')))}"
        )
    if action.tool == PUT_BACK:
        return f"Put back {on_one_line(str(action.arguments.get('files', '')))}"
    if kind_of(action.tool) != "command":
        return question_words(action, action.working_dir) or on_one_line(f"Call {action.tool}")
    if is_true(action.arguments.get("is_input")):
        return "Send input to the running command"
    return "Run a command outside the sandbox" if runs_outside(action) else "Run a command"


def title_facts(action: ActionItem, proposal: Proposal) -> str:
    """Return the size of the change and how much of it is accepted: `+6 −3 · 3 hunks · 2 accepted`."""
    facts = []
    if action.preview:
        diffs = proposal.edited_files()
        facts.append(plus_minus(sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)))
    if proposal.count:
        facts.append(counted(proposal.count, "hunk"))
    if proposal.out:
        facts.append(f"{len(proposal.accepted)} accepted")
    if edited := len(proposal.edited):
        facts.append(f"{edited} edited by you")
    return " · ".join(facts)


def reason_lines(action: ActionItem, mode: str, width: int, *, directory: str = "") -> list[Line]:
    """Return who asks, the model's words, why the user is asked, and the working directory if given."""
    others = _reasons(action)
    first = others[0] if others else _by_itself(action)
    label = on_one_line(_MODE.sub(_mode_words, action.rule or f'mode "{mode}"'))
    flow = [*_quote(action), [Piece("asked because: ", "dim"), Piece(first), Piece(f" ({label})", "dim")]]
    lines = [[Piece(on_one_line(f"Asked for {who_asks(action.agent)}."), "bold")]] if action.agent else []
    if note := presentation(action).note:
        lines += [[Piece(row, "bold")] for row in wrapped(on_one_line(note), max(8, width))]
    if directory:
        flow.append([Piece("in ", "dim"), Piece(on_one_line(visible_path(from_home(Path(directory)))), "dim")])
    lines += _flowing(flow, width)
    for reason in others[1:]:
        lines += [[Piece(f"{'  ' if at else '· '}{row}")] for at, row in enumerate(wrapped(reason, max(8, width - 2)))]
    return lines


def _reasons(action: ActionItem) -> list[str]:
    """Return the reasons that the table of parts does not have."""
    of_parts = {part.reason for part in action.segments} if is_tabled(action) else set()
    return [on_one_line(reason) for reason in action.reasons if reason not in of_parts]


def _by_itself(action: ActionItem) -> str:
    if is_titled(action) and action.risk == "MEDIUM":
        return "changes a file" if len(action.preview) == 1 else f"changes {len(action.preview)} files"
    return "the risk is unknown" if action.risk == "UNKNOWN" else f"the risk is {action.risk}"


def _quote(action: ActionItem) -> list[Line]:
    summary = on_one_line(" ".join(action.summary.strip()[:LONGEST_QUOTE].split("\n")))
    rates = action.model_risk not in {"UNKNOWN", action.risk}
    quote = [Piece(f'"{summary}"')] if summary else []
    if rates:
        quote.append(Piece(f"{' · ' if quote else ''}the agent says {action.model_risk}", "dim"))
    return [quote] if quote else []


def _mode_words(match: re.Match[str]) -> str:
    """Return `Ask, medium and up` for the mode "Ask (medium+)"."""
    name, scope = match[1], (match[2] or "").replace("+", " and up")
    return f"{name}, {scope}" if scope else name


def _flowing(parts: Sequence[Line], width: int) -> list[Line]:
    """Return the parts on as few rows as possible; a part too long for a row is wrapped at spaces."""
    rows: list[Line] = []
    for part in parts:
        if rows and line_width(rows[-1]) + _GAP + line_width(part) <= width:
            rows[-1] = [*rows[-1], Piece(" " * _GAP), *part]
        elif line_width(part) <= width:
            rows.append(part)
        else:
            rows += _wrapped_line(part, width)
    return rows


def _wrapped_line(line: Line, width: int) -> Iterator[Line]:
    text = "".join(piece.text for piece in line)
    for first, end in pairwise([*row_starts(text, width), len(text)]):
        row, at = [], 0
        for piece in line:
            part = piece.text[max(0, first - at) : max(0, end - at)]
            row += [Piece(part, piece.style)] if part else []
            at += len(piece.text)
        yield row


def is_tabled(action: ActionItem) -> bool:
    """Return whether a table of parts shows more than the command and the reasons do."""
    parts = action.segments
    if len(parts) != 1:
        return bool(parts)
    return parts[0].text.strip() != str(action.arguments.get("command", "")).strip()


def part_rows(parts: Sequence[Segment], width: int) -> list[Line]:
    """Return a table of the parts of a command (part, risk, why), the worst first; nothing in it is cut off."""
    ordered = sorted(parts, key=lambda part: _ORDER.index(part.risk))
    broken = [[on_one_line(line) for line in part.text.split("\n")] for part in ordered]
    widest = max((cell_len(line) for lines in broken for line in lines), default=0)
    column = min(widest, int(width * _WIDEST_PART))
    rest = width - column - _RISK_CELLS - 2 * _GAP
    if rest < _NARROWEST_REASON:
        column = width
    rows: list[Line] = []
    for part, lines in zip(ordered, broken, strict=True):
        cells = [row for line in lines for row in _broken(line, max(4, column))]
        rows += _beside(part, cells, column, rest) if rest >= _NARROWEST_REASON else _stacked(part, cells, width)
    return rows


def _beside(part: Segment, cells: Sequence[str], column: int, rest: int) -> Iterator[Line]:
    reason = wrapped(on_one_line(part.reason), rest)
    for number, (cell, why) in enumerate(zip_longest(cells, reason, fillvalue="")):
        risk = risk_badge(part.risk) if number == 0 else ""
        gap = Piece(" " * _GAP)
        yield [
            Piece(pad(cell, column), _part_style(part)),
            gap,
            Piece(pad(risk, _RISK_CELLS), f"risk-{part.risk.lower()}"),
            gap,
            Piece(why, "dim" if part.risk == "LOW" else ""),
        ]


def _stacked(part: Segment, cells: Sequence[str], width: int) -> Iterator[Line]:
    yield from ([Piece(cell, _part_style(part))] for cell in cells)
    badge, style = risk_badge(part.risk), f"risk-{part.risk.lower()}"
    indent = "    "
    for number, row in enumerate(wrapped(f"{badge}  {on_one_line(part.reason)}", max(8, width - len(indent)))):
        yield [Piece(f"{indent}{row}", style if number == 0 else "")]


def _part_style(part: Segment) -> str:
    return "dim" if part.risk == "LOW" else f"risk-{part.risk.lower()}" if part.risk != "MEDIUM" else "bold"


def _broken(text: str, width: int) -> list[str]:
    return [text[first:end] for first, end in pairwise([*wrap_offsets(text, width), len(text)])]


def body_rows(action: ActionItem, edited: Mapping[str, Any] | None, width: int, *, is_titled: bool) -> list[Line]:
    """Return everything that will run besides the diff: the command or the arguments, and the parts of a command.

    `edited` holds arguments that the user edited. With `is_titled` the title says what is edited.
    """
    if edited is not None:
        return styled_rows(what_runs(action, edited), width)
    if is_titled:
        others = [StyledLine(f"{sign}{on_one_line(text)}", style) for sign, text, style in changed_by_others(action)]
        return styled_rows(others, width)
    rows = styled_rows(what_runs(replace(action, segments=(), deleted=())), width)
    if is_tabled(action):
        rows += [[], *part_rows(action.segments, width)]
    return [*rows, [], *deletion_rows(action.deleted, width)] if action.deleted else rows


_MOST_DELETED: Final = 6
"""The most paths that the question lists for each part; its full text has more of them."""


def deletion_rows(lists: Sequence[DeletionList], width: int) -> list[Line]:
    """Return a table of what would be deleted: path, files and size, and how it is restored; nothing is cut off."""
    rows: list[Line] = []
    visible_paths = [path for each in lists for path in each.paths[:_MOST_DELETED]]
    columns = [max(map(cell_len, column)) for column in zip(*map(_cells, visible_paths), strict=True)]
    for each in lists:
        rows += styled_rows(list(_deleted(each.paths[:_MOST_DELETED], columns, width)), width)
        rest = each.paths[_MOST_DELETED:]
        if more := len(rest) + each.more:
            lost = sum(not path.comes_back for path in rest) + each.more_lost
            rows.append([Piece(more_deleted(more, lost), "dim")])
    return rows


def _cells(path: DeletedPath) -> tuple[str, str]:
    return f"{path.verb} {on_one_line(path.path)}", deleted_amount(path)


def _deleted(paths: Sequence[DeletedPath], columns: Sequence[int], width: int) -> Iterator[StyledLine]:
    """Yield one line for each path, in columns if these leave half of the width for how it is restored."""
    gap = " " * _GAP
    for path in paths:
        name, amount = _cells(path)
        style, fate = deleted_style(path), on_one_line(path.restorable)
        head = f"{pad(name, columns[0])}{gap}{pad(amount, columns[1])}{gap}"
        if cell_len(head) * 2 <= width or not fate:
            yield StyledLine(f"{head}{fate}".rstrip(), style, cell_len(head))
        else:
            yield StyledLine(f"{name}{gap}{amount}", style, _LEAST_INDENT)
            yield StyledLine(f"{' ' * _LEAST_INDENT}{fate}", style, _LEAST_INDENT)


_LEAST_INDENT: Final = 4


def styled_rows(lines: Sequence[StyledLine], width: int) -> list[Line]:
    """Wrap lines to a width: indented lines, labels and news at spaces, other lines at any character."""
    return [row for line in lines for row in _styled(line, max(4, width))]


def _styled(line: StyledLine, width: int) -> Iterator[Line]:
    text, style, indent = line
    starts = row_starts if indent or style in ("label", NEWS) else wrap_offsets
    breaks = [*starts(text, width), len(text)]
    if indent and len(breaks) > 2:
        indent = indent if indent * 2 <= width else _LEAST_INDENT
        rest = breaks[1]
        breaks = [0, rest, *(rest + offset for offset in starts(text[rest:], width - indent)[1:]), len(text)]
    for first, end in pairwise(breaks):
        yield [Piece(f"{' ' * indent if first else ''}{text[first:end]}", style)]


NEWS: Final = "waiting"
"""The style of a line on what has changed since a question was shown."""
_MOST = 5
_LARGE = 200_000
"""The size in characters above which a change is not compared only to count its lines in a list."""


def batch_lines(waiting: Sequence[ActionItem], at: int, width: int) -> list[Line]:
    """Return one line for each waiting action, with the one at `at` marked; if there are many, only those around it."""
    first = max(0, min(at - _MOST // 2, len(waiting) - _MOST))
    return [_line(item, number, number == at, width) for number, item in enumerate(waiting)][first : first + _MOST]


def _line(item: ActionItem, number: int, is_current: bool, width: int) -> Line:
    words = f"{tool_sign(item)} {action_line(item, item.working_dir)}{_counted(item)}"
    style = "bold" if is_current else "dim"
    return [
        Piece("▌" if is_current else " ", "accent"),
        Piece(f"{number + 1:>2}  ", style),
        Piece(f"{pad(risk_badge(item.risk), _RISK_CELLS)}  ", f"risk-{item.risk.lower()}"),
        Piece(clip(words, max(4, width - 16)), style),
    ]


def _counted(item: ActionItem) -> str:
    """Return the counts of lines that a small change adds and removes; empty for a large one.

    They distinguish changes of the same file.
    """
    size = sum(len(delta.before or "") + len(delta.after or "") for delta in item.preview)
    if not item.preview or size > _LARGE:
        return ""
    diffs = files_written(item)
    return f"  {plus_minus(sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs))}"


Key: TypeAlias = Callable[[str, str], str]
"""Returns the key of a binding, given its id and default: the user's own key or the default."""


@dataclass(frozen=True)
class Moment:
    """The state on which the keys depend: whether all was read, whether answers are accepted yet, and the current hunk.

    The hunk is -1 if there is none.
    """

    is_read: bool
    armed: bool
    current: int = -1
    waiting: int = 1
    """How many actions are waiting."""
    all_words: str = ""
    """What approves several of them together; empty if that would be only one."""
    may_always: bool = False
    not_always: str = ""
    """Why no rule can be saved, in a few words."""
    may_edit: bool = True
    """Whether the arguments are the agent's and may be changed."""
    may_grow: bool = True
    """Whether more would be seen on the whole screen."""
    is_full: bool = False
    """Whether the question takes the whole screen."""
    key: Key = lambda name, usual: usual


def editing_keys(key: Key) -> tuple[KeyHint, ...]:
    """Return the keys that are active while the proposal is edited."""
    return KeyHint(key("place.keep", "ctrl+s"), "Keep the text"), KeyHint(key("place.discard", "escape"), "Discard")


def writing_keys(*, rejecting: bool) -> tuple[KeyHint, ...]:
    """Return the keys that are active while a note is written."""
    return KeyHint("Enter", "Reject" if rejecting else "Keep the note"), KeyHint("Esc", "Back")


def answer_keys(proposal: Proposal, now: Moment) -> tuple[KeyHint, ...]:
    """Return the keys in the order in which they are shown; while `y` is not active, a remark in its place says why."""
    key = now.key
    hints = [_approve(proposal, now), KeyHint("n", "Reject…", 1)]
    if proposal.count:
        verb = "Include" if now.current in proposal.out else "Skip"
        hints.append(KeyHint(key("approval.take", "space"), verb, 4))
    if now.waiting > 1:
        hints.append(KeyHint(_others(now), "Others", 5))
        hints += [KeyHint("Y", f"{now.all_words}…", 6)] if now.all_words else []
    hints.append(KeyHint(key("approval.edit", "e"), "Edit", 7, now.may_edit))
    always = "Always…" if now.may_always or not now.not_always else f"Always… ({now.not_always})"
    hints.append(KeyHint("a", always, 8, now.may_always and now.armed))
    if now.may_grow:
        hints.append(KeyHint(key("approval.viewer", "d"), "Docked" if now.is_full else "Full screen", 9))
    hints += [
        KeyHint(key("approval.note", "tab"), "Note", 10),
        KeyHint("Esc", "Docked" if now.is_full else "Not now", 3),
    ]
    return (*hints, KeyHint(key("approval.keys", "?"), "All", 2, short=""))


def all_keys(words: str, *, is_read: bool, armed: bool, key: Key) -> tuple[KeyHint, ...]:
    """Return the keys that are active while several actions are approved at once; `words` say what `Y` does."""
    approve = KeyHint("Y", words) if is_read else _unseen(f"{key('approval.all-end', 'End')}, then Y")
    return (approve if armed else _not_armed("Y")), KeyHint(key("approval.back", "Esc"), "Back")


def _approve(proposal: Proposal, now: Moment) -> KeyHint:
    if not now.armed:
        return _not_armed("y")
    if proposal.is_empty:
        return KeyHint("", "no hunk accepted")
    if not now.is_read:
        return _unseen(f"{now.key('approval.end', 'End')}, then y")
    if proposal.out:
        return KeyHint("y", f"Approve {len(proposal.accepted)} of {proposal.count}")
    return KeyHint("y", "Approve as edited" if proposal.is_changed else "Approve")


def _not_armed(key: str) -> KeyHint:
    return KeyHint("", f"{key} (ready in 0.5s)", short=f"{key} in 0.5s")


def _unseen(keys: str) -> KeyHint:
    return KeyHint("", f"{keys} (you have not seen all of it)", short=keys)


def _others(now: Moment) -> str:
    keys = now.key("approval.previous-action", "left"), now.key("approval.next-action", "right")
    arrows = {"left": "←", "right": "→"}
    return " ".join(arrows.get(key.lower(), key) for key in keys)
