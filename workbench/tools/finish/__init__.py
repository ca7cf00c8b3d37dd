"""The tool `finish`: end the run with a final message."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "finish"
MANIFEST = Manifest(
    "definition:FinishTool",
    "final",
    Presentation(icon="■", activity="finishing", headline="{message}", subject="message", result="none"),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
