"""Large pastes, folded to one mark in the prompt and whole again in what is sent; kept by the prompt."""

from __future__ import annotations

from pathlib import Path

from workbench.text import visible
from workbench.tui.prompting.images import pasted_images

_LINES, _CHARACTERS = 20, 4_000
"""What is longer is folded."""


class Pastes:
    """Each mark stands for one text until the prompt is empty again."""

    def __init__(self, folder: Path | None = None) -> None:
        """Relative paths of images are looked for in the folder."""
        self._folder = folder
        self._texts: dict[str, str] = {}

    def fold(self, pasted: str) -> str:
        """What is to stand in the prompt for it: the text, with what could hide in it made visible, or a mark.

        Paths of images become mentions of them.
        """
        if self._folder is not None and (images := pasted_images(pasted, self._folder)):
            return images
        text = visible(pasted.replace("\r\n", "\n").replace("\r", "\n"))
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= _LINES and len(text) <= _CHARACTERS:
            return text
        size = f"{lines} lines" if lines > _LINES else f"{len(text)} characters"
        mark, number = f"[pasted {size}]", 1
        while self._texts.get(mark, text) != text:
            number += 1
            mark = f"[pasted {size}, {number}]"
        self._texts[mark] = text
        return mark

    def expand(self, written: str) -> str:
        """What is written, with the whole text in place of each mark."""
        for mark, text in self._texts.items():
            written = written.replace(mark, text)
        return written

    def forget(self) -> None:
        """Begin anew."""
        self._texts.clear()
