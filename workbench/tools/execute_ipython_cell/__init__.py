"""The tool `execute_ipython_cell`: run cells in a separate IPython that keeps their variables."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "execute_ipython_cell"
MANIFEST = Manifest(
    "definition:IPythonTool",
    "code",
    Presentation(icon="λ", activity="running a cell", headline="{code}", title="Cell: {code}", subject="code"),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
