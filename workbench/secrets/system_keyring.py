"""The system's keyring, accessed through the package `keyring`.

Each access has a time limit, because a locked keyring waits for the user to unlock it.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from workbench.errors import WorkbenchError

PATIENCE: Final = 60.0
"""Seconds to wait for a keyring, which may ask the user for its password."""
_Result = TypeVar("_Result")


class KeyringUnusable(WorkbenchError):
    """There is no keyring here: the package is missing, or the system has none."""


class KeyringLocked(WorkbenchError):
    """The keyring failed, or was not unlocked in time; the message never contains a secret."""


def keyring_is_usable(patience: float = 5.0) -> bool:
    """Return whether secrets can be saved in a keyring here; does not unlock it."""
    try:
        priority = _limited(lambda keyring: float(keyring.get_keyring().priority), patience)
    except WorkbenchError:
        return False
    # The backend that refuses everything has the priority 0, and the one that discards everything -1.
    return priority > 0


def read_secret(service: str, name: str, patience: float = PATIENCE) -> str | None:
    """Return a secret from the keyring, or None if it has none. Raises KeyringUnusable or KeyringLocked."""
    secret = _limited(lambda keyring: keyring.get_password(service, name), patience)
    return str(secret) if secret else None


def save_secret(service: str, name: str, secret: str, patience: float = PATIENCE) -> None:
    """Save a secret in the keyring. Raises KeyringUnusable or KeyringLocked."""
    _limited(lambda keyring: keyring.set_password(service, name, secret), patience)


def delete_secret(service: str, name: str, patience: float = PATIENCE) -> None:
    """Delete a secret from the keyring. Raises KeyringUnusable or KeyringLocked, the latter also if there is no such
    secret.
    """
    _limited(lambda keyring: keyring.delete_password(service, name), patience)


def _limited(access: Callable[[Any], _Result], patience: float) -> _Result:
    """Return the result of `access`, which runs in a thread that is abandoned after `patience` seconds."""
    results: list[_Result] = []
    problems: list[WorkbenchError] = []

    def run() -> None:
        try:
            results.append(access(importlib.import_module("keyring")))
        except ImportError:
            problems.append(KeyringUnusable("the package `keyring` is not installed"))
        except Exception as error:  # noqa: BLE001 — backends raise errors of D-Bus and of the system, too
            is_missing = type(error).__name__ == "NoKeyringError"
            kind = KeyringUnusable if is_missing else KeyringLocked
            problems.append(kind(f"the keyring cannot be used ({type(error).__name__})"))

    thread = threading.Thread(target=run, daemon=True, name="keyring")
    thread.start()
    thread.join(patience)
    if problems:
        raise problems[0]
    if not results:
        raise KeyringLocked(f"the keyring gave no answer within {patience:g} s: unlock it and try again")
    return results[0]
