"""Cost of exporting the schemas of 30 tools: paid at every change of the model and by every `ohw tools`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from tests.bench.measure import Measure
from workbench.agent.agent import described_for
from workbench.tools import BashTool, FileEditorTool, TaskTrackerTool, ToolDefinition

_LIMIT = 5.0


def measures() -> list[Measure]:
    """Return milliseconds after the first time, for each export format."""
    tools = [make() for _ in range(10) for make in (BashTool, FileEditorTool, TaskTrackerTool)]
    ways: dict[str, Callable[[ToolDefinition], Any]] = {
        "schemas: 30 tools for OpenAI": lambda tool: tool.to_openai_tool(),
        "schemas: 30 tools for MCP": lambda tool: tool.to_mcp_tool(),
        "schemas: 30 tools for Gemini": lambda tool: described_for("gemini/pro", tool),
    }
    try:
        return [_measure(name, export, tools) for name, export in ways.items()]
    finally:
        for tool in tools:
            tool.close()


def _measure(name: str, export: Callable[[ToolDefinition], Any], tools: list[ToolDefinition]) -> Measure:
    took = []
    for _ in range(21):
        start = time.perf_counter()
        for tool in tools:
            export(tool)
        took.append((time.perf_counter() - start) * 1e3)
    value = statistics.median(took[1:])
    return Measure(name, value, "ms", took[0], _LIMIT, value <= _LIMIT)
