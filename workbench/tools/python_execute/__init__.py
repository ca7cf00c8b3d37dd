"""The tool `python_execute`: run Python code in a new interpreter."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "python_execute"
MANIFEST = Manifest(
    "definition:PythonExecuteTool",
    "code",
    Presentation(icon="λ", activity="running Python", headline="{code}", title="Python: {code}", subject="code"),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
