"""Requests to an MCP server under the person's sign-in: renewed when it ends, asked for again when that fails.

The SDK's own provider would sign in by itself in the middle of a run, and after a restart it knows neither when a token
ends nor where it is renewed; it is used where the person signs in (`login`).
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2

from workbench.mcp.faults import SignInNeeded
from workbench.mcp.tokens import SignIn, TokenStore

if TYPE_CHECKING:
    from workbench.mcp.sdk import Gone

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
