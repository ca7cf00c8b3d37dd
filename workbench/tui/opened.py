"""A session to show: what the app is given at its start, and when the person goes to another session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.tui.links.link import Link


@dataclass(frozen=True)
class Opened:
    """A session to show: its link (None when no model is set up), its folder, and what to send first."""

    link: Link | None
    workspace: Path
    message: str = ""
