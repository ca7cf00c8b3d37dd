"""A keyring in memory, in place of the system's; it can be locked, or give no answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from keyring.errors import KeyringLocked, PasswordDeleteError


@dataclass
class MemoryKeyring:
    """What the package `keyring` calls."""

    secrets: dict[tuple[str, str], str] = field(default_factory=dict)
    is_locked: bool = False
    waits_for: threading.Event | None = None
    """Each access waits until this is set, as for the user's password."""
    priority: float = 5

    def get_password(self, service: str, name: str) -> str | None:
        self._unlock()
        return self.secrets.get((service, name))

    def set_password(self, service: str, name: str, secret: str) -> None:
        self._unlock()
        self.secrets[service, name] = secret

    def delete_password(self, service: str, name: str) -> None:
        self._unlock()
        if self.secrets.pop((service, name), None) is None:
            raise PasswordDeleteError("no such password")

    def _unlock(self) -> None:
        if self.waits_for is not None:
            self.waits_for.wait(60)
        if self.is_locked:
            raise KeyringLocked("the word sk-secret")
