"""The arguments of a call as a provider takes them back; used by `history`."""

from __future__ import annotations

import json

from workbench.text import cut_middle, well_formed

_LONGEST = 2_000_000


def arguments_text(text: str) -> str:
    """JSON text of an object: what the model wrote, or (when that is none) an object that shows it."""
    try:
        value = json.loads(text, parse_constant=_refuse) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value = {} if not text.strip() else {"unreadable_arguments": cut_middle(text, 4_000)}
        return well_formed(json.dumps(value, ensure_ascii=False))
    return well_formed(json.dumps(value, ensure_ascii=False) if "\\u" in text else text)


def _refuse(name: str) -> None:
    raise ValueError(name)
