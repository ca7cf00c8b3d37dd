"""What a search found as text for the model: `file:line:text`, or names of files; bounded."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.text import well_formed
from workbench.tools.glob.program import LARGEST
from workbench.tools.glob.search_root import Place
from workbench.tools.grep.matches import FileFound, Found, lines_of, read_text

MOST_CHARS = 30_000
LONGEST_LINE = 400
"""Characters that are shown of one line."""


def names(found: Found, place: Place) -> tuple[str, int]:
    """The files, and how many are not shown."""
    rows, is_whole = _bounded(iter([place.show(_path(file, place))] for file in found.first()))
    shown = sum(len(row) for row in rows)
    if is_whole and shown == found.files:
        return _joined(rows), 0
    left = found.files - shown
    return f"{_joined(rows)}\n[… {left} more files. Use a narrower `pattern`, `path` or `include`.]", left


def lines(found: Found, place: Place, context: int) -> tuple[str, int]:
    """The lines with their files and numbers, and how many matching ones are not shown."""
    shown = 0

    def rows() -> Iterator[list[str]]:
        nonlocal shown
        for file in found.first():
            for count, part in _parts(file, place, context):
                yield part
                shown += count

    taken, _ = _bounded(rows())
    left = found.lines - shown
    if left <= 0:
        return _joined(taken), 0
    more = f"[… {left} more matching lines; {found.files} files match in all."
    return f'{_joined(taken)}\n{more} Use a narrower `pattern`, `path` or `include`, or `output` "files".]', left


def _bounded(parts: Iterator[list[str]]) -> tuple[list[list[str]], bool]:
    """The first parts that fit together, and whether these are all."""
    taken: list[list[str]] = []
    size = 0
    for part in parts:
        size += sum(map(len, part)) + len(part)
        if size > MOST_CHARS and taken:
            return taken, False
        taken.append(part)
    return taken, True


def _joined(parts: list[list[str]]) -> str:
    return "\n".join(row for part in parts for row in part)


def _path(file: FileFound, place: Place) -> str:
    return file.path.decode("utf-8", "surrogateescape") if place.is_folder else ""


def _parts(file: FileFound, place: Place, context: int) -> Iterator[tuple[int, list[str]]]:
    """Rows that belong together, with the number of matching lines among them."""
    inside = _path(file, place)
    name = place.show(inside)
    around = _with_context(file, name, f"{place.real}/{inside}" if inside else place.real, context) if context else None
    if around is not None:
        yield from around
        return
    for number, raw in file.lines:
        yield 1, [f"{name}:{number}:{_cut(raw.decode(errors='replace'))}"]


def _with_context(file: FileFound, name: str, path: str, context: int) -> Iterator[tuple[int, list[str]]] | None:
    """Matches with the lines around them; None when the file is no longer what was searched."""
    text = read_text(path, LARGEST)
    whole = lines_of(text) if text is not None else []
    if not file.lines or len(whole) < file.lines[-1][0]:
        return None
    return _groups(file, name, whole, context)


def _groups(file: FileFound, name: str, whole: list[str], context: int) -> Iterator[tuple[int, list[str]]]:
    """For each match the lines from the last one shown to those behind it, or to the next match."""
    numbers = [number for number, _ in file.lines]
    last = 0
    for number, following in zip(numbers, [*numbers[1:], len(whole) + 1], strict=True):
        first = max(last + 1, number - context)
        end = min(len(whole), number + context, following - 1)
        rows = ["--"] if last and first > last + 1 else []
        for row in range(first, end + 1):
            sign = ":" if row == number else "-"
            rows.append(f"{name}{sign}{row}{sign}{_cut(whole[row - 1])}")
        last = end
        yield 1, rows


def _cut(line: str) -> str:
    shown = well_formed(line[:LONGEST_LINE].removesuffix("\r"))
    return f"{shown} […]" if len(line) > LONGEST_LINE else shown
