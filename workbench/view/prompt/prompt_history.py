"""The messages that the user has sent in all sessions: one JSON string per line, in a file only the user can read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from workbench.config.locations import private_directory
from workbench.errors import WorkbenchError

MOST = 1_000
"""The most messages that are kept."""
_LONGEST = 100_000
_LARGEST = 16 << 20


class PromptHistory:
    """Every text once, the newest last; `step` goes through them and back to the draft."""

    def __init__(self, path: Path | None = None) -> None:
        """Without a path, the history is not saved."""
        self._path = path
        self._prompts: dict[str, None] = {}
        self._walk: list[str] = []
        self._at = 0
        self._draft = ""

    @property
    def newest_first(self) -> Iterator[str]:
        """All texts, newest first."""
        return reversed(self._prompts)

    def add_older(self, prompts: Iterable[str]) -> None:
        """Insert texts before the existing ones, for example those of the file once it has been read."""
        self._prompts = {**dict.fromkeys(text for text in prompts if text not in self._prompts), **self._prompts}
        self._rest()

    def remember(self, text: str, *, keep: bool = True) -> None:
        """Add the newest text; with `keep`, add it to the file too."""
        if text.strip():
            self._prompts.pop(text, None)
            self._prompts[text] = None
            if keep:
                self._append(text)
        self._rest()

    def step(self, by: int, now: str) -> str | None:
        """Return the text `by` steps later (earlier if negative), or None past either end.

        After the newest text comes the draft, which is `now`, the prompt's text, at the first step.
        """
        if self._at == len(self._walk):
            self._walk, self._draft = list(self._prompts), now
            self._at = len(self._walk)
        target = self._at + by
        if not 0 <= target <= len(self._walk):
            return None
        self._at = target
        return self._walk[target] if target < len(self._walk) else self._draft

    def read(self) -> list[str]:
        """Return the texts of the file, oldest first, and shorten a file that has grown long; call it in a thread."""
        if self._path is None:
            return []
        try:
            if self._path.stat().st_size > _LARGEST:
                return []
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        prompts = list(dict.fromkeys(reversed(list(_prompts_of(lines)))))[:MOST]
        prompts.reverse()
        if len(lines) > 2 * MOST:
            self._rewrite(prompts)
        return prompts

    def _rest(self) -> None:
        self._walk, self._at = [], 0

    def _append(self, text: str) -> None:
        if self._path is None or len(text) > _LONGEST:
            return
        with suppress(OSError, WorkbenchError):  # the message is sent even if it cannot be saved
            private_directory(self._path.parent)
            _write(self._path, os.O_APPEND, [text])

    def _rewrite(self, prompts: list[str]) -> None:
        assert self._path is not None
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            _write(beside, os.O_TRUNC, prompts)
            beside.replace(self._path)


def _prompts_of(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        with suppress(ValueError):
            text = json.loads(line)
            if isinstance(text, str):
                yield text


def _write(path: Path, how: int, prompts: list[str]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    try:
        os.write(handle, "".join(f"{json.dumps(text)}\n" for text in prompts).encode())
    finally:
        os.close(handle)
