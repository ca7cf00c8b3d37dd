"""Loads OpenAPI documents from files or URLs; fetched ones are pinned until the user approves a change."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError
from workbench.files.state_files import replace_file
from workbench.lazy_pattern import lazy_pattern
from workbench.tools.openapi.source import Source

MOST_BYTES = 30_000_000
_VERSIONS = lazy_pattern(r"3\.[01]\.\d+.*")


class BadDocument(Exception):
    """The document cannot be used; the message says why in one line."""


def parsed(content: bytes) -> Any:
    """Parse JSON or YAML into plain data. Raises BadDocument."""
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
        """A loader that leaves dates as strings."""

        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }

    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def checked(document: Any) -> dict[str, Any]:
    """Return the document if it is OpenAPI 3.0 or 3.1. Raises BadDocument."""
    if not isinstance(document, dict):
        raise BadDocument("it is not an OpenAPI document")
    version = str(document.get("openapi") or document.get("swagger") or "")
    if not _VERSIONS.fullmatch(version):
        problem = f"it is written for version {version[:20]}" if version else "it names no version"
        raise BadDocument(f"{problem}; OpenAPI 3.0 and 3.1 can be read")
    if not isinstance(document.get("paths"), dict):
        raise BadDocument("it has no paths")
    return document


_NO_MATTER = ("info", "tags", "externalDocs", "paths", "components")
_MOST_OF_ONE = 40
_MOST = 400
"""The most lines of a diff."""


def parts_of(content: bytes) -> dict[str, str]:
    """Return the parts that define tools, by operation or component name, each as JSON text. Raises BadDocument."""
    document = checked(parsed(content))
    parts = {name: _text(part) for name, part in document.items() if name not in _NO_MATTER}
    for path, item in document["paths"].items():
        for method, operation in (item if isinstance(item, dict) else {"": item}).items():
            parts[f"{str(method).upper()} {path}"] = _text(operation)
    for kind, entries in (document.get("components") or {}).items():
        for name, part in (entries if isinstance(entries, dict) else {"": entries}).items():
            parts[f"{kind} {name}"] = _text(part)
    return parts


def changed_lines(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """Yield a diff of the parts that were added, removed or changed, at most `_MOST` lines."""
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
    """The local copies of one URL: the approved one, which is used, and a changed one awaiting approval."""

    def __init__(self, url: str, locations: Locations | None = None) -> None:
        directory = (locations or Locations.from_environment()).data / "openapi"
        self._file = directory / hashlib.sha256(url.encode(errors="replace")).hexdigest()[:32]
        self._new = self._file.with_suffix(".new")
        self._reviewed_file = self._file.with_suffix(".shown")

    @property
    def agreed(self) -> bytes | None:
        """The approved content; None if nothing was fetched yet."""
        return _read(self._file)

    @property
    def waiting(self) -> bytes | None:
        """The changed content that awaits approval; None if there is none."""
        return _read(self._new)

    @property
    def checked_at(self) -> float:
        """The time of the last fetch in seconds since 1970; 0 if there was none."""
        try:
            return self._file.stat().st_mtime
        except OSError:
            return 0.0

    def fetched(self, content: bytes) -> bytes:
        """Store fetched content; return the content to use.

        That is the new content if it is the first or defines the same tools, else the approved content.
        """
        agreed = self.agreed
        if agreed is None or agreed == content or _says_the_same(agreed, content):
            self._keep(self._file, content)
            self._new.unlink(missing_ok=True)
            return content
        self._keep(self._new, content)
        os.utime(self._file)
        return agreed

    def approve(self, content: bytes) -> bool:
        """Approve the change with this content; return False if a different change, or none, awaits approval."""
        if self.waiting != content:
            return False
        self._new.replace(self._file)
        self._reviewed_file.unlink(missing_ok=True)
        return True

    def mark(self, new: bytes) -> str:
        """Return a short hash of a change, made from the approved and the new content."""
        parts = (hashlib.sha256(each).digest() for each in (self.agreed or b"", new))
        return hashlib.sha256(b"".join(parts)).hexdigest()[:12]

    @property
    def last_reviewed(self) -> str:
        """The `mark` of the change that the user was shown last; empty if none was shown."""
        return (_read(self._reviewed_file) or b"").decode("ascii", "replace")

    def record_review(self, new: bytes) -> None:
        """Store that the user was shown this change."""
        self._keep(self._reviewed_file, self.mark(new).encode())

    @staticmethod
    def _keep(path: Path, content: bytes) -> None:
        """Write the file; if that fails, ignore the error: no copy is kept."""
        try:
            private_directory(path.parent)
            replace_file(path, content)
        except (OSError, UsageError):
            return


def _read(copy: Path) -> bytes | None:
    try:
        return copy.read_bytes()
    except OSError:
        return None


def _says_the_same(old: bytes, new: bytes) -> bool:
    """Return whether both define the same tools: layout, title and version do not matter."""
    try:
        return parts_of(old) == parts_of(new)
    except BadDocument:
        return False


_SECONDS = 10.0
"""The time limit, in seconds, for fetching a document; the start of a session waits for it."""
_FRESH = 86_400
"""Seconds until a cached copy is fetched again."""
_CHANGED = (
    "it has changed since it was agreed to; what was agreed to is used until you have looked at the difference: "
    "ohw openapi changes {name}"
)


@dataclass(frozen=True)
class Loaded:
    """A document's content, the URI against which its references are resolved, and a notice for the user."""

    content: bytes
    uri: str
    directory: Path | None = None
    url: str = ""
    notice: str = ""
    is_own: bool = False
    """Whether the document is a file outside the workspace, so that only the user writes it."""

    def may_name_server(self, base_url: str) -> bool:
        """Return whether the document may name this server: it came from there, or the user wrote the document."""
        return self.is_own or self.is_of(base_url)

    def is_of(self, base_url: str) -> bool:
        """Return whether the document was fetched from this server; if so, the user named the server."""
        return bool(self.url) and urlsplit(self.url)[:2] == urlsplit(base_url)[:2]


