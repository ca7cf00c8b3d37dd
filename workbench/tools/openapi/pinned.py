"""What differs between two copies of an OpenAPI document, operation by operation, as lines of a diff."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError
from workbench.files.replace import replace_file
from workbench.tools.openapi.documents import BadDocument, checked, parsed

_NO_MATTER = ("info", "tags", "externalDocs", "paths", "components")
_MOST_OF_ONE = 40
_MOST = 400
"""Lines."""


def parts_of(content: bytes) -> dict[str, str]:
    """What tools are made of, each part as text under its name; raises BadDocument."""
    document = checked(parsed(content))
    made = {name: _text(part) for name, part in document.items() if name not in _NO_MATTER}
    for path, item in document["paths"].items():
        for method, operation in (item if isinstance(item, dict) else {"": item}).items():
            made[f"{str(method).upper()} {path}"] = _text(operation)
    for kind, known in (document.get("components") or {}).items():
        for name, part in (known if isinstance(known, dict) else {"": known}).items():
            made[f"{kind} {name}"] = _text(part)
    return made


def changed_lines(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """Each part that is new, gone or different, with its lines; cut where there are very many."""
    lines = [line for name in sorted({*old, *new}) for line in _part(name, old.get(name), new.get(name))]
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"… {len(lines) - _MOST:,} lines more"


def _part(name: str, old: str | None, new: str | None) -> Iterator[str]:
    if old == new:
        return
    yield f"{name} {'is gone' if new is None else 'is new' if old is None else 'has changed'}"
    if new is None:
        return
    diff = difflib.unified_diff((old or "").splitlines(), new.splitlines(), lineterm="", n=1)
    lines = [f"  {line}" for line in diff if not line.startswith(("---", "+++", "@@"))]
    yield from lines[:_MOST_OF_ONE]
    if len(lines) > _MOST_OF_ONE:
        yield f"  … {len(lines) - _MOST_OF_ONE} lines more"


def _text(part: Any) -> str:
    return json.dumps(part, indent=1, ensure_ascii=False, sort_keys=True, default=str)


class Pinned:
    """The copies of one address: `agreed` is used, `waiting` is not."""

    def __init__(self, address: str, locations: Locations | None = None) -> None:
        folder = (locations or Locations.from_environment()).data / "openapi"
        self._file = folder / hashlib.sha256(address.encode(errors="replace")).hexdigest()[:32]
        self._new = self._file.with_suffix(".new")
        self._shown = self._file.with_suffix(".shown")

    @property
    def agreed(self) -> bytes | None:
        """What was agreed to; None where it was never fetched."""
        return _read(self._file)

    @property
    def waiting(self) -> bytes | None:
        """What it has become since."""
        return _read(self._new)

    @property
    def checked_at(self) -> float:
        """When it was fetched last, in seconds since 1970."""
        try:
            return self._file.stat().st_mtime
        except OSError:
            return 0.0

    def fetched(self, content: bytes) -> bytes:
        """What is to be used now: this, where it is the first or says the same; else what was agreed to."""
        agreed = self.agreed
        if agreed is None or agreed == content or _says_the_same(agreed, content):
            self._keep(self._file, content)
            self._new.unlink(missing_ok=True)
            return content
        self._keep(self._new, content)
        os.utime(self._file)
        return agreed

    def approve(self, shown: bytes) -> bool:
        """Agree to the change that was shown; False where it has changed again since."""
        if self.waiting != shown:
            return False
        self._new.replace(self._file)
        self._shown.unlink(missing_ok=True)
        return True

    def mark(self, new: bytes) -> str:
        """A short hash of a change: what it would be, and what it would replace."""
        parts = (hashlib.sha256(each).digest() for each in (self.agreed or b"", new))
        return hashlib.sha256(b"".join(parts)).hexdigest()[:12]

    @property
    def shown(self) -> str:
        """The hash of what the person was shown last; empty where nothing was."""
        return (_read(self._shown) or b"").decode("ascii", "replace")

    def show(self, new: bytes) -> None:
        """Remember that the person was shown this."""
        self._keep(self._shown, self.mark(new).encode())

    @staticmethod
    def _keep(place: Path, content: bytes) -> None:
        """Where that fails there is no copy."""
        try:
            private_directory(place.parent)
            replace_file(place, content)
        except (OSError, UsageError):
            return


def _read(copy: Path) -> bytes | None:
    try:
        return copy.read_bytes()
    except OSError:
        return None


def _says_the_same(old: bytes, new: bytes) -> bool:
    """Whether nothing that tools are made of differs: layout, title and date of a document do not matter."""
    try:
        return parts_of(old) == parts_of(new)
    except BadDocument:
        return False
