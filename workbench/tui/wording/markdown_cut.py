"""Where streaming Markdown can be cut: what lies before the last blank line outside a code fence is settled."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class MarkdownCut:
    """Takes text as it streams; looks at each line once. `take()` gives what is settled, `tail` what may still grow."""

    def __init__(self) -> None:
        self._text = ""
        self._looked = 0
        self._settled = 0
        self._fence = ""

    @property
    def tail(self) -> str:
        """Text after the last cut."""
        return self._text[self._settled :]

    def feed(self, text: str) -> None:
        """More of the stream."""
        self._text = self.tail + text
        self._looked -= self._settled
        self._settled = 0

    def take(self) -> str:
        """Whole blocks that have become settled since the last time."""
        cut = self._settled
        while (end := self._text.find("\n", self._looked)) >= 0:
            line = self._text[self._looked : end]
            self._looked = end + 1
            self._see(line)
            if not self._fence and not line.strip():
                cut = self._looked
        piece, self._settled = self._text[self._settled : cut], cut
        return piece

    def _see(self, line: str) -> None:
        match = _FENCE.match(line)
        if match is None:
            return
        mark = match.group(1)
        if not self._fence:
            self._fence = mark
        elif mark.startswith(self._fence) and not line.strip().strip(mark[0]):
            self._fence = ""
