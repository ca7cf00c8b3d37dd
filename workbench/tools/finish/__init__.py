"""The tool `finish`: end the run with a final message."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.manifest import Manifest

NAME = "finish"
MANIFEST = Manifest(
    "definition:FinishTool",
    "final",
    Presentation(icon="■", activity="finishing", headline="{message}", subject="message", result="none"),
)
