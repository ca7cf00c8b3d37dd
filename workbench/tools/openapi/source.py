"""The settings of one OpenAPI document, `[tools.openapi.NAME]`, with their validation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.suggest import nearest

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,30}")
_URL = lazy_pattern(r"https?://[^/\s]", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """The settings of one document; keys are given as names of environment variables."""

    name: str
    document: str
    """A path or URL."""
    base_url: str = ""
    """The server URL; by default the document's."""
    key_env: str = ""
    """The variable with the key for any security scheme that `auth` does not name."""
    auth: Mapping[str, str] = field(default_factory=dict)
    """The variable that holds the key for each security scheme of the document, by the scheme's name."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers sent with every call."""
    only: tuple[str, ...] = ()
    """Patterns for IDs, tags or paths of the operations to offer; by default all."""
    read_only: bool = False
    """Whether only read-only operations are offered."""
    seconds: float = 60.0
    """The time limit of one call, in seconds."""

    @property
    def has_keys(self) -> bool:
        """Whether keys are configured."""
        return bool(self.key_env or self.auth)

    @property
    def is_remote(self) -> bool:
        """Whether the document is a URL."""
        return bool(_URL.match(self.document))


def read_source(name: str, table: object) -> Source:
    """Validate one document's table. Raises a UsageError whose message starts with the key."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r}: a name is made of letters, digits, - and _, and short")
    if not isinstance(table, Mapping):
        raise UsageError(f"{name} must be a table: [tools.openapi.{name}]")
    for entry in table:
        if entry not in _KINDS:
            near = nearest(str(entry), _KINDS)
            hint = f"; did you mean {near}?" if near else f"; known are {', '.join(_KINDS)}"
            raise UsageError(f"{name} has no entry {entry!r}{hint}")
    if not str(table.get("document") or "").strip():
        raise UsageError(f"{name}.document is missing: a file or a URL")
    return Source(name=name, **{entry: _checked(f"{name}.{entry}", entry, value) for entry, value in table.items()})


def _checked(key: str, entry: str, value: Any) -> Any:
    fits, what = _KINDS[entry]
    if not fits(value):
        raise UsageError(f"{key} must be {what}, not {value!r}")
    return tuple(value) if entry == "only" else value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) and all(_is_text(part) for part in value.values())


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(_is_text(part) for part in value)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 3_600


_KINDS = {
    "document": (_is_text, "a file or a URL"),
    "base_url": (
        lambda value: isinstance(value, str) and bool(_URL.match(value)),
        "a URL such as https://api.example.org",
    ),
    "key_env": (_is_text, "the name of an environment variable"),
    "auth": (_is_table, 'a table such as { SchemeName = "VARIABLE" }'),
    "headers": (_is_table, 'a table such as { X-Team = "me" }'),
    "only": (_is_list, 'a list of patterns such as ["get_*", "/users/*"]'),
    "read_only": (lambda value: isinstance(value, bool), "true or false"),
    "seconds": (_is_time, "a number of seconds"),
}
