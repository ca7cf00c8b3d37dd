"""What the session tells a tool about files beside its arguments.

What files will hold once earlier actions of the same answer have run, while it asks what an action would write:
previews are made on top of that. Which files were shown to be written, while the action runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


_SHOWN: ContextVar[frozenset[str] | None] = ContextVar("_SHOWN", default=None)


@contextmanager
def writing_only(paths: Iterable[str]) -> Iterator[None]:
    """Within it a tool that shows what it writes may write these files alone, by real path: they were decided on."""
    token = _SHOWN.set(frozenset(paths))
    try:
        yield
    finally:
        _SHOWN.reset(token)


def shown_paths() -> frozenset[str] | None:
    """The files that were shown to be written by the action that runs; None where no session runs it."""
    return _SHOWN.get()
