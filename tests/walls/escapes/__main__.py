"""Try all escapes, or those named, and print a line for each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from . import catalog
from .attempt import attempt


def main(world: str, *names: str) -> None:
    """Run the escapes one after the other."""
    facts = json.loads(Path(world).read_text())
    for name in names or catalog.NAMES:
        sys.stdout.write(json.dumps(attempt(name, facts)) + "\n")
        sys.stdout.flush()


main(*sys.argv[1:])
