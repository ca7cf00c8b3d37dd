"""The tool `browser`: drive a browser with a separate profile; pages as trees of elements with ids, and pictures."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.manifest import Manifest

NAME = "browser"
MANIFEST = Manifest(
    "definition:BrowserTool",
    "pages",
    Presentation(icon="◎", activity="using the browser", headline="{code}", subject="code"),
)
