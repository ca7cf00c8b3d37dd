"""`ohw trust` lists the trusted directories; `ohw trust revoke` revokes the trust in some or all."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from workbench.cli.common import print_line, settings_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.text import visible, visible_path
from workbench.tools.trust import revoke
from workbench.view.approval.trust_list import TrustRow, trust_rows

_NONE = (
    "No directory is trusted. `ohw` asks when you open one that contains tools, rules, servers, sub-agents or commands."
)
_RUNNING = "Sessions that are open keep what they loaded until they end."


def trust(arguments: Namespace) -> int:
    """List the trusted directories, or revoke the trust in some. Raises UsageError if one was never trusted."""
    if arguments.action != "revoke" and (arguments.all or arguments.paths):
        raise UsageError("`ohw trust revoke PATH` ends the trust in a directory, and `ohw trust revoke --all` in all")
    where, settings = settings_of(arguments)
    rows = trust_rows(where, settings.trusted)
    if arguments.action == "revoke":
        return _revoke(where, settings, rows, arguments)
    if arguments.json:
        for row in rows:
            fields = {"path": row.path, "state": row.standing, "brings": row.brings, "by": row.by, "at": row.at}
            print_line(json.dumps(fields))
        return 0
    print_line("\n".join(map(_lines, rows)) or _NONE)
    return 0


def _lines(row: TrustRow) -> str:
    mark = "●" if row.is_used else "○"
    lines = (f"{mark} {visible_path(row.path)}  {row.status}", f"    {row.about}")
    return "\n".join(visible(line, lines=False) for line in lines)


def _revoke(where: Locations, settings: Settings, rows: Sequence[TrustRow], arguments: Namespace) -> int:
    listed = [row.path for row in rows]
    paths = listed if arguments.all else [_listed(path, listed) for path in arguments.paths]
    if not (paths or arguments.all):
        raise UsageError("which directory? `ohw trust revoke PATH`, or `--all` for every one in `ohw trust`")
    revoke(where, paths, settings.trusted)
    for path in paths:
        print_line(f"No longer trusted: {visible_path(str(path))}")
    named = sum(row.standing == "revoked" for row in trust_rows(where, settings.trusted))
    if named:
        print_line(f"Still named under `trusted` in {where.settings_file}: {named}. Remove them there too.")
    print_line(_RUNNING if paths else _NONE)
    return 0


def _listed(path: str, listed: Sequence[str]) -> str:
    """Return the stored path that an argument refers to. Raises UsageError if there is none."""
    whole = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - the directory may be gone
    for each in (path, whole, str(Path(whole).resolve())):
        if each in listed:
            return each
    raise UsageError(f"{path} is not trusted; `ohw trust` lists the directories that are")
