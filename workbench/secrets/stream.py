"""Masks secrets in streamed text, including those split between chunks."""

from __future__ import annotations

import re

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.assignments import begins_a_setting, names_what_follows, unfinished_block
from workbench.secrets.manifests import unfinished_manifest
from workbench.secrets.masker import SecretMasker
from workbench.secrets.shapes import SHAPES

_LONGEST_WORD = 4096
_LONGEST_BLOCK = 16_384
_LONGEST_MANIFEST = 65_536
_LONGEST_NETRC = 500
_NETRC = lazy_pattern(
    r"(?:\bmachine\s+\S+|\bdefault)(?:\s+(?:(?:login|user|account)\s+\S+|#[^\n]*))*"
    r"(?:\s+(?:login|user|account|passw(?:or)?d))?\s*\Z"
)
_BLOCK = lazy_pattern(
    r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?!.*-----END)|-----BEGIN[A-Z -]*\Z|^Private-Lines:(?!.*^Private-MAC)",
    re.DOTALL | re.MULTILINE,
)
_MARKS = (*(mark for shape in SHAPES if shape.holds for mark in shape.marks), "echo ", "printf ")
"""Marks of lines that are held back until complete; echoed text may be a password that is piped into a program."""


class SecretStream:
    """Passes on text once it can no longer be part of a secret; holds back the last word, or a line that may contain
    one.
    """

    def __init__(self, secrets: SecretMasker) -> None:
        self._secrets = secrets
        self._held = ""
        self._passed = ""
        """The part of the current line that was already passed on; it may name a secret that follows."""

    def feed(self, text: str) -> str:
        """Add text; return the masked text that can be passed on now."""
        held = self._held + text
        cut = self._cut(held)
        self._held = held[cut:]
        return self._masked(held[:cut])

    def rest(self) -> str:
        """Return the masked rest of the text at the end of the stream."""
        held, self._held = self._held, ""
        return self._masked(held)

    def _masked(self, text: str) -> str:
        """Mask the text as the continuation of a line whose start has already been passed on."""
        if not text:
            return ""
        before, whole = self._secrets.masked(self._passed), self._passed + text
        masked = self._secrets.masked(whole)
        line = max(whole.rfind("\n"), whole.rfind("\r")) + 1
        opened = _NETRC.search(whole, max(0, len(whole) - _LONGEST_NETRC))
        start = min(line, opened.start()) if opened else line
        self._passed = whole[max(start, len(whole) - _LONGEST_WORD) :]
        return masked[len(before) :] if masked.startswith(before) else self._secrets.masked(text)

    def _cut(self, held: str) -> int:
        """Return how many characters can be passed on, so that no secret is cut at that offset."""
        block = _BLOCK.search(held)
        if block and len(held) - block.start() < _LONGEST_BLOCK:
            return block.start()
        manifest = unfinished_manifest(held) if "apiVersion" in held else None
        if manifest is not None and len(held) - manifest < _LONGEST_MANIFEST:
            return manifest
        opened = unfinished_block(self._passed + held)
        if opened is not None and len(self._passed) + len(held) - opened < _LONGEST_WORD:
            return max(0, opened - len(self._passed))
        start = max(held.rfind("\n"), held.rfind("\r")) + 1
        before = held.rfind("\n", 0, start - 1) + 1 if start else 0
        last = (self._passed if before == 0 else "") + held[before : start - 1] if start else ""
        if 0 < len(last) < _LONGEST_WORD and names_what_follows(last):
            return before
        line = held[start:]
        space = start + max(line.rfind(" "), line.rfind("\t")) + 1
        if len(line) > max(_LONGEST_WORD, 2 * self._secrets.longest):
            return space if space > start else len(held)
        is_waiting = any(mark in line for mark in _MARKS) or begins_a_setting(self._passed + line)
        return start if is_waiting or self._secrets.have_blanks else space
