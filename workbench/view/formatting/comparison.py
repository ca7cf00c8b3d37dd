"""A comparison of sessions as lines: the table of figures, the first difference, and the files that differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from workbench.durations import measured_duration
from workbench.protocol.events import FileDelta
from workbench.session.comparison.check import CheckResult
from workbench.session.comparison.final_files import FinalDifference
from workbench.session.comparison.steps import FirstDifference, SessionStep
from workbench.text import counted, first_line, visible, visible_path
from workbench.view.comparison import Comparison, Pair, SessionFigures, file_sign
from workbench.view.formatting.actions import plus_minus, short_path
from workbench.view.formatting.sessions import title
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.usage import tokens
from workbench.view.wrapping import Line, Piece, clip, count_lines, line_width, pad

_MOST_FILES: Final = 20
_MOST_OUTPUT: Final = 12
_NAMES: Final = 11
_SAME: Final = ("title", "directory")
"""The figures that are shown only where they differ."""
_OUTCOMES: Final = {"done": "ok", "passed": "ok", "failed": "failed", "needs you": "waiting", "running": "running"}
"""The styles of words at the start of a cell."""


def rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Return the name of each figure and its value for each session, safe to show."""
    sessions = comparison.sessions
    figures = [
        ("title", [title(each.entry) for each in sessions]),
        ("model", [visible(each.entry.model, lines=False) for each in sessions]),
        ("outcome", [each.outcome for each in sessions]),
        ("steps", [f"{each.steps:,}" for each in sessions]),
        ("tool calls", [f"{each.actions:,}" for each in sessions]),
        ("tokens", [f"{tokens(each.usage.input)} in, {tokens(each.usage.output)} out" for each in sessions]),
        ("cost", [each.usage.price for each in sessions]),
        ("time", [measured_duration(each.seconds) for each in sessions]),
        ("files", [_files(each) for each in sessions]),
        ("check", [_check_words(each.check) for each in sessions]),
        ("directory", [visible_path(from_home(Path(each.entry.workspace))) for each in sessions]),
    ]
    return [(name, cells) for name, cells in figures if any(cells) and not (name in _SAME and len({*cells}) == 1)]


def _files(figures: SessionFigures) -> str:
    lines = f" {plus_minus(figures.added, figures.removed)}" if figures.files else ""
    return f"{figures.files}{lines}"


def _check_words(check: CheckResult | str | None) -> str:
    if check is None:
        return ""
    if isinstance(check, str):
        return "not run"
    if check.code is None:
        return f"stopped after {measured_duration(check.seconds)}"
    return f"{'passed' if check.passed else f'failed (exit {check.code})'} in {measured_duration(check.seconds)}"


def check_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the end of each failed check's output, why a check was not run, and whether any was not confined.

    All lines are safe to show.
    """
    for each in comparison.sessions:
        if isinstance(each.check, str):
            yield f"The check of {each.entry.id} was not run: {visible(each.check, lines=False)}"
        elif each.check is not None and not each.check.passed:
            lines = visible(each.check.output.rstrip()).splitlines()[-_MOST_OUTPUT:]
            yield f"The check of {each.entry.id} ended {'with' if lines else 'without output'}"
            yield from (f"  {line}" for line in lines)
    if any(isinstance(each.check, CheckResult) and not each.check.is_confined for each in comparison.sessions):
        yield "The system could not keep the checks from writing outside their scratch directories"


def difference_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines that say where each session differs from the first one, safe to show."""
    one, *others = (each.entry.id for each in comparison.sessions)
    workspace = comparison.sessions[0].entry.workspace
    for other, pair in zip(others, comparison.pairs, strict=True):
        if pair.step is None:
            yield f"{other} has the same messages, answers and decisions as {one}"
        else:
            yield from _lines(one, other, pair.step)
        yield from _file_lines(other, pair.files, workspace)


def _file_lines(other: str, difference: FinalDifference | str, workspace: str) -> Iterator[str]:
    if isinstance(difference, str):
        yield f"  The files that they end with cannot be compared: {visible(difference, lines=False)}"
        return
    if not difference.files:
        yield "  They end with the same files"
        return
    yield f"  The files of {other} differ in"
    for file in difference.files[:_MOST_FILES]:
        yield f"    {file_sign(file)} {short_path(file.path, workspace)}  {file_counts(file)}".rstrip()
    more = len(difference.files) - _MOST_FILES
    if more > 0 or difference.more:
        yield f"    and {counted(max(0, more) + difference.more, 'more file')}"


