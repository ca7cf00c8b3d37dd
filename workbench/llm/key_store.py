"""The API keys that the user saved: each in the system keyring or in a file with mode 0600, and bound to a provider or
to the URL of one server.

Each key has a small file that says where it is, so the keyring is only asked for keys that it contains.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError, WorkbenchError
from workbench.files.state_files import replace_json
from workbench.llm.discovery import base_in_environment, is_own_domain, key_variables, takes_usual_key
from workbench.secrets.masker import MASKER
from workbench.secrets.system_keyring import PATIENCE, delete_secret, read_secret, save_secret

Storage: TypeAlias = Literal["keyring", "file"]
_SERVICE: Final = "ohw"
_LARGEST: Final = 100_000


def key_name(model: str, api_base: str | None = None, env: Mapping[str, str] = os.environ) -> str:
    """Return the name under which a model's key is saved; empty if the provider is unknown.

    That is the provider or, for a server of the user's own, the scheme, host and port of its URL: a saved key is sent
    only to the server for which it was entered.
    """
    provider, slash, _ = model.partition("/")
    base = api_base or base_in_environment(provider, env)
    if not slash:
        return ""
    return provider if not base or is_own_domain(base, provider) else _origin(base)


def _origin(base: str) -> str:
    try:
        url = urlsplit(base)
        host, port = url.hostname or "", url.port or {"http": 80, "https": 443}.get(url.scheme, 0)
    except ValueError:
        return ""
    return f"{url.scheme}://{host}:{port}" if host and url.scheme in ("http", "https") else ""


def key_in_environment(model: str, api_base: str | None = None, env: Mapping[str, str] = os.environ) -> str:
    """Return the name of the environment variable whose key is sent to the model's server; empty if there is none."""
    provider = model.partition("/")[0]
    if api_base and not takes_usual_key(api_base, provider):
        return ""
    return next((name for name in key_variables(provider) if env.get(name, "").strip()), "")


class StoredKey(msgspec.Struct, frozen=True):
    """Where one key is saved."""

    name: str
    storage: Storage
    path: Path
    """The file that contains the key, or says that the key is in the keyring."""
    instead_of: str = ""
    """The digest of the key that the environment contained when this one was entered; empty if it contained none."""

    @property
    def described(self) -> str:
        """The place where the key is saved, described for the user."""
        return "the system keyring" if self.storage == "keyring" else str(self.path)

    def replaces(self, key_in_env: str) -> bool:
        """Return whether this key takes precedence over the given key from the environment, because the user entered it
        to replace that one.
        """
        return bool(self.instead_of) and _digest(key_in_env) == self.instead_of


class KeyStore:
    """The saved keys of one user, shared by all of the user's processes."""

    def __init__(self, locations: Locations) -> None:
        # The risk rating knows this directory and the extension: reading such a file is rated as reading a secret.
        self._directory = locations.data / "keyrings"

    def find(self, name: str) -> StoredKey | None:
        """Return where the key of that name is saved, or None if there is none; does not open the keyring."""
        data = self._read(self._path(name)) if name else None
        return self._stored(data) if data is not None and data["name"] == name else None

    def all(self) -> Iterator[StoredKey]:
        """Yield where each key is saved; does not open the keyring."""
        for path in sorted(self._directory.glob("*.key")) if self._directory.is_dir() else ():
            data = self._read(path)
            if data is not None and path == self._path(data["name"]):
                yield self._stored(data)

    def read(self, name: str, patience: float = PATIENCE) -> str | None:
        """Return the key of that name, which is masked from then on; None if there is none.

        Raises WorkbenchError if the keyring fails or does not answer within `patience` seconds.
        """
        stored = self.find(name)
        if stored is None:
            return None
        in_file = (self._read(stored.path) or {}).get("key")
        key = read_secret(_SERVICE, name, patience) if stored.storage == "keyring" else in_file
        MASKER.add(f"key of {name}", key)
        return key or None

    def mask_files(self) -> None:
        """Mask, from now on, the keys that are saved in files; those in the keyring are masked when they are read."""
        for stored in self.all():
            if stored.storage == "file":
                self.read(stored.name)

    def save(
        self, name: str, key: str, storage: Storage, instead_of: str = "", patience: float = PATIENCE
    ) -> StoredKey:
        """Save a key, replacing an earlier one of that name, and return where it is saved.

        `instead_of` is the key in the environment that this key is to replace; empty if there is none. `patience` is
        the time limit for the keyring in seconds. Raises WorkbenchError if the key cannot be saved; an earlier key is
        then unchanged.
        """
        if not name:
            raise UsageError("a key is saved for a provider/model or for the URL of a server")
        MASKER.add(f"key of {name}", key)
        before, path = self.find(name), self._path(name)
        private_directory(self._directory)
        data = {"name": name, "in": storage, **({"instead_of": _digest(instead_of)} if instead_of else {})}
        if storage == "keyring":
            save_secret(_SERVICE, name, key, patience)
            replace_json(path, data)
        else:
            replace_json(path, {**data, "key": key})
            self._drop(before, patience)
        return self._stored(data)

    def forget(self, name: str) -> bool:
        """Delete the key of that name and return whether there was one."""
        stored = self.find(name)
        if stored is None:
            return False
        self._drop(stored, PATIENCE)
        stored.path.unlink(missing_ok=True)
        return True

    def _drop(self, stored: StoredKey | None, patience: float) -> None:
        """Delete the key from the keyring if it is saved there; errors are ignored."""
        if stored is not None and stored.storage == "keyring":
            try:
                delete_secret(_SERVICE, stored.name, patience)
            except WorkbenchError:
                return

    def _path(self, name: str) -> Path:
        return self._directory / f"{re.sub(r'[^a-zA-Z0-9.-]', '_', name)[:100]}.key"

    def _stored(self, data: Mapping[str, str]) -> StoredKey:
        storage: Storage = "keyring" if data["in"] == "keyring" else "file"
        return StoredKey(data["name"], storage, self._path(data["name"]), data.get("instead_of", ""))

    def _read(self, path: Path) -> dict[str, str] | None:
        """Return the content of a key's file; None if it cannot be read or has another format."""
        try:
            with path.open("rb") as file:
                data = json.loads(file.read(_LARGEST))
        except (OSError, ValueError, RecursionError):
            return None
        is_ours = isinstance(data, dict) and all(isinstance(each, str) for each in data.values())
        return data if is_ours and {"name", "in"} <= data.keys() else None


def _digest(key: str) -> str:
    return hashlib.sha256(key.strip().encode()).hexdigest()[:32]
