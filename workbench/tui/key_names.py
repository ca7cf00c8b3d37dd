"""What keys are called on the screen, the person's own ones too; used wherever a key is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from textual.app import App

_SIGNS: Final = {
    "slash": "/",
    "question_mark": "?",
    "full_stop": ".",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
}


def key_of(app: App[Any], name: str, usual: str) -> str:
    """The first key of the binding of that id, as it is written on the screen: the person's own, or the usual one."""
    own: Mapping[str, str] = getattr(app, "keymap", {})
    return key_name(own.get(name, usual).split(",")[0].strip())


def key_name(key: str) -> str:
    """`f1` as `F1`, signs as themselves, the rest as it is."""
    if key in _SIGNS:
        return _SIGNS[key]
    return (
        key.upper() if key[:1] == "f" and key[1:].isdigit() else key.replace("escape", "esc").replace("underscore", "_")
    )
