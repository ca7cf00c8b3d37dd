"""Long pastes, which the prompt shows as short placeholders."""

from __future__ import annotations

from pathlib import Path

from workbench.text import visible
from workbench.view.prompt.attachments import pasted_images

_LINES, _CHARACTERS = 20, 4_000
"""A paste with more lines or characters than these is shown as a placeholder."""


class Pastes:
    """Long pastes, each shown as a short placeholder, until the prompt is empty again."""

    def __init__(self, directory: Path | None = None) -> None:
        """Relative paths of images are looked up in `directory`."""
        self._directory = directory
        self._pasted: dict[str, str] = {}

    def collapse(self, pasted: str) -> str:
        """Return what the prompt shows for a paste: its text with hidden characters made visible, or a placeholder if
        it is long.

        Paths of images become mentions of them.
        """
        if self._directory is not None and (images := pasted_images(pasted, self._directory)):
            return images
        text = visible(pasted.replace("\r\n", "\n").replace("\r", "\n"))
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= _LINES and len(text) <= _CHARACTERS:
            return text
        size = f"{lines} lines" if lines > _LINES else f"{len(text)} characters"
        mark, number = f"[pasted {size}]", 1
        while self._pasted.get(mark, text) != text:
            number += 1
            mark = f"[pasted {size}, {number}]"
        self._pasted[mark] = text
        return mark

    def expand(self, written: str) -> str:
        """Return the text with each placeholder replaced with the pasted text."""
        for mark, text in self._pasted.items():
            written = written.replace(mark, text)
        return written

    def forget(self) -> None:
        """Forget all placeholders."""
        self._pasted.clear()
