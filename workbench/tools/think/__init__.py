"""The tool `think`: log a thought."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "think"
MANIFEST = Manifest(
    "definition:ThinkTool",
    "thought",
    Presentation(icon="✎", activity="thinking", headline="{thought}", subject="thought", result="subject"),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
