"""Call the operations of OpenAPI documents: each operation is a tool."""

from __future__ import annotations

from workbench.tools.manifest import Manifest

NAME = "openapi"
MANIFEST = Manifest("definition:OpenAPITools")
