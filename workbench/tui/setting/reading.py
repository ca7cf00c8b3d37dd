"""Values as a person reads and writes them on the settings form: yes and no, units, and what 0 stands for."""

from __future__ import annotations

import re
from typing import Final

from pydantic.fields import FieldInfo

from workbench.config.model import measured

SWITCH: Final = {"yes": True, "no": False, "true": True, "false": False}
"""The words for on and off; the first two are those that are shown."""


def shown(value: object) -> str:
    """A value as it is written in the form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


def explained(text: str, info: FieldInfo | None) -> str:
    """The same with its unit, and with what nothing or 0 means."""
    unit, none = measured(info) if info is not None else ("", "")
    number = _number(text) if unit else None
    if not text or (number == 0 and none):
        return " · ".join(part for part in (text, none) if part)
    if number is None:
        return text
    if unit == "$":
        return f"${number:,.2f}" if round(number, 2) == number else f"${text}"
    return f"{number:,.0f} {unit.removesuffix('s') if number == 1 else unit}"


def plain_number(text: str, info: FieldInfo) -> str:
    """Without the commas that part the thousands, where whole things are counted."""
    unit, _ = measured(info)
    is_parted = unit and unit != "$" and re.fullmatch(r"\d{1,3}(,\d{3})+", text)
    return text.replace(",", "") if is_parted else text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
