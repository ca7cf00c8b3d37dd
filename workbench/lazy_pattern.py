"""Regular expressions in module constants, compiled on first use."""

from __future__ import annotations

import re
from functools import cached_property

TYPE_CHECKING = False  # `ohw --version` uses this module and has no time for the import of typing
if TYPE_CHECKING:
    from typing import AnyStr


class _LazyPattern:
    """A regular expression that is compiled when one of its attributes is first read."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str] | re.Pattern[bytes]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # copying reads attributes before the instance has its source
            raise AttributeError(name)
        # A method that was used once is found on the instance from then on, as fast as on the compiled pattern.
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern as `re.compile` does, but compile it on first use; an error in it is raised only then.

    About 600 patterns are loaded at start and few of them are used; compiling all of them took a fifth of the start
    time. The result has the methods and attributes of a compiled pattern, but the functions of `re` do not accept it.
    """
    return _LazyPattern(source, flags)  # type: ignore[return-value]
