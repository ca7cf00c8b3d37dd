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
"""Seconds to wait for a process that is writing."""


class Permissions(NamedTuple):
    """The permissions in one session file."""

    mode: str = ""
    rules: frozenset[str] = frozenset()
    api_base: str = ""
    is_mode_signed: bool = False
    """Whether a process of ours set the mode that never asks."""
    signed_rules: frozenset[str] = frozenset()
    """The rules that a process of ours added."""
    is_api_base_signed: bool = False

    def exceeds(self, earlier: Permissions) -> bool:
        """Return whether these permissions let more run without a question than `earlier` ones, or use another model
        server.
        """
        is_never = self.mode == NEVER and earlier.mode != NEVER
        return is_never or not self.rules <= earlier.rules or self.api_base not in ("", earlier.api_base)

    def after(self, setting: dict[str, Any], *, is_signed: bool) -> Self:
        """Return the permissions after one more event that sets something."""
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
        """Return the permissions whose events have no valid signature, so no process of ours wrote them."""
        return Permissions(
            mode="" if self.is_mode_signed else self.mode,
            rules=self.rules - self.signed_rules,
            api_base="" if self.is_api_base_signed else self.api_base,
        )


def permissions_in(path: Path, last: int | None = None) -> Permissions:
    """Return the permissions in a session file, after event `last` if it is given.

    There are none if the file cannot be read, because then it cannot be opened either. Of a fork, only its own events
    count: they repeat the rules that it has from the shared ones.
    """
    permissions = Permissions()
    try:
        with closing(sqlite3.connect(reading_uri(path), uri=True, timeout=_WAIT)) as db:
            for line, is_signed in settings_rows(db, path.stem, *(() if last is None else (last,))):
                permissions = permissions.after(json.loads(line), is_signed=is_signed)
    except (sqlite3.Error, ValueError, TypeError, AttributeError):
        return Permissions()
    return permissions
