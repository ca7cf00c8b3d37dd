"""The tool `find_tools`: find tools that are not offered to the model from the start."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "find_tools"
MANIFEST = Manifest(
    "definition:FindToolsTool",
    presentation=Presentation(
        icon="⌕", activity="looking for tools", headline="{query}", title="Find tools: {query}", subject="query"
    ),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
