"""What tests of the settings start from, and do on their screen: find a row by words, and begin to change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.widgets import Input

from tests.tui.waiting import until
from workbench.config.locations import Locations
from workbench.tui.screens.settings import SettingEdit, SettingList


def settings_in(home: Path, text: str) -> Locations:
    """The places of a user with this settings file."""
    where = Locations.from_environment({"HOME": str(home)})
    where.config.mkdir(parents=True)
    where.settings_file.write_text(text)
    return where


async def find(pilot: Any, words: str) -> None:
    """Only the rows with these words."""
    screen = pilot.app.screen
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(screen.focused, Input))
    screen.query_one(Input).value = words
    await pilot.press("enter")
    await until(pilot, lambda: screen.query_one(SettingList).has_focus)


async def edited(pilot: Any) -> None:
    """The row under the cursor is open to be changed."""
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, SettingEdit))
