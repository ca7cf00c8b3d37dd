"""`ohw risk`: how commands would be rated; as arguments, or as JSON lines on stdin."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

from workbench.cli.common import print_line
from workbench.risk.description import assess_line
from workbench.risk.paths import Places

_SEGMENT = ("text", "risk", "reason", "paths")


def risk(arguments: Namespace) -> int:
    """A line of JSON for each command."""
    places = Places(str(_assumed(arguments.workspace or ".")), str(_assumed(arguments.home or "~")))
    given = [json.dumps({"kind": "bash", "input": command}) for command in arguments.commands]
    for line in given or sys.stdin.buffer:
        text = line if isinstance(line, str) else line.decode(errors="surrogateescape")
        if text.strip():
            found = assess_line(text, places)
            parts = [dict(zip(_SEGMENT, part, strict=False)) for part in found.parts]
            print_line(json.dumps({"risk": found.risk, "reasons": found.reasons, "segments": parts}))
    return 0


def _assumed(folder: str) -> Path:
    """A folder that need not exist."""
    return Path(folder).expanduser().resolve()
