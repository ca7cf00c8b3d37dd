"""A session to show: what the app is given at its start, and when the person goes to another session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.client.client import Client

if TYPE_CHECKING:
    from workbench.view.approval.never_ask import NeverAskQuestion
    from workbench.view.approval.trust import TrustQuestion


@dataclass(frozen=True)
class Opened:
    """A session to show: its link (None when no model is set up), its folder, and what to send first."""

    link: Client | None
    workspace: Path
    message: str = ""
    trust: TrustQuestion | None = None
    """What to ask before the session begins."""
    never_ask: NeverAskQuestion | None = None
    """The confirmation of a mode that never asks, before the session begins in it."""
    keep: Callable[[str], Path] | None = None
    """The folder in which the screen keeps what belongs to a session, by the session's id."""
    unsent: Path | None = None
    """Where what is typed is kept before the first message of a new session."""
