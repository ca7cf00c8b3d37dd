"""Cost of 1,000 operations of OpenAPI documents: time until they are tools, and tokens in each request."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from tests.bench.measure import Measure
from workbench.agent.agent import Agent
from workbench.llm.scripted.model import ScriptedModel
from workbench.tools import Tool, ToolContext, ToolDefinition, open_tools, resolve_tool

_OPERATIONS = 1_000
_SECONDS = 1.0
_SHARE = 0.15
"""The allowed share of the tokens that all tools would take."""
_REAL = Path(__file__).parents[1] / "tools/web/figma/openapi.yaml"


def measures() -> list[Measure]:
    """Seconds from a document of 1,000 operations to tools, and tokens with and without looking tools up."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "api.json").write_text(json.dumps(_large()))
        _tools(directory)  # the libraries are loaded once per process, and measured with the first session
        began = time.perf_counter()
        tools = _tools(directory)
        took = time.perf_counter() - began
        began = time.perf_counter()
        json.loads((Path(directory) / "api.json").read_text())
        read = time.perf_counter() - began
        return [
            Measure(f"OpenAPI: {len(tools):,} operations to tools", took, "s", read, _SECONDS, took <= _SECONDS),
            _tokens(directory, tools),
        ]


def _tools(directory: str) -> dict[str, ToolDefinition]:
    made = resolve_tool(Tool("openapi", {"api": {"document": "api.json"}}), ToolContext(directory))
    return {tool.name: tool for tool in made}


def _large() -> dict[str, Any]:
    """Return the paths of a real document, repeated under other names up to 1,000 operations."""
    document = yaml.load(_REAL.read_text(), yaml.CSafeLoader)
    paths: dict[str, Any] = {}
    count = 0
    while True:
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if count == _OPERATIONS:
                    return {**document, "paths": paths}
                named = {**operation, "operationId": f"{operation['operationId']}{count}"}
                paths[f"/{count}{path}"] = {method: named}
                count += 1


def _tokens(directory: str, tools: dict[str, ToolDefinition]) -> Measure:
    """Measure the tokens of the tool descriptions sent with each request, at four characters a token."""
    context = ToolContext(directory)
    opened = open_tools(context)
    try:
        agent = Agent(ScriptedModel("demo"), {**opened, **tools}, Path(directory))
        every = sum(len(json.dumps(tool.to_openai_tool())) for tool in (*opened.values(), *tools.values())) / 4
        tokens = sum(len(json.dumps(tool)) for tool in agent.offered()) / 4
    finally:
        for tool in opened.values():
            tool.close()
    name = f"tokens of {len(tools):,} tools, looked up (reference: all shown)"
    return Measure(name, tokens, "tok", every, every * _SHARE, tokens <= every * _SHARE)
