"""litellm's table of models: prices, context windows and abilities, read from its file without importing litellm."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

_FILE: Final = "model_prices_and_context_window_backup.json"


def entry_of(*names: str) -> dict[str, Any] | None:
    """Return the entry of the first of these names that the table has; None if it has none of them."""
    raw = next((_entries()[name] for name in names if name in _entries()), None)
    entry = None if raw is None else msgspec.json.decode(raw)
    return entry if isinstance(entry, dict) else None


def entries() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every model's name and entry."""
    for name, raw in _entries().items():
        if isinstance(entry := msgspec.json.decode(raw), dict):
            yield name, entry


def names() -> Iterator[str]:
    """Yield the name of every model."""
    yield from _entries()


@cache
def _entries() -> Mapping[str, msgspec.Raw]:
    """Return the table with undecoded entries, which takes a sixth of the time and memory; empty if it is missing."""
    spec = importlib.util.find_spec("litellm")
    for directory in (spec.submodule_search_locations or ()) if spec is not None else ():
        try:
            return msgspec.json.decode((Path(directory) / _FILE).read_bytes(), type=dict[str, msgspec.Raw])
        except (OSError, msgspec.MsgspecError):
            continue
    return {}
