"""Lines that stood in a file before the change are shown without the secrets in them; used by the diff view's document.

What would be written anew is shown as it is: nobody can approve what they do not see.
"""

from __future__ import annotations

import os
from functools import cache, cached_property, lru_cache

from workbench.diff.hunks import FileDiff, split_lines
from workbench.secrets.masker import KNOWN, SecretMasker
from workbench.view.diff.rows import Side

_BLOCK = 64
"""Lines that are looked through at once."""
_OVER_LINES = "PRIVATE KEY"
"""The mark of a secret that goes over several lines."""


class Standing:
    """What one file held: a secret in it shows as dots, one for each sign."""

    def __init__(self, diff: FileDiff) -> None:
        self._diff = diff
        self._is_free = lru_cache(1_024)(self._looked_through)

    def shown(self, side: Side, at: int) -> str:
        """A line of either side as it may be seen."""
        line = (self._diff.old if side == "old" else self._diff.new)[at]
        if self._is_free(side, at // _BLOCK):
            return line
        return self._key_lines.get(line) or self._dotted(line)

    def _looked_through(self, side: Side, block: int) -> bool:
        """Whether no line of a block of lines can hold a secret: most of them are known so with one look."""
        lines = self._diff.old if side == "old" else self._diff.new
        return not self._has_keys and not _secrets().may_stand_in("".join(lines[block * _BLOCK : (block + 1) * _BLOCK]))

    def _dotted(self, line: str) -> str:
        covered = dotted(line)
        return covered if covered != line and line in self._lines else line

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(self._diff.old)

    @cached_property
    def _has_keys(self) -> bool:
        """Whether it held keys that go over several lines."""
        return _OVER_LINES in (self._diff.before or "")

    @cached_property
    def _key_lines(self) -> dict[str, str]:
        """The lines of keys that go over several, and what is seen of each."""
        if not self._has_keys:
            return {}
        seen = zip(self._diff.old, split_lines(dotted(self._diff.before or "")), strict=True)
        return {line: covered for line, covered in seen if covered != line}


def dotted(text: str) -> str:
    """A text that stood there before, as it may be seen."""
    return _secrets().dotted(text)


@cache
def _secrets() -> SecretMasker:
    KNOWN.add_all(os.environ)
    return KNOWN
