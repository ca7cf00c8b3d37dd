"""What files will hold once earlier actions of the same answer have run: previews are made on top of that.

Set by the session while it asks a tool what an action would write; nothing is set while an action runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Final

_NOTHING: Final[Mapping[str, str | None]] = MappingProxyType({})
_TEXTS: ContextVar[Mapping[str, str | None]] = ContextVar("_TEXTS", default=_NOTHING)


@contextmanager
def on_top_of(texts: Mapping[str, str | None]) -> Iterator[None]:
    """Within it these files (by real path) count as holding these texts; None: as not being there."""
    token = _TEXTS.set(texts)
    try:
        yield
    finally:
        _TEXTS.reset(token)


def is_beneath(path: Path) -> bool:
    """Whether an earlier action leaves its own text, or nothing, at this real path."""
    return str(path) in _TEXTS.get()


def text_beneath(path: Path) -> str | None:
    """The text that an earlier action leaves in the file; None: there will be none."""
    return _TEXTS.get()[str(path)]
