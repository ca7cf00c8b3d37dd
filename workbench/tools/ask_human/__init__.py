"""The tool `ask_human`: ask the user a question; the run waits for the answer."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "ask_human"
MANIFEST = Manifest(
    "definition:AskHumanTool", "question", Presentation(icon="?", headline="{question}", subject="question")
)

__getattr__, __dir__, __all__ = exports_of(__name__)
