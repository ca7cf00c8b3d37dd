"""The keys of profiles that stand in a file or in the keyring of the system; used by `models`.

The keyring is asked through the Python package `keyring` where it is installed, else through `secret-tool` (libsecret).
"""

from __future__ import annotations

import importlib
from pathlib import Path

from workbench.llm.model import ModelError
from workbench.processes import find_program, run

_LONGEST_KEY = 10_000
_PATIENCE = 60.0
"""Seconds: the keyring may ask the person for its password."""


def key_in_file(path: str, name: str) -> str:
    """The first line of a key file; raises ModelError."""
    where = f"models.{name}.api_key_file in settings.toml"
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            key = file.readline(_LONGEST_KEY).strip()
    except (OSError, ValueError, RuntimeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or "not a text file"
        raise ModelError(f"no key for {name}: cannot read {path} ({where}): {why}") from None
    if not key:
        raise ModelError(f"no key for {name}: the first line of {path} is empty ({where})")
    return key


def key_in_keyring(entry: str, name: str) -> str:
    """The key that the keyring has under SERVICE/NAME; raises ModelError, never with a word of the key."""
    service, _, user = entry.partition("/")
    try:
        key = _from_package(service, user)
    except ImportError:
        key = _from_secret_tool(service, user, name)
    if not key or not key.strip():
        raise ModelError(
            f"no key for {name}: the keyring has none for {service}/{user} "
            f"(models.{name}.api_key_keyring in settings.toml)"
        )
    return key.strip()


def _from_package(service: str, user: str) -> str | None:
    keyring = importlib.import_module("keyring")
    try:
        found = keyring.get_password(service, user)
    except keyring.errors.KeyringError as error:
        raise ModelError(
            f"the keyring cannot be read ({type(error).__name__}): unlock it or name another key"
        ) from None
    return str(found) if found else None


def _from_secret_tool(service: str, user: str, name: str) -> str:
    program = find_program("secret-tool")
    if program is None:
        raise ModelError(
            f"no key for {name}: there is no way to a keyring here; install the package `keyring` or secret-tool, or "
            f"use api_key_env or api_key_file in models.{name} of settings.toml"
        )
    command = [program, "lookup", "service", service, "username", user]
    try:
        done = run(command, input=b"", capture_output=True, timeout=_PATIENCE)
    except OSError:
        raise ModelError(f"no key for {name}: secret-tool did not answer; unlock the keyring and try again") from None
    return str(done.stdout, errors="replace")
