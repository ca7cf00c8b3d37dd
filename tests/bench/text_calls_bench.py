"""Cost of calls as plain text: a conversation of 200 messages converted and parsed, compared with JSON of the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.bench.measure import Measure
from workbench.llm.text_tools.calls import (
    convert_fncall_messages_to_non_fncall_messages,
    convert_non_fncall_messages_to_fncall_messages,
)

MESSAGES, ROUNDS = 200, 300
TO_TEXT_MS, BACK_MS = 1.0, 1.4


def measures() -> list[Measure]:
    """Measure both directions in milliseconds, the fastest of many rounds that alternate with the reference."""
    tools, messages = [_tool("execute_bash"), _tool("str_replace_editor")], _conversation()
    text = convert_fncall_messages_to_non_fncall_messages(messages, tools)
    assert convert_non_fncall_messages_to_fncall_messages(text, tools) == messages
    to_text, back, as_json = _quickest(
        lambda: convert_fncall_messages_to_non_fncall_messages(messages, tools),
        lambda: convert_non_fncall_messages_to_fncall_messages(text, tools),
        lambda: json.loads(json.dumps(messages)),
    )
    return [
        Measure("200 messages (120 kB): calls to text", to_text, "ms", as_json, TO_TEXT_MS, to_text <= TO_TEXT_MS),
        Measure("200 messages (120 kB): text to calls", back, "ms", as_json, BACK_MS, back <= BACK_MS),
    ]


def _quickest(*works: Callable[[], object]) -> list[float]:
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for at, work in enumerate(works):
            began = time.perf_counter()
            work()
            best[at] = min(best[at], (time.perf_counter() - began) * 1_000)
    return best


def _tool(name: str) -> dict[str, Any]:
    properties = {"command": {"type": "string"}, "path": {"type": "string"}, "timeout": {"type": "number"}}
    schema = {"type": "object", "properties": properties, "required": ["command"]}
    return {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": schema}}


def _conversation() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You work on code. " * 100},
        {"role": "user", "content": "Mend the test. " * 10},
    ]
    while len(messages) < MESSAGES:
        call_id = f"toolu_{len(messages) // 2:02d}"
        arguments = json.dumps({"command": "sed -n 1,40p a.py\n" + "x = 1  # some code\n" * 17, "timeout": 3.5})
        function = {"name": "execute_bash", "arguments": arguments}
        calls = [{"id": call_id, "type": "function", "function": function}]
        messages += [
            {"role": "assistant", "content": "I look at that. " * 8, "tool_calls": calls},
            {"role": "tool", "tool_call_id": call_id, "name": "execute_bash", "content": "a line of output\n" * 25},
        ]
    return messages
