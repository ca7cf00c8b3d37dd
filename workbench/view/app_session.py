"""The session to show: given to the app when it starts, and when the user switches to another session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from workbench.client.client import Client
from workbench.config.locations import Locations
from workbench.session.session_names import SUFFIX

if TYPE_CHECKING:
    from workbench.client.ssh_url import SshUrl
    from workbench.view.approval.never_ask import NeverAskQuestion
    from workbench.view.approval.trust import TrustQuestion
    from workbench.view.state import SessionState


class AppSession(Struct, frozen=True):
    """A session to show: its client (None if no model is set up), its directory, and the message to send first."""

    client: Client | None
    workspace: Path
    message: str = ""
    trust: TrustQuestion | None = None
    """The question to ask before the session begins, if any."""
    never_ask: NeverAskQuestion | None = None
    """The confirmation to ask for before the session begins in the mode that never asks, if any."""
    keep: Callable[[str], Path] | None = None
    """Returns the directory for the screen's files about a session, given the session's id."""
    unsent: Path | None = None
    """The directory for text typed before a new session has its first message."""
    file: Path | None = None
    """The session file, if it is not in the user's own directory of sessions."""
    url: SshUrl | None = None
    """Where the session is on another machine."""
    machine: str = ""
    """The user and the host over ssh if the session is on another machine; `workspace` then leads nowhere on this one.
    """
    scripted: str = ""
    """The scripted model of a demo; any other session has the model of the settings, or its own."""
    race: str = ""
    """The race to show first, if any."""
    elsewhere: Locations | None = None
    """Where the session and its snapshots are, if not in the user's own data directory, as those of a batch."""

    @property
    def locations(self) -> Locations:
        """Where the session and its snapshots are."""
        return self.elsewhere or Locations.from_environment()

    def file_of(self, session_id: str) -> Path:
        """Return the session file, given the session's id; it may not exist yet."""
        return self.file or self.locations.sessions / f"{session_id}{SUFFIX}"


def show_scripted(state: SessionState, session: AppSession) -> None:
    """Let the state of a demo that has not started name its scripted model."""
    if session.scripted:
        state.model, state.scripted = session.scripted, True
