"""Sign-ins at MCP servers: a record each, in the keyring of the system or a private file; used by `sdk`, `login`.

The file beside the keyring's entry says only that there is one, so that nobody is asked to unlock a keyring in vain.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
import hashlib
import importlib
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
from workbench.errors import UsageError
from workbench.mcp.config import ServerConfig, expanded
from workbench.mcp.errors import SignInNeeded
from workbench.secrets.masker import KNOWN
from workbench.whole_files import replace_json

if TYPE_CHECKING:
    from workbench.mcp.sdk import Gone

_SERVICE = "ohw-mcp"
_EARLY = 30.0
"""Seconds before its end a token counts as over, so that it does not end on its way."""


@dataclass(frozen=True)
class SignIn:
    """What a sign-in left: the tokens, and where they are renewed. Nothing of it goes anywhere else."""

    access: str
    refresh: str = ""
    until: float | None = None
    """When the access token ends, in seconds since 1970; None where the server does not say."""
    token_url: str = ""
    resource: str = ""
    client_id: str = ""
    client_secret: str = ""
    client_auth: str = "none"
    """How the client names itself when it renews: none, client_secret_post or client_secret_basic."""
    redirect: str = ""
    """The address on this machine that the client was registered with."""
    issuer: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the access token has ended, or is about to."""
        return self.until is not None and time.time() > self.until - _EARLY

    def known_to_masks(self, server: str) -> SignIn:
        """Have its secrets masked wherever they would be seen."""
        for name in ("access", "refresh", "client_secret"):
            KNOWN.add(f"of the MCP server {server}", getattr(self, name))
        return self


def _address(server: ServerConfig) -> str:
    """Where it is; as it is written while a variable in it is not set."""
    try:
        return expanded(server.url, os.environ)
    except UsageError:
        return server.url


class TokenStore:
    """The record of one server, shared by all processes of the person."""

    def __init__(self, locations: Locations, server: ServerConfig) -> None:
        self._server = server
        told = json.dumps([server.name, _address(server)])
        self._key = hashlib.sha256(told.encode()).hexdigest()[:32]
        self._folder = locations.data / "mcp" / "tokens"
        self._path = self._folder / f"{self._key}.key"  # an ending that the rating of reading knows

    @property
    def is_there(self) -> bool:
        """Whether the person signed in; asks no keyring."""
        return self._path.is_file()

    def read(self) -> SignIn | None:
        """What is kept; None where nobody signed in, or what is kept cannot be read."""
        try:
            told = json.loads(self._path.read_text(encoding="utf-8"))
            if told.get("place") == "keyring":
                told = json.loads(self._from_keyring())
            return SignIn(**told).known_to_masks(self._server.name)
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def write(self, sign_in: SignIn) -> str:
        """Keep it; says where. Raises UsageError."""
        sign_in.known_to_masks(self._server.name)
        private_directory(self._folder)
        told = asdict(sign_in)
        if self._to_keyring(json.dumps(told)):
            replace_json(self._path, {"place": "keyring"})
            return "the keyring of the system"
        replace_json(self._path, told)
        return str(self._path)

    def forget(self) -> bool:
        """Whether there was one."""
        was_there = self._path.exists()
        if was_there:
            self._to_keyring(None)
        self._path.unlink(missing_ok=True)
        return was_there

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Hold this while a token is renewed: one that is used twice may end the whole sign-in. Blocks."""
        with (private_directory(self._folder) / f"{self._key}.lock").open("a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _from_keyring(self) -> str:
        """Raises ValueError where it cannot be had."""
        try:
            keyring = importlib.import_module("keyring")
        except ImportError as error:
            raise ValueError("the package keyring is gone") from error
        try:
            return str(keyring.get_password(_SERVICE, self._key) or "")
        except keyring.errors.KeyringError as error:
            raise ValueError("the keyring is locked") from error

    def _to_keyring(self, told: str | None) -> bool:
        """Whether there is a keyring that took it; None takes it out."""
        try:
            keyring = importlib.import_module("keyring")
        except ImportError:
            return False
        try:
            if told is None:
                keyring.delete_password(_SERVICE, self._key)
            else:
                keyring.set_password(_SERVICE, self._key, told)
        except keyring.errors.KeyringError:
            return False
        return True


_SECONDS = 30.0


class Signed(httpx2.Auth):
    """Signs the requests of one connection; `gone` hears why it cannot."""

    def __init__(self, name: str, store: TokenStore, gone: Gone) -> None:
        self._name = name
        self._store = store
        self._gone = gone
        self._one_at_a_time = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The request with the token; once more with a new one where the server takes it no more."""
        token = await self._token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401:
            token = await self._token(refused=token)
            request.headers["Authorization"] = f"Bearer {token}"
            response = yield request
        if response.status_code == 401:
            self._gone(sign_in_words(self._name, "takes the sign-in no more"), SignInNeeded)

    async def _token(self, refused: str = "") -> str:
        """One that is still good and not the one that was refused; raises SignInNeeded."""
        async with self._one_at_a_time:
            found = await asyncio.to_thread(self._store.read)
            if found is None:
                raise self._needed("wants a sign-in")
            if found.access != refused and not (found.is_over and found.refresh):
                return found.access
            if not found.refresh:
                raise self._needed("takes the sign-in no more")
            return await self._renewed(found.access)

    async def _renewed(self, old: str) -> str:
        """A new one, unless another process has just got one."""
        with ExitStack() as held:
            await asyncio.to_thread(held.enter_context, self._store.renewing())
            found = await asyncio.to_thread(self._store.read)
            if found is None:
                raise self._needed("wants a sign-in")
            if found.access == old:
                found = await self._asked(found)
                await asyncio.to_thread(self._store.write, found)
            return found.access

    async def _asked(self, old: SignIn) -> SignIn:
        """What the server gives for the refresh token; raises SignInNeeded."""
        try:
            async with httpx2.AsyncClient(timeout=_SECONDS) as client:
                answer = await client.post(old.token_url, **_renewal(old))
        except httpx2.HTTPError as error:
            raise self._failed(f"its sign-in could not be renewed ({type(error).__name__}); try again") from error
        if answer.status_code >= 500 or answer.status_code == 429:
            raise self._failed(f"its sign-in could not be renewed (HTTP {answer.status_code}); try again")
        told = _told(answer)
        if answer.status_code != 200 or not told.get("access_token"):
            raise self._needed("has ended the sign-in")
        seconds = told.get("expires_in")
        until = time.time() + float(seconds) if isinstance(seconds, int | float) else None
        return replace(
            old, access=str(told["access_token"]), refresh=str(told.get("refresh_token") or old.refresh), until=until
        )

    def _needed(self, what: str) -> SignInNeeded:
        return self._failed(sign_in_words(self._name, what))

    def _failed(self, why: str) -> SignInNeeded:
        self._gone(why, SignInNeeded)
        return SignInNeeded(why)


def sign_in_words(name: str, what: str) -> str:
    """Why there is no way on, and what the person can do."""
    return f"it {what}; the person can sign in again with: ohw mcp login {name}"


def _renewal(old: SignIn) -> dict[str, Any]:
    """The body and headers of the request."""
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


def _told(answer: httpx2.Response) -> dict[str, Any]:
    try:
        told = answer.json()
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
