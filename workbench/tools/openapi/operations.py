"""Reads the operations of an OpenAPI document; an invalid operation is omitted with a warning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urljoin

from openapi_pydantic.v3 import v3_0, v3_1
from pydantic import ValidationError

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.openapi.references import Broken, References

Where: TypeAlias = Literal["path", "query", "header", "cookie"]
READING = frozenset({"get", "head", "options"})
"""Methods that HTTP defines as safe: they change nothing."""


@dataclass(frozen=True)
class Located:
    """A schema, and the URI of its document, against which its references are resolved."""

    schema: Any
    base_uri: str


@dataclass(frozen=True)
class Parameter:
    """A parameter: `argument` is its name for models; `media` is set if the value is serialized as that media type."""

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
    """The request body: `argument` is its name for models, `media` the type it is sent as."""

    argument: str
    media: str
    is_required: bool
    schema: Located
    description: str = ""


@dataclass(frozen=True)
class Scheme:
    """A security scheme: `kind` is bearer, basic, header, query or cookie; `field` is the name it is sent under."""

    name: str
    kind: str
    field: str = ""


@dataclass(frozen=True)
class Operation:
    """An operation with everything that a call needs."""

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
    """Alternatives, each with the schemes that it combines; an empty one allows calls without a key."""
    is_deprecated: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def reads_only(self) -> bool:
        """Whether the method is safe, as HTTP defines it."""
        return self.method in READING


METHODS = ("get", "head", "options", "post", "put", "patch", "delete", "trace")
_IGNORED = frozenset({"accept", "content-type", "authorization"})
"""Headers that OpenAPI does not allow as parameters."""
_OWN = {"summary", "description", "operationId", "tags", "deprecated", "security", "servers"}
"""The keys of an operation that are validated."""
_SKIPPED_KEYS = {"example", "examples", "content"}
_NO_ARGUMENT = lazy_pattern(r"[^A-Za-z0-9_.-]+")
_MEDIA = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
_TEXT_MEDIA = lazy_pattern(r"text/.+|.+/(?:.+\+)?(?:xml|yaml)|application/(?:graphql|x-ndjson|octet-stream)|\*/\*")

_LONGEST_KIND = 200


class _Unusable(Exception):
    """The operation cannot be offered; the message says why."""


class Reader:
    """Reads one document; `warnings` has one line for each part that was omitted."""

    def __init__(self, document: dict[str, Any], references: References, document_url: str, base_url: str = "") -> None:
        """`document_url` is where the document was fetched from; `base_url` is the user's setting, if any."""
        self._document = document
        self._references = references
        self._document_url = document_url
        self._base_url = base_url
        self._models = v3_1 if str(document["openapi"]).startswith("3.1") else v3_0
        self._schemes = self._read_schemes()
        self.warnings: list[str] = []

    def operations(self) -> Iterator[Operation]:
        """Yield the operations that can be called, in document order."""
        for path, item in self._document["paths"].items():
            for method, node, shared in self._methods(str(path), item):
                name = str(node.get("operationId") or f"{method} {path}")
                try:
                    yield self._operation(name, method, str(path), node, shared)
                except (_Unusable, Broken) as error:
                    why = self._unresolved(error) if isinstance(error, Broken) else error
                    self.warnings.append(f"the operation {name} is ignored: {why}")

    def _unresolved(self, error: Broken) -> str:
        return f"{self._references.relative(str(error))} cannot be resolved"

    def _methods(self, path: str, item: Any) -> Iterator[tuple[str, dict[str, Any], tuple[Any, str]]]:
        """Yield the method and node of each operation of a path item, with the item itself and its URI."""
        try:
            node, base_uri = self._references.followed(item, self._references.root)
        except Broken as error:
            self.warnings.append(f"the path {path} is ignored: {self._unresolved(error)}")
            return
        for method in METHODS if isinstance(node, dict) else ():
            if isinstance(node.get(method), dict):
                yield method, node[method], (node, base_uri)

    def _operation(
        self, name: str, method: str, path: str, node: dict[str, Any], shared: tuple[dict[str, Any], str]
    ) -> Operation:
        item, base_uri = shared
        self._validated(self._models.Operation, {"responses": {}, **{key: node[key] for key in _OWN & node.keys()}})
        parameters = self._parameters(path, [*_list(item, "parameters"), *_list(node, "parameters")], base_uri)
        body = self._body(node["requestBody"], base_uri, parameters) if node.get("requestBody") else None
        for schema in (*(each.schema for each in parameters), *([body.schema] if body else ())):
            if fault := self._references.fault(schema.schema, schema.base_uri):
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
        """Return the node as a validated model. Raises _Unusable with the first error."""
        try:
            return model.model_validate(node)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise _Unusable(f"{where or 'it'}: {first['msg']}") from error

    def _parameters(self, path: str, nodes: Sequence[Any], base_uri: str) -> list[Parameter]:
        """Return the parameters; a later one replaces an earlier one with the same name and location."""
        nodes_by_key: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
        for node in nodes:
            plain, there = self._references.followed(node, base_uri)
            if not isinstance(plain, dict):
                raise _Unusable("a parameter is not an object")
            if not (plain.get("in") == "header" and str(plain.get("name")).lower() in _IGNORED):
                nodes_by_key[str(plain.get("name")), str(plain.get("in"))] = (plain, there)
        unsaid = set(re.findall(r"\{([^{}]+)\}", path)) - {name for name, where in nodes_by_key if where == "path"}
        if unsaid:
            raise _Unusable(f"its path names {', '.join(sorted(unsaid))}, which is not a parameter")
        names = Counter(_argument(name) for name, _ in nodes_by_key)
        return [self._parameter(node, there, names) for node, there in nodes_by_key.values()]

    def _parameter(self, node: dict[str, Any], base_uri: str, names: Mapping[str, int]) -> Parameter:
        content = node.get("content")
        shallow = {key: {} if key == "schema" else node[key] for key in node.keys() - _SKIPPED_KEYS}
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
            schema=Located(schema if media else node.get("schema") or {}, base_uri),
            description=read.description or "",
            style=str(read.style or ""),
            explode=node.get("explode") if isinstance(node.get("explode"), bool) else None,
            media=media,
        )

    def _body(self, node: Any, base_uri: str, parameters: Sequence[Parameter]) -> Body:
        plain, base_uri = self._references.followed(node, base_uri)
        content = plain.get("content") if isinstance(plain, dict) else None
        if not isinstance(content, dict) or not content:
            raise _Unusable("its body has no content type")
        self._validated(self._models.RequestBody, {**plain, "content": {media: {} for media in content}})
        media = next((candidate for kind in _MEDIA for candidate in content if _kind(candidate) == kind), "")
        media = media or next(
            (candidate for candidate in content if re.fullmatch(r"application/.+\+json", _kind(candidate))), ""
        )
        media = media or next((candidate for candidate in content if _TEXT_MEDIA.fullmatch(_kind(candidate))), "")
        if not media:
            raise _Unusable(f"its body is sent as {', '.join(map(str, content))}")
        entry = content[media] if isinstance(content[media], dict) else {}
        return Body(
            argument="request_body" if any(each.argument == "body" for each in parameters) else "body",
            media=media,
            is_required=bool(plain.get("required")),
            schema=Located(entry.get("schema") or {}, base_uri),
            description=str(plain.get("description") or ""),
        )

    def _server(self, servers: Any) -> str:
        """Return the server URL: the user's setting, or the document's first server. Raises _Unusable if
        there is none.
        """
        if self._base_url:
            return self._base_url
        first = next((each for each in servers or () if isinstance(each, dict)), {"url": "/"})
        declared = first.get("variables")
        variables: dict[str, Any] = declared if isinstance(declared, dict) else {}
        url = str(first.get("url") or "/")
        for name, variable in variables.items():
            url = url.replace(f"{{{name}}}", str(variable.get("default", "") if isinstance(variable, dict) else ""))
        whole = urljoin(self._document_url, url) if self._document_url else url
        if not re.match(r"https?://[^/]", whole):
            raise _Unusable("the document does not say where it is served; set base_url")
        return whole

    def _read_schemes(self) -> dict[str, Scheme]:
        components = self._document.get("components")
        declared = components.get("securitySchemes") if isinstance(components, dict) else None
        schemes = {}
        for name, node in declared.items() if isinstance(declared, dict) else ():
            try:
                plain, _ = self._references.followed(node, self._references.root)
            except Broken:
                continue
            if isinstance(plain, dict) and (scheme := _scheme(str(name), plain)):
                schemes[str(name)] = scheme
        return schemes

    def _security(self, requirements: Any) -> tuple[tuple[Scheme, ...], ...]:
        """Return the alternatives of security schemes, without those that have an unsupported scheme."""
        ways = [each for each in requirements or () if isinstance(each, dict)]
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
    """Return the media type and schema of a parameter that is serialized as that type; "" and {} for others."""
    for media, entry in content.items() if isinstance(content, dict) else ():
        return str(media), (entry.get("schema") if isinstance(entry, dict) else None) or {}
    return "", {}


def _kind(media: Any) -> str:
    return str(media)[:_LONGEST_KIND].partition(";")[0].strip().lower()


def _argument(name: str) -> str:
    """Return the parameter's name for models, limited to the characters that providers allow."""
    return _NO_ARGUMENT.sub("_", name).strip("_.-")[:56] or "value"


def _list(node: Mapping[str, Any], name: str) -> list[Any]:
    value = node.get(name)
    return value if isinstance(value, list) else []
