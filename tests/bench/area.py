"""`python -m tests.bench.area MODULE` prints the measures of one area as JSON, from a process of its own."""

from __future__ import annotations

import contextlib
import importlib
import sys

import msgspec


def main(module: str) -> None:
    """Measure; whatever else is printed meanwhile goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr):
        measures = list(importlib.import_module(module).measures())
    sys.stdout.buffer.write(msgspec.json.encode(measures))


if __name__ == "__main__":
    main(sys.argv[1])
