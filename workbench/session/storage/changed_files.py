"""Reads from a session's log which files the agent and the user changed, with their first and last texts."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Final

from workbench.errors import WorkbenchError
from workbench.session.storage.store import Store

_EVENT: Final = "CASE kind WHEN 'delegate_step' THEN json_extract(json, '$.event') ELSE json END"
_FILES: Final = f"""
SELECT files, by FROM (
  SELECT seq, coalesce(json_extract(event, '$.files_changed'), json_extract(event, '$.files')) AS files,
    json_extract(event, '$.by') AS by
  FROM (SELECT seq, {_EVENT} AS event FROM events
        WHERE kind IN ('action_observed', 'version_taken', 'files_changed', 'delegate_step'))
) WHERE files LIKE '[{{%' ORDER BY seq
"""
FileChange = tuple[str | None, str | None]
"""The text of a file before and after the session; None if it did not exist."""


def changed_files(path: Path) -> list[FileChange]:
    """Return the first and last text of each file that the agent or the user changed.

    Files without recorded texts are omitted. Empty if the log cannot be read.
    """
    changes: dict[str, FileChange] = {}
    own: set[str] = set()
    """Paths that the agent or the user changed and whose texts are recorded."""
    try:
        with Store.open(path, readonly=True) as store:
            for files, by in store.query(_FILES):
                for file in json.loads(files):
                    name = file["path"]
                    changes[name] = (changes.get(name, (file["before"], None))[0], file["after"])
                    if file["cut"]:
                        own.discard(name)
                    elif by != "other":
                        own.add(name)
    except (WorkbenchError, sqlite3.Error, ValueError, LookupError, TypeError):
        return []
    return [change for name, change in changes.items() if name in own and change[0] != change[1]]