def file_counts(file: FileDelta) -> str:
    """Return the counts of lines by which a file differs, or why it has none."""
    return file.cut or plus_minus(*count_lines(file.before, file.after))


def _lines(one: str, other: str, difference: FirstDifference) -> Iterator[str]:
    if difference.forked_at:
        yield f"{one} and {other} share {counted(difference.forked_at, 'event')}; then"
    else:
        yield f"{one} and {other} first differ in"
    for name, step in ((one, difference.one), (other, difference.other)):
        yield f"  {name}: {_described(step)}"


def _described(step: SessionStep | None) -> str:
    if step is None:
        return "nothing more"
    return f"event {step.seq}, {step.kind}: {first_line(step.title, 100)}"


def figures_page(comparison: Comparison, width: int) -> list[Line]:
    """Return the table of figures, with the sessions side by side, fitted to a width."""
    column = max(8, (width - _NAMES) // len(comparison.sessions))
    header: Line = [Piece(" " * _NAMES)]
    for each in comparison.sessions:
        header.append(Piece(pad(_short_id(each.entry.id, column - 2), column), "heading"))
    return [header, *(_figures_row(name, cells, column) for name, cells in rows(comparison))]


def _figures_row(name: str, cells: list[str], column: int) -> Line:
    line: Line = [Piece(pad(name, _NAMES), "dim")]
    for cell in cells:
        style = next((style for word, style in _OUTCOMES.items() if cell.startswith(word)), "")
        line.append(Piece(pad(clip(cell, column - 2), column), style))
    return line


def _short_id(name: str, width: int) -> str:
    """Return an id or, where it does not fit, its end, which tells the sessions of a day apart."""
    return name if len(name) <= width else f"…{name[-max(1, width - 1) :]}"


def pair_lines(comparison: Comparison, number: int, width: int) -> list[Line]:
    """Return lines on where the session of pair `number`, from 0, differs from the first one, then the files' heading.

    The files themselves are not among them.
    """
    one, other, pair = (
        comparison.sessions[0].entry.id,
        comparison.sessions[number + 1].entry.id,
        comparison.pairs[number],
    )
    if pair.step is None:
        lines: list[Line] = [[Piece("The messages, answers and decisions are the same.", "dim")]]
    else:
        shared = counted(pair.step.forked_at, "event")
        head = f"Both share {shared}; then" if pair.step.forked_at else "They first differ in"
        lines = [[Piece(head, "dim")]]
        steps = (one, pair.step.one), (other, pair.step.other)
        lines += [[Piece(f"  {_short_id(name, 24)}  ", "title"), Piece(_described(step))] for name, step in steps]
    return [[], *(_cut(line, width) for line in lines), [], [_files_heading(pair, other)]]


def _cut(line: Line, width: int) -> Line:
    last = line[-1]
    return [*line[:-1], Piece(clip(last.text, max(1, width - line_width(line[:-1]))), last.style)]


def _files_heading(pair: Pair, other: str) -> Piece:
    if isinstance(pair.files, str):
        return Piece(f"The files cannot be compared: {visible(pair.files, lines=False)}", "failed")
    count = len(pair.files.files) + pair.files.more
    if not count:
        return Piece("They end with the same files.", "dim")
    return Piece(f"{counted(count, 'file')} of {_short_id(other, 24)} {'differs' if count == 1 else 'differ'}", "bold")


def file_row(file: FileDelta, workspace: str, width: int) -> Line:
    """Return one file that differs: its sign, its path and the counts of lines."""
    if file.cut:
        tail = [Piece(file.cut, "dim")]
    else:
        added, removed = count_lines(file.before, file.after)
        tail = [Piece(pad(f"+{added}" if added else "", 7, right=True), "added")]
        tail += [Piece(pad(f"−{removed}" if removed else "", 7, right=True), "removed")]
    head = Piece(f"{file_sign(file)} ", "accent")
    available = max(4, width - 3 - line_width(tail))
    return [head, Piece(pad(clip(short_path(file.path, workspace), available), available)), Piece(" "), *tail]
