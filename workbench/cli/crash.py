"""Reports the crash of a command: one line, and a report in a file, instead of a traceback."""

from __future__ import annotations

import sys

from workbench.cli.arguments import command_span
from workbench.config.locations import Locations
from workbench.files.crash_reports import crash_line


def print_crash(error: BaseException) -> None:
    """Write a crash report about an unhandled exception, and print one line about it to standard error."""
    words = sys.argv[1:]
    part = " ".join(words[command_span(words)]) or "start"
    sys.stderr.write(f"ohw: {crash_line(part, error, Locations.from_environment())}\n")
    sys.stderr.flush()
