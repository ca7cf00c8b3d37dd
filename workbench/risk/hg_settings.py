"""Determines whether the settings of a Mercurial repository run programs, as hooks, extensions, aliases or tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern

_SECTION: Final = lazy_pattern(r"\[(?:paths|phases|diff|(ui))\]\s*")
_IN_UI: Final = lazy_pattern(r"username\s*=.*|\s*(?:[#;].*)?")


def program_named(directory: str) -> str:
    """Return why `hg` may run a program that the repository around a directory names; empty if it runs none."""
    for path in _files(directory):
        if not _is_harmless(recorded_stat.text(path)):
            return f"the settings of the repository may run a program ({path.rpartition('/')[2]})"
    return ""


def _is_harmless(text: str) -> bool:
    """Return whether the settings only name remotes and the user, and the format of diffs."""
    is_ui = True
    for line in text.split("\n"):
        if section := _SECTION.fullmatch(line):
            is_ui = bool(section[1])
        elif line.startswith(("[", "%")) or (is_ui and not _IN_UI.fullmatch(line)):
            return False
    return True


def _files(directory: str) -> Iterator[str]:
    while not recorded_stat.exists(f"{directory}/.hg"):
        if directory in {"/", ""}:
            return
        directory = directory.rpartition("/")[0] or "/"
    shared = recorded_stat.text(f"{directory}/.hg/sharedpath").strip()
    yield from (f"{directory}/.hg/{name}" for name in ("hgrc", "hgrc-not-shared"))
    if shared:
        yield f"{shared if shared.startswith('/') else f'{directory}/.hg/{shared}'}/hgrc"
