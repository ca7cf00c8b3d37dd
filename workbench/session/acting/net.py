"""What the actions of a session ask of its files: what would be taken away for good, and whether a copy is kept."""

from __future__ import annotations

from typing import Final, Protocol

from workbench.security.assessment import Assessment
from workbench.session.versions.losses import Explained


class KeepsCopies(Protocol):
    """Knows what is lost with an action."""

    def explained(self, found: Assessment) -> Explained:
        """The rating with what would be taken away in its reasons, and why it is asked about for that alone."""

    def no_copy(self, action_id: str) -> str:
        """Why there is no copy of what this action, which is about to start, takes away; empty where none is needed."""


class _NoCopies:
    """Nothing is known, and nothing kept."""

    def explained(self, found: Assessment) -> Explained:
        """The rating as it is."""
        return Explained(found)

    def no_copy(self, action_id: str) -> str:
        """Nothing is asked for."""
        return ""


NO_COPIES: Final[KeepsCopies] = _NoCopies()
"""Below actions whose files nobody keeps."""
