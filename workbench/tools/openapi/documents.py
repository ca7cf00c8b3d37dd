"""OpenAPI documents as data: read from a file or fetched, JSON or YAML; used by `definition`."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError
from workbench.files.replace import replace_file
from workbench.tools.openapi.source import Source

MOST_BYTES = 30_000_000
_VERSIONS = re.compile(r"3\.[01]\.\d+.*")


class BadDocument(Exception):
    """What cannot be used as an OpenAPI document; the message says why, in one line."""


def parsed(content: bytes) -> Any:
    """JSON or YAML as plain data; raises BadDocument."""
    if len(content) > MOST_BYTES:
        raise BadDocument(f"it is larger than {MOST_BYTES // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text) if text.lstrip()[:1] == "{" else _yaml(text)
    except (ValueError, RecursionError) as error:
        raise BadDocument(f"it is neither JSON nor YAML ({' '.join(str(error).split())[:150]})") from error


def _yaml(text: str) -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Dates stay the texts they are."""

        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
            first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
            for first, known in base.yaml_implicit_resolvers.items()
        }

    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def checked(document: Any) -> dict[str, Any]:
    """The document, if it is one of OpenAPI 3.0 or 3.1; raises BadDocument."""
    if not isinstance(document, dict):
        raise BadDocument("it is no OpenAPI document")
    version = str(document.get("openapi") or document.get("swagger") or "")
    if not _VERSIONS.fullmatch(version):
        said = f"it is written for version {version[:20]}" if version else "it does not say its version"
        raise BadDocument(f"{said}; OpenAPI 3.0 and 3.1 can be read")
    if not isinstance(document.get("paths"), dict):
        raise BadDocument("it has no paths")
    return document


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


_SECONDS = 10.0
"""For fetching a document; a session waits for it."""
_FRESH = 86_400
"""Seconds in which a copy is as good as the document."""
_CHANGED = (
    "it has changed since it was agreed to; what was agreed to is used until you have looked at the difference: "
    "ohw openapi changes {name}"
)


@dataclass(frozen=True)
class Loaded:
    """A document's bytes, its place as references begin there, and what is to be said about it."""

    content: bytes
    uri: str
    folder: Path | None = None
    address: str = ""
    notice: str = ""
    is_own: bool = False
    """Whether it is a file of the person's, outside the folder that the agent works in: nobody else writes it."""

    def settles(self, base_url: str) -> bool:
        """Whether the document may say that calls go there: its own server, or any where the person wrote the file."""
        return self.is_own or self.is_of(base_url)

    def is_of(self, base_url: str) -> bool:
        """Whether that is the server the document was fetched from, which the person named."""
        return bool(self.address) and urlsplit(self.address)[:2] == urlsplit(base_url)[:2]


def load(source: Source, workspace: Path) -> Loaded:
    """The document; raises BadDocument."""
    if source.is_remote:
        return _remote(source)
    try:
        path = (workspace / Path(source.document).expanduser()).resolve()
        if path.stat().st_size > MOST_BYTES:
            raise BadDocument(f"it is larger than {MOST_BYTES // 1_000_000} MB")
        is_own = not path.is_relative_to(workspace.resolve())
        return Loaded(path.read_bytes(), path.as_uri(), path.parent, is_own=is_own)
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else ""
        raise BadDocument(why or str(error)) from error


def _remote(source: Source) -> Loaded:
    address, pinned = source.document, Pinned(source.document)
    agreed, notice = pinned.agreed, ""
    if agreed is None or time.time() - pinned.checked_at >= _FRESH:
        try:
            agreed = pinned.fetched(_fetched(address))
        except BadDocument as error:
            if agreed is None:
                raise
            notice = f"it could not be fetched ({error}); the copy of an earlier day is used"
    if pinned.waiting is not None:
        notice = _CHANGED.format(name=source.name)
    return Loaded(agreed, address, address=address, notice=notice)


def _fetched(address: str) -> bytes:
    from workbench.web.addresses import Addresses, AddressRefused
    from workbench.web.calls import Calls, OutOfTime
    from workbench.web.fetch import FetchLimits, Unreachable, fetch

    limits = FetchLimits(MOST_BYTES, _SECONDS)
    try:
        got = Calls().run(lambda: fetch(address, Addresses(True), limits), _SECONDS + 1)
    except (AddressRefused, Unreachable) as error:
        raise BadDocument(str(error).rstrip(".")) from error
    except OutOfTime as error:
        raise BadDocument(f"no answer within {_SECONDS:g} seconds") from error
    if not got.is_good or got.cut:
        raise BadDocument(f"the server answered {got.said}" if not got.is_good else "it did not come whole")
    return got.content
