"""The permissions in a session file, which apply to whoever opens it: its mode, its rules and the URL of its model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Self

from workbench.config.modes import NEVER
from workbench.session.storage.signatures import settings_rows
from workbench.session.storage.store_files import reading_uri

_WAIT = 1.0
"""How long to wait for a process that is writing, in seconds."""


class Permissions(NamedTuple):
    """The permissions that a session file grants."""

    mode: str = ""
    rules: frozenset[str] = frozenset()
    api_base: str = ""
    is_mode_signed: bool = False
    """Whether the mode was set by an event with a valid signature; only the mode that never asks is signed."""
    signed_rules: frozenset[str] = frozenset()
    """The rules that were added by events with a valid signature."""
    is_api_base_signed: bool = False

    def exceeds(self, earlier: Permissions) -> bool:
        """Return whether these permissions let more run unasked than `earlier`, or use another model server."""
        is_never = self.mode == NEVER and earlier.mode != NEVER
        return is_never or not self.rules <= earlier.rules or self.api_base not in ("", earlier.api_base)

    def after(self, setting: dict[str, Any], *, is_signed: bool) -> Self:
        """Return the permissions after one more event; `setting` is its JSON, `is_signed` whether its signature is
        valid.
        """
        mode, rule = setting.get("mode") or "", setting.get("rule") or ""
        dropped = {rule, setting.get("dropped_rule") or ""}
        added = {rule} if rule else set()
        return self._replace(
            mode=mode or self.mode,
            rules=self.rules - dropped | added,
            api_base=setting.get("api_base") or self.api_base,
            is_api_base_signed=is_signed if setting.get("api_base") else self.is_api_base_signed,
            is_mode_signed=is_signed if mode else self.is_mode_signed,
            signed_rules=self.signed_rules - dropped | (added if is_signed else set()),
        )

    def unsigned(self) -> Permissions:
        """Return only the permissions that were set by events without a valid signature."""
        return Permissions(
            mode="" if self.is_mode_signed else self.mode,
            rules=self.rules - self.signed_rules,
            api_base="" if self.is_api_base_signed else self.api_base,
        )


def permissions_in(path: Path, last: int | None = None) -> Permissions:
    """Return the permissions in a session file, as of event `last` if it is given.

    There are none if the file cannot be read, because then it cannot be opened either. In a fork, only its own events
    are read: they repeat the rules from the events that it shares.
    """
    permissions = Permissions()
    try:
        with closing(sqlite3.connect(reading_uri(path), uri=True, timeout=_WAIT)) as db:
            for line, is_signed in settings_rows(db, path.stem, *(() if last is None else (last,))):
                permissions = permissions.after(json.loads(line), is_signed=is_signed)
    except (sqlite3.Error, ValueError, TypeError, AttributeError):
        return Permissions()
    return permissions
