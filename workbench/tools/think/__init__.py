"""The tool `think`: log a thought."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.manifest import Manifest

NAME = "think"
MANIFEST = Manifest(
    "definition:ThinkTool",
    "thought",
    Presentation(icon="✎", activity="thinking", headline="{thought}", subject="thought", result="subject"),
)
