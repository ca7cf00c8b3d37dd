"""Reads the operations of an OpenAPI document; what is wrong with one is told, and leaves the others alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urljoin

from openapi_pydantic.v3 import v3_0, v3_1
from pydantic import ValidationError

from workbench.tools.openapi.references import Broken, References

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


METHODS = ("get", "head", "options", "post", "put", "patch", "delete", "trace")
_IGNORED = frozenset({"accept", "content-type", "authorization"})
"""Headers that a document cannot make parameters of."""
_OWN = {"summary", "description", "operationId", "tags", "deprecated", "security", "servers"}
"""What is read of an operation itself."""
_LEFT_OUT = {"example", "examples", "content"}
_NO_ARGUMENT = re.compile(r"[^A-Za-z0-9_.-]+")
_MEDIA = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_TEXTS = re.compile(r"text/.+|.+/(?:.+\+)?(?:xml|yaml)|application/(?:graphql|x-ndjson|octet-stream)|\*/\*")

_LONGEST_KIND = 200


class _Unusable(Exception):
    """Why an operation cannot be offered."""


class Reader:
    """Reads one document; `warnings` says what was left out, a line each."""

    def __init__(self, document: dict[str, Any], references: References, address: str, base_url: str = "") -> None:
        """`address` is where the document was fetched; `base_url` is set where the person gave one."""
        self._document = document
        self._references = references
        self._address = address
        self._base_url = base_url
        self._models = v3_1 if str(document["openapi"]).startswith("3.1") else v3_0
        self._schemes = self._read_schemes()
        self.warnings: list[str] = []

    def operations(self) -> Iterator[Operation]:
        """All that can be called, in the document's order."""
        for path, item in self._document["paths"].items():
            for method, node, shared in self._methods(str(path), item):
                name = str(node.get("operationId") or f"{method} {path}")
                try:
                    yield self._operation(name, method, str(path), node, shared)
                except (_Unusable, Broken) as error:
                    why = f"{self._references.shown(str(error))} leads nowhere" if isinstance(error, Broken) else error
                    self.warnings.append(f"the operation {name} is left out: {why}")

    def _methods(self, path: str, item: Any) -> Iterator[tuple[str, dict[str, Any], tuple[Any, str]]]:
        """The operations at a path, and what they share."""
        try:
            found, place = self._references.followed(item, self._references.root)
        except Broken as error:
            self.warnings.append(f"the path {path} is left out: {self._references.shown(str(error))} leads nowhere")
            return
        for method in METHODS if isinstance(found, dict) else ():
            if isinstance(found.get(method), dict):
                yield method, found[method], (found, place)

    def _operation(
        self, name: str, method: str, path: str, node: dict[str, Any], shared: tuple[dict[str, Any], str]
    ) -> Operation:
        item, place = shared
        self._validated(self._models.Operation, {"responses": {}, **{key: node[key] for key in _OWN & node.keys()}})
        parameters = self._parameters(path, [*_list(item, "parameters"), *_list(node, "parameters")], place)
        body = self._body(node["requestBody"], place, parameters) if node.get("requestBody") else None
        for schema in (*(each.schema for each in parameters), *([body.schema] if body else ())):
            if fault := self._references.fault(schema.schema, schema.place):
                raise Broken(fault)
        return Operation(
            id=name,
            method=method,
            path=path,
            base_url=self._server(node.get("servers") or item.get("servers") or self._document.get("servers")),
            summary=str(node.get("summary") or item.get("summary") or ""),
            description=str(node.get("description") or ""),
            tags=tuple(map(str, node.get("tags") or ())),
            parameters=tuple(parameters),
            body=body,
            security=self._security(node.get("security", self._document.get("security"))),
            is_deprecated=bool(node.get("deprecated")),
        )

    def _validated(self, model: Any, node: Any) -> Any:
        """The node as the library reads it; raises _Unusable with what is wrong."""
        try:
            return model.model_validate(node)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise _Unusable(f"{where or 'it'}: {first['msg']}") from error

    def _parameters(self, path: str, nodes: Sequence[Any], place: str) -> list[Parameter]:
        """Those of the path and of the operation; the later one of two with the same name and place counts."""
        found: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
        for node in nodes:
            plain, there = self._references.followed(node, place)
            if not isinstance(plain, dict):
                raise _Unusable("a parameter is no object")
            if not (plain.get("in") == "header" and str(plain.get("name")).lower() in _IGNORED):
                found[str(plain.get("name")), str(plain.get("in"))] = (plain, there)
        unsaid = set(re.findall(r"\{([^{}]+)\}", path)) - {name for name, where in found if where == "path"}
        if unsaid:
            raise _Unusable(f"its path names {', '.join(sorted(unsaid))}, which is no parameter")
        names = Counter(_argument(name) for name, _ in found)
        return [self._parameter(node, there, names) for node, there in found.values()]

    def _parameter(self, node: dict[str, Any], place: str, names: Mapping[str, int]) -> Parameter:
        content = node.get("content")
        shallow = {key: {} if key == "schema" else node[key] for key in node.keys() - _LEFT_OUT}
        shallow |= {"content": {media: {} for media in content}} if isinstance(content, dict) else {}
        read = self._validated(self._models.Parameter, shallow)
        where = cast(Where, str(getattr(read.param_in, "value", read.param_in)))
        if where not in ("path", "query", "header", "cookie"):
            raise _Unusable(f"the parameter {read.name} is in {where!r}")
        argument = _argument(read.name)
        media, schema = _content(node.get("content"))
        return Parameter(
            argument=argument if names[argument] < 2 else f"{where}_{argument}",
            name=read.name,
            where=where,
            is_required=bool(read.required) or where == "path",
            schema=Located(schema if media else node.get("schema") or {}, place),
            description=read.description or "",
            style=str(read.style or ""),
            explode=node.get("explode") if isinstance(node.get("explode"), bool) else None,
            media=media,
        )

    def _body(self, node: Any, place: str, parameters: Sequence[Parameter]) -> Body:
        plain, place = self._references.followed(node, place)
        content = plain.get("content") if isinstance(plain, dict) else None
        if not isinstance(content, dict) or not content:
            raise _Unusable("its body does not say what it holds")
        self._validated(self._models.RequestBody, {**plain, "content": {media: {} for media in content}})
        media = next((found for kind in _MEDIA for found in content if _kind(found) == kind), "")
        media = media or next((found for found in content if re.fullmatch(r"application/.+\+json", _kind(found))), "")
        media = media or next((found for found in content if _TEXTS.fullmatch(_kind(found))), "")
        if not media:
            raise _Unusable(f"its body is sent as {', '.join(map(str, content))}")
        entry = content[media] if isinstance(content[media], dict) else {}
        return Body(
            argument="request_body" if any(each.argument == "body" for each in parameters) else "body",
            media=media,
            is_required=bool(plain.get("required")),
            schema=Located(entry.get("schema") or {}, place),
            description=str(plain.get("description") or ""),
        )

    def _server(self, servers: Any) -> str:
        """Where calls go: what the person says, or the first server that is told."""
        if self._base_url:
            return self._base_url
        first = next((each for each in servers or () if isinstance(each, dict)), {"url": "/"})
        said = first.get("variables")
        variables: dict[str, Any] = said if isinstance(said, dict) else {}
        url = str(first.get("url") or "/")
        for name, variable in variables.items():
            url = url.replace(f"{{{name}}}", str(variable.get("default", "") if isinstance(variable, dict) else ""))
        whole = urljoin(self._address, url) if self._address else url
        if not re.match(r"https?://[^/]", whole):
            raise _Unusable("the document does not say where it is served; set base_url")
        return whole

    def _read_schemes(self) -> dict[str, Scheme]:
        components = self._document.get("components")
        found = components.get("securitySchemes") if isinstance(components, dict) else None
        schemes = {}
        for name, node in found.items() if isinstance(found, dict) else ():
            try:
                plain, _ = self._references.followed(node, self._references.root)
            except Broken:
                continue
            if isinstance(plain, dict) and (scheme := _scheme(str(name), plain)):
                schemes[str(name)] = scheme
        return schemes

    def _security(self, wanted: Any) -> tuple[tuple[Scheme, ...], ...]:
        """The ways of signing in; those with a scheme that is not known are left out."""
        ways = [each for each in wanted or () if isinstance(each, dict)]
        return tuple(
            tuple(self._schemes[name] for name in way) for way in ways if all(name in self._schemes for name in way)
        )


def _scheme(name: str, node: Mapping[str, Any]) -> Scheme | None:
    kind, where = node.get("type"), node.get("in")
    if kind == "http":
        return Scheme(name, "basic" if str(node.get("scheme")).lower() == "basic" else "bearer")
    if kind in ("oauth2", "openIdConnect"):
        return Scheme(name, "bearer")
    if kind == "apiKey" and where in ("header", "query", "cookie"):
        return Scheme(name, str(where), str(node.get("name")))
    return None


def _content(content: Any) -> tuple[str, Any]:
    """Media type and schema of a parameter that is sent as a text of that type."""
    for media, entry in content.items() if isinstance(content, dict) else ():
        return str(media), (entry.get("schema") if isinstance(entry, dict) else None) or {}
    return "", {}


def _kind(media: Any) -> str:
    return str(media)[:_LONGEST_KIND].partition(";")[0].strip().lower()


def _argument(name: str) -> str:
    """What models may call it: providers take few signs in names."""
    return _NO_ARGUMENT.sub("_", name).strip("_.-")[:56] or "value"


def _list(node: Mapping[str, Any], name: str) -> list[Any]:
    found = node.get(name)
    return found if isinstance(found, list) else []
