"""An action as a card of the conversation: its headline and a few lines of its result; `widgets.card` paints it.

A card has the same number of lines at every width, so the conversation never has to measure it twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import Final

from workbench.diff.hunks import changed_lines
from workbench.text import visible
from workbench.tools.ask_human.question import read_question
from workbench.tools.manifest import kind_of
from workbench.view.formatting.actions import (
    PHASE_ICONS,
    duration_text,
    group_sign,
    outcome_pieces,
    presentation,
    reads_title,
    title_of,
    user_words,
)
from workbench.view.read_groups import group_of, is_folded
from workbench.view.state import ActionItem
from workbench.view.wrapping import Line, Piece, clip, count_lines, pad, spread, trim_common

_EXACT_UP_TO = 1_000_000


@lru_cache(maxsize=128)
def first_changes(before: str | None, after: str | None, limit: int) -> tuple[tuple[str, str], ...]:
    """Return at most `limit` pairs of a sign (`+` or `−`) and a line, in the order of the file."""
    old, new, _ = trim_common(*changed_lines(before, after))
    if len(old) * len(new) > _EXACT_UP_TO:
        old, new = old[:500], new[:500]
    return tuple(islice(_changes(list(old), list(new)), limit))


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            yield from (("−", line.removesuffix("\n")) for line in old[old_from:old_to])
            yield from (("+", line.removesuffix("\n")) for line in new[new_from:new_to])


OUTPUT_LINES: Final = 5
"""The most lines of an output; of a successful action, `QUIET_LINES`."""
QUIET_LINES: Final = 2
RENDERED_LINES: Final = 8
"""The most lines of a tool's own rendering, taken from its beginning, where a table has its head."""
DIFF_LINES: Final = 6
LONGEST_LINE: Final = 1_000


def card(item: ActionItem, width: int, workspace: str = "", now: datetime | None = None) -> list[Line]:
    """Return all lines of a card, each at most `width` cells; `now` is the current time, for a running action.

    Folded reads are one line, that of the first of them.
    """
    if is_folded(item):
        return [_reads_head(group_of(item), width, workspace)]
    return [_head(item, width, workspace, now), *([] if item.folded else _body(item, width))]


def printed_output(item: ActionItem) -> str:
    """Return what a tool printed, without the text added for the model."""
    output = item.observation.get("output")
    has_output = isinstance(output, str) and (output.strip() or not item.observation.get("is_error"))
    return str(output) if has_output else item.output


def _reads_head(group: Sequence[ActionItem], width: int, workspace: str) -> Line:
    sign, style = group_sign(group)
    title = reads_title(group, workspace)
    agent = [Piece(f"↳ {group[0].agent} · ", "accent")] if group[0].agent else []
    return spread(
        [Piece(f"{sign} ", style), *agent, Piece(title.text, "title"), Piece(f"   {title.detail}", "dim")], [], width
    )


def _head(item: ActionItem, width: int, workspace: str, now: datetime | None) -> Line:
    sign, style = PHASE_ICONS[item.phase]
    title = title_of(item, workspace)
    heading = [
        Piece(f"{sign} ", style),
        Piece(f"↳ {item.agent} · " if item.agent else user_words(item), "accent"),
        Piece(title.text, "waiting" if item.phase == "waiting" else "title"),
        Piece(f"   {title.detail}" if title.detail else "", "dim"),
    ]
    return spread(heading, [*_ended(item, now), *_folded(item, width)], width)


def _ended(item: ActionItem, now: datetime | None) -> Line:
    if item.phase == "waiting":
        return [Piece("needs an answer" if item.asks else "needs approval", "waiting")]
    result, took = outcome_pieces(item), duration_text(item, now)
    style = "running" if item.phase == "running" else "dim"
    return [*result, Piece(f"{'  ' if result[0].text and took else ''}{took}", style)]


def _folded(item: ActionItem, width: int) -> Line:
    return [Piece("  … ⏎", "dim")] if item.folded and _body(item, width) else []


def _body(item: ActionItem, width: int) -> list[Line]:
    if item.phase in ("rejected", "lost", "skipped"):
        return _bars([[Piece(clip(_one(item.note), width - 4), "dim")]], item) if item.note else []
    if item.phase == "waiting":  # the question shows what an action would do
        return _asked(item, width) if kind_of(item.tool) == "question" else []
    return [*_rendered(item.call_rendering, item, width), *_result(item, width)]


