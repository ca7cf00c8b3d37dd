"""The tool `web_read`: read a web page as Markdown."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "web_read"
MANIFEST = Manifest(
    "definition:WebReadTool",
    "fetch",
    Presentation(icon="⇣", activity="reading a page", headline="{url}", title="Read {url}", subject="url"),
)

__getattr__, __dir__, __all__ = exports_of(__name__)
