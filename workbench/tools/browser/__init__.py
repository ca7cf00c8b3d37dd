"""The tool `browser`: drive a browser with a separate profile; pages come back as trees of elements with IDs, and as
pictures.
"""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "browser"
MANIFEST = Manifest(
    "definition:BrowserTool",
    "pages",
    Presentation(icon="◎", activity="using the browser", headline="{code}", title="Browser: {code}", subject="code"),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
