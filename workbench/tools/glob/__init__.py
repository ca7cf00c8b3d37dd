"""The tool `glob`: find files by a path pattern, newest first."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "glob"
MANIFEST = Manifest(
    "definition:GlobTool",
    "search",
    Presentation(
        icon="⌕",
        activity="looking for files",
        headline="{pattern}[ in {path:path}][ ({include:60})]",
        title="Find {pattern}[ in {path:path}][ ({include:60})]",
        outcome="{found:file}",
        result="head",
    ),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
