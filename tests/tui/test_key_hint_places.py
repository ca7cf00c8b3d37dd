"""Key hints have one form and one place, the last line of the screen or of its panel: on every golden picture."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from importlib import import_module
from pkgutil import walk_packages

import pytest

import workbench.tui
from tests.tui.conftest import SNAPSHOTS
from workbench.tui.key_names import BUILT_IN_KEYS
from workbench.tui.keys import all_bindings
from workbench.view.formatting.key_hints import MOST_HINTS

NAMED_KEY = r"(?:Enter|Esc|Tab|Space|Delete|Home|End|PgUp|PgDn|F\d+|(?:Ctrl|Shift|Alt)\+\S+|↑↓|Up/Down)"
HINT = re.compile(rf"(?:^|(?<=\s)){NAMED_KEY} [A-Z][a-z]|(?:^|(?<=\s\s))[a-uw-z/.\[\]] [A-Z][a-z]")
"""The start of a hint such as `Enter Open` or, after a gap, `n New`."""
DRAWN = "F5 Review"
"""The hint that ends the line of how a run has ended, where the user looks for what is next."""
HELP = "main/help_on_keys"
"""The list of all keys."""
CELL = 12.2
"""The width of a character in a picture."""
AREAS_OF_TEXTS = ("readme", "doctor")
"""Pictures of other pictures, and of text from the command line."""
PAGES = {
    *("batch_watch", "blame", "compare", "decisions", "git", "palette_and_trust", "plan", "rewind", "rules"),
    *("settings_screen", "sessions", "themes", "timeline", "time_view", "tools", "usage"),
}


def lines_of(picture: str) -> list[str]:
    """Return the lines of a picture."""
    cells: dict[float, list[tuple[float, str]]] = defaultdict(list)
    for left, top, words in re.findall(r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        cells[float(top)].append((float(left), html.unescape(words).replace("\xa0", " ")))
    lines = []
    for top in sorted(cells):
        line = ""
        for left, words in sorted(cells[top]):
            line = line.ljust(round(left / CELL)) + words.rstrip("\n")
        lines.append(line)
    return lines


def places(lines: list[str]) -> set[int]:
    """Return the numbers of the lines that may have hints: the last one, and the last ones of a panel and of a box."""
    last = {len(lines) - 1}
    for start in ("▌", "  ╰─ ", "▐"):
        numbers = [number for number, line in enumerate(lines) if line.startswith(start)]
        last |= {numbers[-1]} if numbers else set()
    return last


def pictures() -> list[str]:
    """Return the golden pictures of screens, by their path below `snapshots`."""
    paths = sorted(SNAPSHOTS.glob("*/*.svg"))
    return [f"{path.parent.name}/{path.name}" for path in paths if path.parent.name not in AREAS_OF_TEXTS]


@pytest.mark.parametrize("picture", pictures())
def test_key_hints_are_only_on_the_last_line_and_at_most_eight(picture: str) -> None:
    lines = lines_of((SNAPSHOTS / picture).read_text(encoding="utf-8"))
    allowed = places(lines)
    others = [
        line for number, line in enumerate(lines) if number not in allowed and HINT.search(line.replace(DRAWN, ""))
    ]
    assert others == [] or picture.startswith(HELP)
    for number in allowed:
        hints = [part for part in re.split(r"\s{2,}", lines[number]) if part not in ("? All", "?")]
        assert sum(bool(HINT.match(part)) for part in hints) <= MOST_HINTS
    if picture.partition("/")[0] in PAGES:
        assert any(HINT.search(lines[number]) for number in allowed), "no key is named"


def named_hints_of_screens() -> set[str]:
    """Return the ids in all constants with hints."""
    ids: set[str] = set()
    for module in walk_packages(workbench.tui.__path__, "workbench.tui."):
        for name, value in vars(import_module(module.name)).items():
            if name.endswith(("_HINTS", "_HINT")) and isinstance(value, tuple):
                hints = [value] if isinstance(value[0], str) else value
                ids |= {each for hint in hints if isinstance(hint[0], str) for each in hint[0].split()}
    return ids


def test_each_hint_names_a_binding() -> None:
    named = named_hints_of_screens()
    assert {"sessions.new", "tools.switch", "submit"} <= named
    assert named - {each.id for each in all_bindings()} - set(BUILT_IN_KEYS) == set()
