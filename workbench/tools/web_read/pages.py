"""What was read of the web, in parts of a size that a model can take, and kept for the session; used by `impl`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from workbench.tools.kept import Kept

PAGE = 16_000
"""Characters of one part at most."""
_LEAST = 8_000
_ENDS = ("\n\n", "\n", " ")
"""Where a part may end, the best first."""


@dataclass(frozen=True)
class Document:
    """A text from the web with what is to be known about it; `notes` are lines about what is missing."""

    url: str
    title: str
    kind: str
    text: str
    status: int = 200
    notes: tuple[str, ...] = ()


class Shelf:
    """The documents of one session; one that cannot be kept or read back is fetched again."""

    def __init__(self, folder: Path | None) -> None:
        self._kept = Kept(folder)

    def put(self, url: str, part: str, document: Document) -> None:
        """Keep what was found under that address."""
        try:
            self._kept.put(_name(url, part), json.dumps(asdict(document)).encode())
        except OSError:
            return

    def get(self, url: str, part: str) -> Document | None:
        """What was found there."""
        raw = self._kept.get(_name(url, part))
        try:
            found = json.loads(raw) if raw else None
            return Document(**{**found, "notes": tuple(found["notes"])}) if found else None
        except (ValueError, TypeError, KeyError):
            return None


def _name(url: str, part: str) -> str:
    return f"web/{hashlib.sha256(f'{part} {url}'.encode(errors='surrogatepass')).hexdigest()[:32]}"


def parts_of(text: str) -> list[str]:
    """The text in parts of at most PAGE characters, cut between paragraphs, lines or words where there are any."""
    parts = []
    while len(text) > PAGE:
        found = (text.rfind(end, _LEAST, PAGE) for end in _ENDS)
        cut = next((at for at in found if at > 0), PAGE)
        parts.append(text[:cut].rstrip())
        text = text[cut:].lstrip("\n")
    return [*parts, text] if text or not parts else parts
