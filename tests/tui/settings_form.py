"""What tests do on the Settings screen: find a row by words, and begin to change it."""

from __future__ import annotations

from typing import Any

from textual.widgets import Input

from tests.tui.waiting import until
from workbench.tui.screens.setting_edit import SettingEdit
from workbench.tui.widgets.setting_list import SettingList


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
