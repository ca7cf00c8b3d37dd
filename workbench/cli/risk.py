"""`ohw risk` rates commands, from arguments or from JSON lines on stdin, without running them."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

from workbench.cli.common import print_line
from workbench.risk import assess_line
from workbench.risk.paths import PathContext

_SEGMENT = ("text", "risk", "reason", "paths")


def risk(arguments: Namespace) -> int:
    """Print the rating of each command as a line of JSON."""
    base = PathContext(str(_assumed(arguments.workspace or ".")), str(_assumed(arguments.home or "~")))
    lines = [json.dumps({"kind": "bash", "input": command}) for command in arguments.commands]
    for line in lines or sys.stdin.buffer:
        text = line if isinstance(line, str) else line.decode(errors="surrogateescape")
        if text.strip():
            rating = assess_line(text, base)
            parts = [dict(zip(_SEGMENT, part, strict=False)) for part in rating.parts]
            print_line(json.dumps({"risk": rating.risk, "reasons": rating.reasons, "segments": parts}))
    return 0


def _assumed(directory: str) -> Path:
    """Return the resolved path of a directory that need not exist."""
    return Path(directory).expanduser().resolve()
