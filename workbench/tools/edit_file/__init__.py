"""The tool `edit_file`: a model merges a draft into a range of lines."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "edit_file"
_PRESENTATION = Presentation(
    icon="±",
    noun="edit",
    activity="editing",
    headline="{path:path}[ {start}-{end}]",
    title="Edit {path:path}[ {start}-{end}]",
    result="changes",
)
MANIFEST = Manifest("definition:LLMBasedFileEditTool", "edit", _PRESENTATION)

__getattr__, __dir__, __all__ = exports_of(__name__)