def load(source: Source, workspace: Path) -> Loaded:
    """Load the document of a source. Raises BadDocument."""
    if source.is_remote:
        return _remote(source)
    try:
        path = (workspace / Path(source.document).expanduser()).resolve()
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise BadDocument("not a regular file")
        if path.stat().st_size > MOST_BYTES:
            raise BadDocument(f"it is larger than {MOST_BYTES // 1_000_000} MB")
        is_own = not path.is_relative_to(workspace.resolve())
        return Loaded(path.read_bytes(), path.as_uri(), path.parent, is_own=is_own)
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else ""
        raise BadDocument(why or str(error)) from error


def _remote(source: Source) -> Loaded:
    url, pinned = source.document, Pinned(source.document)
    agreed, notice = pinned.agreed, ""
    if agreed is None or time.time() - pinned.checked_at >= _FRESH:
        try:
            agreed = pinned.fetched(_fetched(url))
        except BadDocument as error:
            if agreed is None:
                raise
            notice = f"it could not be fetched ({error}); the copy of an earlier day is used"
    if pinned.waiting is not None:
        notice = _CHANGED.format(name=source.name)
    return Loaded(agreed, url, url=url, notice=notice)


def _fetched(url: str) -> bytes:
    from workbench.web.fetch import FetchLimits, Unreachable, fetch
    from workbench.web.interruptible_calls import Calls, OutOfTime
    from workbench.web.network import HostRefused, NetworkPolicy

    limits = FetchLimits(MOST_BYTES, _SECONDS)
    try:
        got = Calls().run(lambda: fetch(url, NetworkPolicy(True), limits), _SECONDS + 1)
    except (HostRefused, Unreachable) as error:
        raise BadDocument(str(error).rstrip(".")) from error
    except OutOfTime as error:
        raise BadDocument(f"no answer within {_SECONDS:g} seconds") from error
    if not got.is_good or got.cut:
        raise BadDocument(f"the server answered {got.status_line}" if not got.is_good else "it arrived incomplete")
    return got.content
