"""The tool `request_condensation`: let the agent ask for its history to be condensed."""

from __future__ import annotations

from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "request_condensation"
MANIFEST = Manifest("definition:RequestCondensationTool", "condensation")

__getattr__, __dir__, __all__ = exports_of(__name__)
