"""Stores the sign-ins to MCP servers, in the system's keyring or in private files; used by `sdk` and `login`.

A sign-in in the keyring is marked by a file, so that the user is not asked to unlock a keyring that has no sign-in.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
import hashlib
import json
import os
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2

from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError, WorkbenchError
from workbench.files.state_files import replace_json
from workbench.mcp.config import ServerConfig, expanded
from workbench.mcp.errors import SignInNeeded
from workbench.secrets.masker import MASKER
from workbench.secrets.system_keyring import delete_secret, read_secret, save_secret

if TYPE_CHECKING:
    from workbench.mcp.sdk import Gone

_SERVICE = "ohw-mcp"
_EARLY = 30.0
"""A token is treated as expired this many seconds early, so that it does not expire on its way to the server."""


@dataclass(frozen=True)
class SignIn:
    """A sign-in: the tokens, and the data needed to renew them."""

    access: str
    refresh: str = ""
    until: float | None = None
    """When the access token expires, in seconds since 1970; None if unknown."""
    token_url: str = ""
    resource: str = ""
    client_id: str = ""
    client_secret: str = ""
    client_auth: str = "none"
    """How the client authenticates to renew a token: `none`, `client_secret_post` or `client_secret_basic`."""
    redirect: str = ""
    """The redirect URL with which the client was registered."""
    issuer: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the access token has expired or is about to expire."""
        return self.until is not None and time.time() > self.until - _EARLY

    def masked(self, server: str) -> SignIn:
        """Mask the secrets of this sign-in in all output from now on, and return the sign-in."""
        for name in ("access", "refresh", "client_secret"):
            MASKER.add(f"of the MCP server {server}", getattr(self, name))
        return self


def _url_of(server: ServerConfig) -> str:
    """Return a server's URL, or the URL as written if one of its variables is not set."""
    try:
        return expanded(server.url, os.environ)
    except UsageError:
        return server.url


