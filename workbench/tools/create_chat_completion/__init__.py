"""The tool `create_chat_completion`: answer with data of a given schema, for runs that need data instead of text."""

from __future__ import annotations

from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "create_chat_completion"
MANIFEST = Manifest("definition:CreateChatCompletionTool")

__getattr__, __dir__, __all__ = exports_of(__name__)
