"""`ohw stats` shows what the sessions of recent days cost, who decided in them, and how long they
waited for the user.
"""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace

from workbench.cli.common import print_error, print_line, settings_of
from workbench.view.stats import as_json, read_stats
from workbench.view.usage import stats_page

_PLAIN_WIDTH = 120


def stats(arguments: Namespace) -> int:
    """Print the statistics as a page, or as JSON. Returns 0."""
    locations, _ = settings_of(arguments, lenient=True)
    numbers = read_stats(locations, arguments.days)
    if arguments.json:
        print_line(json.dumps(as_json(numbers), ensure_ascii=False))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PLAIN_WIDTH
        for line in stats_page(numbers, width):
            print_line("".join(piece.text for piece in line).rstrip())
    for each in numbers.unreadable:
        print_error(f"not read: {each.session}: {each.reason}")
    return 0
