"""Whole profiles on the settings form: a row that adds one, and each one's name, to change it or remove it all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from workbench.config.profiles import read_profile
from workbench.tui.setting.ways import kept, read_way, wrong_way

if TYPE_CHECKING:
    from workbench.config.edit import Place

ADD: Final = ("models",)
"""The place of the row that adds one."""


def is_profile(place: Place) -> bool:
    """Whether a row is about a whole profile, not about an entry of it."""
    return place[0] == "models" and len(place) < 3


def check_profile(place: Place, text: str, taken: Collection[str]) -> None:
    """What is written for a new profile, or as the new name of one; raises ValueError or UsageError."""
    if place == ADD:
        if wrong := wrong_way(read_way(text)):
            raise ValueError(wrong)
    elif not text:
        raise ValueError("write a name; u in the list removes the profile")
    elif text != place[1]:
        read_profile(text, {"model": "provider/name"})
        if text in taken:
            raise ValueError(f"there is a profile {text} already")


def added(text: str, taken: Collection[str]) -> tuple[str, dict[Place, Any]]:
    """The name of a new profile and what is to be written; sessions begin with what they began with."""
    name, changes = kept(read_way(text), taken)
    return name, {place: value for place, value in changes.items() if place != ("model",)}


def removed(name: str, raw: Mapping[str, Any]) -> dict[Place, Any]:
    """What to write so that a profile is gone, and no session begins with it."""
    is_last = set(raw.get("models", ())) <= {name}
    changes: dict[Place, Any] = {ADD if is_last else ("models", name): None}
    return changes | ({("model",): None} if raw.get("model") == name else {})