def _result(item: ActionItem, width: int) -> list[Line]:
    form = presentation(item)
    match form.result:
        case "subject":
            return _output(str(item.arguments.get(form.subject, "")), item, width, head=True, style="dim")
        case "none" if item.phase != "failed":
            return []
        case "changes" if item.phase != "failed" and (item.files or item.preview or kind_of(item.tool) == "edit"):
            return _diff(item, width)
    if item.rendering:
        return _rendered(item.rendering, item, width)
    return _output(printed_output(item), item, width, head=form.result == "head")


def _asked(item: ActionItem, width: int) -> list[Line]:
    """Return the rest of a question's text and its numbered options."""
    question = read_question(item.arguments)
    rest = question.text.split("\n")[1:]
    lines: list[Line] = [[Piece(clip(_one(line), width - 4))] for line in rest[:OUTPUT_LINES]]
    for number, option in enumerate(question.options, 1):
        lines.append([Piece(f"{number}  ", "accent"), Piece(clip(_one(option), max(1, width - 7)))])
    return _bars(lines, item)


def _diff(item: ActionItem, width: int) -> list[Line]:
    lines: list[Line] = []
    for delta in item.files or item.preview:
        for sign, text in first_changes(delta.before, delta.after, DIFF_LINES + 1):
            lines.append(
                [Piece(pad(f"{sign} {_one(text)}", width - 4), "diff-added" if sign == "+" else "diff-removed")]
            )
        if len(lines) > DIFF_LINES:
            first = lines[: DIFF_LINES - 1]
            more = max(1, _changed_line_count(item) - len(first))
            return _bars([*first, spread([Piece("…", "dim")], [Piece(f"{more} ⏎", "dim")], width - 4)], item)
    return _bars(lines, item)


def _changed_line_count(item: ActionItem) -> int:
    return sum(sum(count_lines(delta.before, delta.after)) for delta in item.files or item.preview)


def _rendered(text: str, item: ActionItem, width: int) -> list[Line]:
    """Return the first lines of a tool's own rendering."""
    return _output(text, item, width, head=True, most=RENDERED_LINES)


def _output(
    text: str, item: ActionItem, width: int, *, head: bool = False, style: str = "", most: int = 0
) -> list[Line]:
    """Return the last lines of an output (with `head`, the first ones), and how many more there are."""
    lines = text.rstrip().split("\n") if text.strip() else []
    most = most or (QUIET_LINES if item.phase == "done" else OUTPUT_LINES)
    more = max(0, len(lines) - most)
    few = [line for line in (lines[:most] if head else lines[-most:]) if line.strip()]
    style = style or ("dim" if item.phase == "done" else "")
    rows: list[Line] = [[Piece(clip(_one(line), width - 4), style)] for line in few]
    if more and rows:
        rows[-1] = spread(rows[-1], [Piece(f"{more} ⏎", "dim")], width - 4)
    return _bars(rows, item)


def copyable_rows(lines: Sequence[Line]) -> list[tuple[int, str]]:
    """Return, for each line of a card, where its content begins and its text.

    The content begins after the sign of a headline, or after the bar and the sign of a changed line. The `⏎` at the
    end of a line, which says that there is more, is not part of it.
    """
    return [_copyable(line) for line in lines]


def _copyable(line: Line) -> tuple[int, str]:
    content = line[:-1] if line[-1].text.endswith("⏎") else line
    text = "".join(piece.text for piece in content)
    if line[0].text != _BAR:
        return len(line[0].text), text
    is_changed = len(line) > 1 and line[1].style in ("diff-added", "diff-removed")
    return len(_BAR) + (2 if is_changed else 0), text


_BAR: Final = "  │ "


def _bars(lines: Sequence[Line], item: ActionItem) -> list[Line]:
    style = "failed" if item.phase == "failed" else "dim"
    return [[Piece(_BAR, style), *line] for line in lines]


def _one(text: str) -> str:
    return visible(text[:LONGEST_LINE].expandtabs(4), lines=False)
