"""The tool `grep`: find lines in files by a regular expression."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "grep"
MANIFEST = Manifest(
    "definition:GrepTool",
    "search",
    Presentation(
        icon="⌕",
        activity="searching",
        headline="{pattern}[ in {path:path}][ ({include:60})]",
        title="Search {pattern}[ in {path:path}][ ({include:60})]",
        outcome="{matched_lines:line}",
        result="head",
    ),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