class TokenStore:
    """The stored sign-in of one server, shared by all of the user's processes."""

    def __init__(self, locations: Locations, server: ServerConfig) -> None:
        self._server = server
        identity = json.dumps([server.name, _url_of(server)])
        self._key = hashlib.sha256(identity.encode()).hexdigest()[:32]
        self._directory = locations.data / "mcp" / "tokens"
        # The risk rating knows this extension: reading such a file is rated as reading a secret.
        self._path = self._directory / f"{self._key}.key"

    @property
    def is_there(self) -> bool:
        """Whether there is a stored sign-in; does not open the keyring."""
        return self._path.is_file()

    def read(self) -> SignIn | None:
        """Return the sign-in, or None if there is none or it cannot be read."""
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            if data.get("place") == "keyring":
                data = json.loads(self._from_keyring())
            return SignIn(**data).masked(self._server.name)
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def write(self, sign_in: SignIn) -> str:
        """Store the sign-in and return a description of where it is. Raises UsageError if that fails."""
        sign_in.masked(self._server.name)
        private_directory(self._directory)
        data = asdict(sign_in)
        if self._to_keyring(json.dumps(data)):
            replace_json(self._path, {"place": "keyring"})
            return "the keyring of the system"
        replace_json(self._path, data)
        return str(self._path)

    def forget(self) -> bool:
        """Delete the stored sign-in and return whether there was one."""
        was_there = self._path.exists()
        if was_there:
            self._to_keyring(None)
        self._path.unlink(missing_ok=True)
        return was_there

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Hold a lock while a token is renewed, because using a refresh token twice may revoke the sign-in.

        Blocks until the lock is free.
        """
        with (private_directory(self._directory) / f"{self._key}.lock").open("a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _from_keyring(self) -> str:
        """Return the stored secret from the keyring. Raises ValueError if that fails."""
        try:
            return read_secret(_SERVICE, self._key) or ""
        except WorkbenchError as error:
            raise ValueError(str(error)) from error

    def _to_keyring(self, secret: str | None) -> bool:
        """Store the secret in the keyring, or delete the stored one if it is None; return whether that succeeded."""
        try:
            if secret is None:
                delete_secret(_SERVICE, self._key)
            else:
                save_secret(_SERVICE, self._key, secret)
        except WorkbenchError:
            return False
        return True


_SECONDS = 30.0


class Signed(httpx2.Auth):
    """Authenticates the requests of one connection; if that fails, calls `gone` with the reason."""

    def __init__(self, name: str, store: TokenStore, gone: Gone) -> None:
        self._name = name
        self._store = store
        self._gone = gone
        self._one_at_a_time = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request with the token; if the server rejects it, send the request again with a renewed token."""
        token = await self._token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401:
            token = await self._token(refused=token)
            request.headers["Authorization"] = f"Bearer {token}"
            response = yield request
        if response.status_code == 401:
            self._gone(sign_in_words(self._name, "no longer accepts the sign-in"), SignInNeeded)

    async def _token(self, refused: str = "") -> str:
        """Return a valid token other than `refused`. Raises SignInNeeded if there is none."""
        async with self._one_at_a_time:
            sign_in = await asyncio.to_thread(self._store.read)
            if sign_in is None:
                raise self._needed("wants a sign-in")
            if sign_in.access != refused and not (sign_in.is_over and sign_in.refresh):
                return sign_in.access
            if not sign_in.refresh:
                raise self._needed("no longer accepts the sign-in")
            return await self._renewed(sign_in.access)

    async def _renewed(self, old: str) -> str:
        """Renew the token `old`, unless another process has just done so; return the new token."""
        with ExitStack() as held:
            await asyncio.to_thread(held.enter_context, self._store.renewing())
            sign_in = await asyncio.to_thread(self._store.read)
            if sign_in is None:
                raise self._needed("wants a sign-in")
            if sign_in.access == old:
                sign_in = await self._asked(sign_in)
                await asyncio.to_thread(self._store.write, sign_in)
            return sign_in.access

    async def _asked(self, old: SignIn) -> SignIn:
        """Exchange the refresh token for a new sign-in and return it. Raises SignInNeeded if that fails."""
        try:
            async with httpx2.AsyncClient(timeout=_SECONDS) as client:
                answer = await client.post(old.token_url, **_renewal(old))
        except httpx2.HTTPError as error:
            raise self._failed(f"its sign-in could not be renewed ({type(error).__name__}); try again") from error
        if answer.status_code >= 500 or answer.status_code == 429:
            raise self._failed(f"its sign-in could not be renewed (HTTP {answer.status_code}); try again")
        data = _json_of(answer)
        if answer.status_code != 200 or not data.get("access_token"):
            raise self._needed("has ended the sign-in")
        seconds = data.get("expires_in")
        until = time.time() + float(seconds) if isinstance(seconds, int | float) else None
        return replace(
            old, access=str(data["access_token"]), refresh=str(data.get("refresh_token") or old.refresh), until=until
        )

    def _needed(self, what: str) -> SignInNeeded:
        return self._failed(sign_in_words(self._name, what))

    def _failed(self, why: str) -> SignInNeeded:
        self._gone(why, SignInNeeded)
        return SignInNeeded(why)


def sign_in_words(name: str, what: str) -> str:
    """Return an error message that says what happened (`what`, a predicate) and how to sign in again."""
    return f"it {what}; the user can sign in again with: ohw mcp login {name}"


def _renewal(old: SignIn) -> dict[str, Any]:
    """Return the body and headers of the request that renews a token."""
    data = {"grant_type": "refresh_token", "refresh_token": old.refresh, "client_id": old.client_id}
    if old.resource:
        data["resource"] = old.resource
    headers = {"Accept": "application/json"}
    if old.client_auth == "client_secret_basic":
        pair = f"{quote(old.client_id, safe='')}:{quote(old.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif old.client_secret:
        data["client_secret"] = old.client_secret
    return {"data": data, "headers": headers}


def _json_of(answer: httpx2.Response) -> dict[str, Any]:
    try:
        data = answer.json()
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
