"""What a session file would allow whoever opens it: its mode, its rules and the address of its model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from workbench.config.modes import NEVER
from workbench.session.storage.lock import holder
from workbench.session.storage.store import reading_uri

_SETTINGS = "SELECT json FROM events WHERE kind IN ('session_started', 'settings_changed') ORDER BY seq"
_WAIT = 1.0
"""Seconds to wait for a process that is writing."""


class Permissions(NamedTuple):
    """The permissions in one session file."""

    mode: str = ""
    rules: frozenset[str] = frozenset()
    api_base: str = ""

    def exceeds(self, earlier: Permissions) -> bool:
        """Return whether more runs without a question than with the earlier ones, or the model is asked elsewhere."""
        is_never = self.mode == NEVER and earlier.mode != NEVER
        return is_never or not self.rules <= earlier.rules or self.api_base not in ("", earlier.api_base)


def permissions_in(path: Path) -> Permissions:
    """Return the permissions in a session file; none if it cannot be read, as it cannot be opened then."""
    mode, api_base, rules = "", "", dict[str, None]()
    try:
        with closing(sqlite3.connect(reading_uri(path), uri=True, timeout=_WAIT)) as db:
            settings = [json.loads(line) for (line,) in db.execute(_SETTINGS)]
        for setting in settings:
            mode, api_base = setting.get("mode") or mode, setting.get("api_base") or api_base
            rules.pop(setting.get("dropped_rule") or "", None)
            rules |= {setting["rule"]: None} if setting.get("rule") else {}
    except (sqlite3.Error, ValueError, TypeError, AttributeError):
        return Permissions()
    return Permissions(mode, frozenset(rules), api_base)


def stored_mode(path: Path) -> str:
    """Return the mode in which the last process left a session; empty if one holds it, or it cannot be read."""
    return permissions_in(path).mode if holder(path) is None else ""
