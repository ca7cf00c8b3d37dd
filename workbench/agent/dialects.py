"""How a model wants its tools described: some need short texts, some refuse parts of JSON Schema; used by `agent`."""

from __future__ import annotations

import re
from typing import Any

from workbench.tools.json_schema import without_defaults
from workbench.tools.tool import ToolDefinition

_SHORT = re.compile(r"gpt-4|\bo[134]\b")


def described_for(model: str, tool: ToolDefinition) -> dict[str, Any]:
    """The tool in OpenAI's function shape, as the model of that name takes it; a copy of its own."""
    name = model.lower()
    described = tool.to_openai_tool(short=bool(_SHORT.search(name)))
    if "gemini" in name:
        described["function"]["parameters"] = without_defaults(described["function"]["parameters"])
    return described
