"""The tools of OpenAPI documents: each operation becomes a tool."""

from __future__ import annotations

from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "openapi"
MANIFEST = Manifest("definition:OpenAPITools")

__getattr__, __dir__, __all__ = exports_of(__name__)
