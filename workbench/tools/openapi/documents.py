"""OpenAPI documents as data: read from a file or fetched, JSON or YAML; used by `definition`."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

MOST_BYTES = 30_000_000
_VERSIONS = re.compile(r"3\.[01]\.\d+.*")


class BadDocument(Exception):
    """What cannot be used as an OpenAPI document; the message says why, in one line."""


def parsed(content: bytes) -> Any:
    """JSON or YAML as plain data; raises BadDocument."""
    if len(content) > MOST_BYTES:
        raise BadDocument(f"it is larger than {MOST_BYTES // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text) if text.lstrip()[:1] == "{" else _yaml(text)
    except (ValueError, RecursionError) as error:
        raise BadDocument(f"it is neither JSON nor YAML ({' '.join(str(error).split())[:150]})") from error


def _yaml(text: str) -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Dates stay the texts they are."""

        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
            first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
            for first, known in base.yaml_implicit_resolvers.items()
        }

    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def checked(document: Any) -> dict[str, Any]:
    """The document, if it is one of OpenAPI 3.0 or 3.1; raises BadDocument."""
    if not isinstance(document, dict):
        raise BadDocument("it is no OpenAPI document")
    version = str(document.get("openapi") or document.get("swagger") or "")
    if not _VERSIONS.fullmatch(version):
        said = f"it is written for version {version[:20]}" if version else "it does not say its version"
        raise BadDocument(f"{said}; OpenAPI 3.0 and 3.1 can be read")
    if not isinstance(document.get("paths"), dict):
        raise BadDocument("it has no paths")
    return document
