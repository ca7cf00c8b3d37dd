"""Shared by the tests of the settings: their starting point, finding a row by words, and beginning a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.widgets import Input

from tests.tui.waiting import until
from workbench.config.locations import Locations
from workbench.tui.screens.settings import SettingEdit, SettingList


def settings_in(home: Path, text: str) -> Locations:
    """Return the locations of a user with this settings file."""
    where = Locations.from_environment({"HOME": str(home)})
    where.config.mkdir(parents=True)
    where.settings_file.write_text(text)
    return where


async def find(pilot: Any, words: str) -> None:
    """Filter for the rows with these words."""
    screen = pilot.app.screen
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(screen.focused, Input))
    screen.query_one(Input).value = words
    await pilot.press("enter")
    await until(pilot, lambda: screen.query_one(SettingList).has_focus)


async def edited(pilot: Any) -> None:
    """Open the row under the cursor for editing."""
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, SettingEdit))
