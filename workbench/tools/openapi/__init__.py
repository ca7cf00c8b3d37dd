"""The tools of OpenAPI documents: each operation becomes a tool."""

from __future__ import annotations

from workbench.tools.manifest import Manifest

NAME = "openapi"
MANIFEST = Manifest("definition:OpenAPITools")
