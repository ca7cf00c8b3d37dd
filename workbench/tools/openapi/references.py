"""References of OpenAPI documents, followed within them and into files beside them; used by `reading` and `schemas`."""

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
"""Keywords whose values are data: what looks like a reference in them is none."""
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


class Broken(Exception):
    """A reference that leads nowhere; holds it as it is written."""


class References:
    """The references of one document; those into files below its folder are followed too, others are not."""

    def __init__(self, document: dict[str, Any], uri: str, folder: Path | None) -> None:
        self.root = uri
        self._folder = folder
        self._files: dict[URI, Resource[Any]] = {}
        registry: Registry[Any] = Registry(retrieve=self._retrieved)  # type: ignore[call-arg]
        self._registry = registry.with_resource(uri, _opaque(document))
        self._found: dict[str, Any] = {}
        self._direct: dict[str, frozenset[str]] = {}

    def _retrieved(self, uri: URI) -> Resource[Any]:
        """A file beside the document."""
        if uri not in self._files:
            path = Path(unquote(urlsplit(uri).path))
            if self._folder is None or not uri.startswith("file:") or not path.resolve().is_relative_to(self._folder):
                raise NoSuchResource(uri)
            try:
                self._files[uri] = _opaque(parsed(path.read_bytes()))
            except (OSError, BadDocument) as error:
                raise NoSuchResource(uri) from error
        return self._files[uri]

    def target(self, whole: str) -> Any:
        """What a whole reference points at; raises Broken."""
        if whole not in self._found:
            try:
                self._found[whole] = self._registry.resolver().lookup(whole).contents
            except (Unresolvable, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
                raise Broken(whole) from error
        return self._found[whole]

    def followed(self, node: Any, place: str) -> tuple[Any, str]:
        """What stands behind a node that may be a reference (to a reference …), and where; raises Broken."""
        for _ in range(_MOST_HOPS):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                return node, place
            whole = urljoin(place, node["$ref"])
            node, place = self.target(whole), urldefrag(whole).url
        raise Broken(f"{place} (it leads round in circles)")

    def fault(self, schema: Any, place: str) -> str:
        """The first reference in a schema, or in what it leads to, that leads nowhere; empty when all is well."""
        waiting = sorted(direct(schema, place))
        seen = set(waiting)
        while waiting:
            whole = waiting.pop()
            try:
                more = self._direct_of(whole) - seen
            except Broken:
                return self.shown(whole)
            seen |= more
            waiting += sorted(more)
        return ""

    def shown(self, whole: str) -> str:
        """A whole reference as it is probably written."""
        return whole.removeprefix(self.root)

    def _direct_of(self, whole: str) -> frozenset[str]:
        if whole not in self._direct:
            self._direct[whole] = frozenset(direct(self.target(whole), urldefrag(whole).url))
        return self._direct[whole]


def direct(schema: Any, place: str) -> set[str]:
    """The whole references that stand in a schema itself."""
    return {urljoin(place, reference) for reference in _references(schema)}


def _references(schema: Any) -> Iterator[str]:
    """Walks without recursion: documents may be nested as deep as they like."""
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    seen: set[int] = set()
    while waiting:
        node, is_named = waiting.pop()
        if id(node) in seen:  # an alias of YAML: the same once more
            continue
        seen.add(id(node))
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
