"""`ohw locate`: where settings, sessions and logs are."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli.given import say
from workbench.config.locations import Locations
from workbench.text import visible


def locate(_: Namespace) -> int:
    """A line for each place."""
    where = Locations.from_environment()
    rows = {
        "settings": where.settings_file,
        "rules": where.rules_file,
        "themes": where.themes,
        "sessions": where.sessions,
        "logs": where.logs,
        "sockets": where.runtime,
    }
    for name, path in rows.items():
        say(f"{name:<10}{visible(str(path), lines=False)}")
    return 0
