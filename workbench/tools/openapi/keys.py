"""The keys that calls are signed with: taken out of the environment, so that no child process inherits them."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from workbench.tools.openapi.operation import Operation, Scheme
from workbench.tools.openapi.sending import Request
from workbench.tools.openapi.source import Source

_PLAIN = ("accept", "accept-language", "content-type", "user-agent")
_taken: dict[str, str] = {}


class NoKey(Exception):
    """A key that is wanted is not there; the message is for the model."""


def taken(variable: str) -> str:
    """What the variable holds, or held when it was first asked for; it is not in the environment any more."""
    if found := os.environ.pop(variable, ""):
        _taken[variable] = found
    return _taken.get(variable, "")


class Keys:
    """The keys of one document, by what the settings say."""

    def __init__(self, source: Source) -> None:
        self._source = source
        names = [name for name in (source.key_env, *source.auth.values()) if name]
        self.values: Mapping[str, str] = {name: key for name in names if (key := taken(name))}
        """The keys by their variables."""

    def sign(self, request: Request, operation: Operation) -> None:
        """Put in what the operation wants; raises NoKey."""
        way = self._way(operation.security)
        for scheme in way:
            _put(request, scheme, self._key(scheme))
        if not way and self._source.key_env and not operation.security:
            _put(request, Scheme("", "bearer"), self._key(Scheme("", "bearer")))

    def _way(self, ways: Sequence[Sequence[Scheme]]) -> Sequence[Scheme]:
        """The first way of signing in that there are keys for; else one that needs none, or the first."""
        for way in ways:
            if way and all(self._variable(scheme) for scheme in way):
                return way
        return () if not ways or () in ways else ways[0]

    def _variable(self, scheme: Scheme) -> str:
        return self._source.auth.get(scheme.name) or self._source.key_env

    def _key(self, scheme: Scheme) -> str:
        variable = self._variable(scheme)
        place = f"[tools.openapi.{self._source.name}]"
        if not variable:
            raise NoKey(f"This call needs a key ({scheme.name}), and the settings name none: key_env in {place}.")
        if variable not in self.values:
            raise NoKey(
                f"This call needs the key in the variable {variable} (see {place} of the settings); it is not set."
            )
        return self.values[variable].strip()

    def masked(self, text: str) -> str:
        """The text without the keys."""
        for name, key in (*self._written(), *_signing(self._source.headers)):
            if len(key) >= 6:
                text = text.replace(key, f"‹secret {name}›")
        return text

    def _written(self) -> Iterator[tuple[str, str]]:
        """Each key in all the ways in which it is sent, the longest first."""
        for name, value in self.values.items():
            key = value.strip()
            ways = {key, quote(key, safe=""), base64.b64encode(key.encode()).decode()}
            yield from ((name, way) for way in sorted(ways, key=len, reverse=True))


def _signing(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Headers of the settings that may sign in: their values, without the kind before them."""
    for name, value in headers.items():
        if name.lower() not in _PLAIN:
            yield name, value.rpartition(" ")[2]


def _put(request: Request, scheme: Scheme, key: str) -> None:
    if scheme.kind == "bearer":
        request.headers["Authorization"] = f"Bearer {key}"
    elif scheme.kind == "basic":
        request.headers["Authorization"] = f"Basic {base64.b64encode(key.encode()).decode()}"
    elif scheme.kind == "header":
        request.headers[scheme.field] = key
    elif scheme.kind == "query":
        request.query.append((scheme.field, key))
    else:
        request.cookies.append((scheme.field, key))
