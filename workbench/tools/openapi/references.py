"""Resolves references within an OpenAPI document and into files below its directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from referencing import Registry, Resource, Specification
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.typing import URI

from workbench.tools.openapi.documents import BadDocument, parsed

_MOST_HOPS = 30
_DATA = frozenset({"example", "examples", "default", "enum", "const"})
"""Keywords whose values are data, in which `$ref` is not a reference."""
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


class Broken(Exception):
    """The reference cannot be resolved; the message is the reference."""


class References:
    """The references of one document, also into files below its directory; never fetches other URIs."""

    def __init__(self, document: dict[str, Any], uri: str, directory: Path | None) -> None:
        self.root = uri
        self._directory = directory
        self._files: dict[URI, Resource[Any]] = {}
        registry: Registry[Any] = Registry(retrieve=self._retrieved)  # type: ignore[call-arg]
        self._registry = registry.with_resource(uri, _opaque(document))
        self._targets: dict[str, Any] = {}
        self._direct: dict[str, frozenset[str]] = {}

    def _retrieved(self, uri: URI) -> Resource[Any]:
        """Return a file below the document's directory. Raises NoSuchResource for any other URI."""
        if uri not in self._files:
            path = Path(unquote(urlsplit(uri).path))
            if (
                self._directory is None
                or not uri.startswith("file:")
                or not path.resolve().is_relative_to(self._directory)
                or not path.is_file()
            ):
                raise NoSuchResource(uri)
            try:
                self._files[uri] = _opaque(parsed(path.read_bytes()))
            except (OSError, BadDocument) as error:
                raise NoSuchResource(uri) from error
        return self._files[uri]

    def target(self, whole: str) -> Any:
        """Return the target of an absolute reference. Raises Broken."""
        if whole not in self._targets:
            try:
                self._targets[whole] = self._registry.resolver().lookup(whole).contents
            except (Unresolvable, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
                raise Broken(whole) from error
        return self._targets[whole]

    def followed(self, node: Any, base_uri: str) -> tuple[Any, str]:
        """Follow a chain of references; return the node at its end and that node's URI. Raises Broken."""
        for _ in range(_MOST_HOPS):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                return node, base_uri
            whole = urljoin(base_uri, node["$ref"])
            node, base_uri = self.target(whole), urldefrag(whole).url
        raise Broken(f"{base_uri} (it leads round in circles)")

    def fault(self, schema: Any, base_uri: str) -> str:
        """Return the first broken reference in a schema or in anything it refers to; empty if there is none."""
        waiting = sorted(direct(schema, base_uri))
        visited = set(waiting)
        while waiting:
            whole = waiting.pop()
            try:
                more = self._direct_of(whole) - visited
            except Broken:
                return self.relative(whole)
            visited |= more
            waiting += sorted(more)
        return ""

    def relative(self, whole: str) -> str:
        """Return an absolute reference relative to the document, as the author has probably written it."""
        return whole.removeprefix(self.root)

    def _direct_of(self, whole: str) -> frozenset[str]:
        if whole not in self._direct:
            self._direct[whole] = frozenset(direct(self.target(whole), urldefrag(whole).url))
        return self._direct[whole]


def direct(schema: Any, base_uri: str) -> set[str]:
    """Return the absolute references in a schema itself, without following them."""
    return {urljoin(base_uri, reference) for reference in _references(schema)}


def _references(schema: Any) -> Iterator[str]:
    """Yield the references in a schema, iteratively: a document may be nested arbitrarily deep."""
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    visited: set[int] = set()
    while waiting:
        node, is_named = waiting.pop()
        if id(node) in visited:  # a YAML alias of a node visited before
            continue
        visited.add(id(node))
        if isinstance(node, list):
            waiting += [(part, False) for part in node]
        elif isinstance(node, dict):
            if isinstance(node.get("$ref"), str) and not is_named:
                yield node["$ref"]
            for name, part in node.items():
                if isinstance(part, dict | list) and (is_named or not _is_data(str(name))):
                    waiting.append((part, name in _NAMED and not is_named))


def _is_data(name: str) -> bool:
    return name in _DATA or name.startswith("x-")


def _opaque(document: Any) -> Resource[Any]:
    return Specification.OPAQUE.create_resource(document)
