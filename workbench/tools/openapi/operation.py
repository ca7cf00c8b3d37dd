"""One operation of an OpenAPI document as it is needed here: what it takes, where it goes, and how one signs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Where: TypeAlias = Literal["path", "query", "header", "cookie"]
READING = frozenset({"get", "head", "options"})
"""Methods that change nothing, as HTTP has it."""


@dataclass(frozen=True)
class Located:
    """A schema and the document it stands in: its references begin there."""

    schema: Any
    place: str


@dataclass(frozen=True)
class Parameter:
    """A parameter: `argument` is what models call it, `media` is set where its value is sent as such a text."""

    argument: str
    name: str
    where: Where
    is_required: bool
    schema: Located
    description: str = ""
    style: str = ""
    explode: bool | None = None
    media: str = ""


@dataclass(frozen=True)
class Body:
    """The body: under which name models give it, and how it is sent."""

    argument: str
    media: str
    is_required: bool
    schema: Located
    description: str = ""


@dataclass(frozen=True)
class Scheme:
    """A way of signing in: `kind` is bearer, basic, header, query or cookie; `field` the name it is sent under."""

    name: str
    kind: str
    field: str = ""


@dataclass(frozen=True)
class Operation:
    """An operation, with all that a call needs."""

    id: str
    method: str
    path: str
    base_url: str
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    security: tuple[tuple[Scheme, ...], ...] = ()
    """Any one of these, all schemes of it together; an empty one means that nobody needs to sign in."""
    is_deprecated: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def reads_only(self) -> bool:
        """Whether it changes nothing, as HTTP has it."""
        return self.method in READING
