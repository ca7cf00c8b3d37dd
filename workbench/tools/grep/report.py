"""Formats matches for the model: `file:line:text`, or names of files, within `MOST_CHARS` characters."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.text import well_formed
from workbench.tools.glob.program import LARGEST
from workbench.tools.glob.search_root import SearchRoot
from workbench.tools.grep.matches import FileMatches, Matches, lines_of, read_text

MOST_CHARS = 30_000
LONGEST_LINE = 400
"""The most characters shown of one line."""


def names(matches: Matches, root: SearchRoot) -> tuple[str, int]:
    """Return the text that lists the files, and the number of files omitted."""
    rows, is_whole = _bounded(iter([root.show(_path(file, root))] for file in matches.first()))
    listed = sum(len(row) for row in rows)
    if is_whole and listed == matches.files:
        return _joined(rows), 0
    omitted = matches.files - listed
    return f"{_joined(rows)}\n[… {omitted} more files. Use a narrower `pattern`, `path` or `include`.]", omitted


def lines(matches: Matches, root: SearchRoot, context: int) -> tuple[str, int]:
    """Return the text that lists the lines, and the number of matching lines omitted."""
    listed = 0

    def rows() -> Iterator[list[str]]:
        nonlocal listed
        for file in matches.first():
            for count, part in _parts(file, root, context):
                yield part
                listed += count

    parts, _ = _bounded(rows())
    omitted = matches.lines - listed
    if omitted <= 0:
        return _joined(parts), 0
    more = f"[… {omitted} more matching lines; {matches.files} files match in all."
    return f'{_joined(parts)}\n{more} Use a narrower `pattern`, `path` or `include`, or `output` "files".]', omitted


def _bounded(parts: Iterator[list[str]]) -> tuple[list[list[str]], bool]:
    """Return the first parts that fit within `MOST_CHARS`, and whether these are all."""
    included: list[list[str]] = []
    size = 0
    for part in parts:
        size += sum(map(len, part)) + len(part)
        if size > MOST_CHARS and included:
            return included, False
        included.append(part)
    return included, True


def _joined(parts: list[list[str]]) -> str:
    return "\n".join(row for part in parts for row in part)


def _path(file: FileMatches, root: SearchRoot) -> str:
    return file.path.decode("utf-8", "surrogateescape") if root.is_directory else ""


def _parts(file: FileMatches, root: SearchRoot, context: int) -> Iterator[tuple[int, list[str]]]:
    """Yield groups of rows, each with the number of matching lines in it."""
    inside = _path(file, root)
    name = root.show(inside)
    around = _with_context(file, name, f"{root.real}/{inside}" if inside else root.real, context) if context else None
    if around is not None:
        yield from around
        return
    for number, raw in file.lines:
        yield 1, [f"{name}:{number}:{_cut(raw.decode(errors='replace'))}"]


def _with_context(file: FileMatches, name: str, path: str, context: int) -> Iterator[tuple[int, list[str]]] | None:
    """Return the matches with the lines around them; None if the file is unreadable or has become shorter since the
    search.
    """
    text = read_text(path, LARGEST)
    whole = lines_of(text) if text is not None else []
    if not file.lines or len(whole) < file.lines[-1][0]:
        return None
    return _groups(file, name, whole, context)


def _groups(file: FileMatches, name: str, whole: list[str], context: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each match with its context lines, up to the next match and without lines already shown."""
    numbers = [number for number, _ in file.lines]
    last = 0
    for number, following in zip(numbers, [*numbers[1:], len(whole) + 1], strict=True):
        first = max(last + 1, number - context)
        end = min(len(whole), number + context, following - 1)
        rows = ["--"] if last and first > last + 1 else []
        for row in range(first, end + 1):
            separator = ":" if row == number else "-"
            rows.append(f"{name}{separator}{row}{separator}{_cut(whole[row - 1])}")
        last = end
        yield 1, rows


def _cut(line: str) -> str:
    cut = well_formed(line[:LONGEST_LINE].removesuffix("\r"))
    return f"{cut} […]" if len(line) > LONGEST_LINE else cut
