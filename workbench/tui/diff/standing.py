"""Lines that stood in a file before the change are shown without the secrets in them; used by the diff view's document.

What would be written anew is shown as it is: nobody can approve what they do not see.
"""

from __future__ import annotations

import os
from functools import cache, cached_property

from workbench.diff.hunks import FileDiff, split_lines
from workbench.security.secrets import KNOWN, Secrets

_OVER_LINES = "PRIVATE KEY"
"""The mark of a secret that goes over several lines."""


class Standing:
    """What one file held: a secret in it shows as dots, one for each sign."""

    def __init__(self, diff: FileDiff) -> None:
        self._diff = diff

    def shown(self, line: str) -> str:
        """A line of either side as it may be seen."""
        return self._key_lines.get(line) or self._dotted(line)

    def _dotted(self, line: str) -> str:
        covered = dotted(line)
        return covered if covered != line and line in self._lines else line

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(self._diff.old)

    @cached_property
    def _key_lines(self) -> dict[str, str]:
        """The lines of keys that go over several, and what is seen of each."""
        text = self._diff.before or ""
        if _OVER_LINES not in text:
            return {}
        seen = zip(self._diff.old, split_lines(dotted(text)), strict=True)
        return {line: covered for line, covered in seen if covered != line}


def dotted(text: str) -> str:
    """A text that stood there before, as it may be seen."""
    return _secrets().dotted(text)


@cache
def _secrets() -> Secrets:
    KNOWN.add_all(os.environ)
    return KNOWN
