"""Front matter: YAML between two lines `---` at the start of a Markdown file, as in skills and kinds of sub-agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.lazy_pattern import lazy_pattern

_ENTRY = lazy_pattern(r"([A-Za-z][\w-]{0,39})\s*:(?:\s+(.*))?")
_ITEM = lazy_pattern(r"\s*-\s+(.+)")
_CLOSING = lazy_pattern(r"\n---[ \t]*(?:\n|\Z)")


def read_inside(path: Path, directory: Path, most: int) -> bytes | None:
    """Return up to `most` bytes of a file; None if it cannot be read, or is a link that leads out of `directory`."""
    try:
        real = path.resolve()
        if not real.is_file() or not real.is_relative_to(directory.resolve()):  # a link could lead to a secret
            return None
        with real.open("rb") as file:
            return file.read(most)
    except OSError:
        return None


def split_front_matter(text: str, *, is_lenient: bool = False) -> tuple[dict[str, Any], str] | None:
    """Return the entries of the front matter and the text after it; None if there is no front matter or no table in it.

    Many programs accept values that are not valid YAML, such as `description: Use it: often`. With `is_lenient`,
    invalid YAML is read line by line: `name: value` is an entry, and lines `- item` below `name:` are a list.
    """
    begin, line, rest = text.lstrip("\ufeff").replace("\r\n", "\n").partition("---\n")
    closing = _CLOSING.search(f"\n{rest}")
    if begin.strip() or not line or not closing:
        return None
    head, body = f"\n{rest}"[: closing.start()], f"\n{rest}"[closing.end() :]
    import yaml  # not needed without such a file

    try:
        entries = yaml.safe_load(head)
    except (yaml.YAMLError, RecursionError, ValueError):
        entries = _by_line(head) if is_lenient else None
    return ({str(name): value for name, value in entries.items()}, body) if isinstance(entries, dict) else None


def _by_line(head: str) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    name = ""
    for line in head.splitlines():
        if entry := _ENTRY.fullmatch(line):
            name = entry[1]
            entries.setdefault(name, _plain(entry[2] or ""))
        elif name and (item := _ITEM.fullmatch(line)) and not isinstance(entries[name] or [], str):
            entries[name] = [*(entries[name] or []), _plain(item[1])]
    return entries


def _plain(value: str) -> str:
    text = value.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted else text
