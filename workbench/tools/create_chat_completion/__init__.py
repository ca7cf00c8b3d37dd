"""The tool `create_chat_completion`: answer with data of a given schema, for runs that need data instead of text."""

from __future__ import annotations

from workbench.tools.manifest import Manifest

NAME = "create_chat_completion"
MANIFEST = Manifest("definition:CreateChatCompletionTool")
