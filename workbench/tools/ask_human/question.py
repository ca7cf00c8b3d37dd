"""A question from the agent as the log stores it, for front ends and narration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

SANDBOX: Final = "sandbox"
"""The name in the log of the agent that asks on behalf of the sandbox."""
PUT_BACK: Final = "put_back"
"""The name in the log of the tool that would put back protected files, which were moved aside."""


class Question(Struct, frozen=True):
    """The text of a question, and the answers to choose from; control characters are not escaped yet."""

    text: str
    options: tuple[str, ...] = ()


def who_asks(agent: str) -> str:
    """Return who asks, for the middle of a sentence; `agent` is as the log has it, and empty for the main agent.

    Otherwise it names a sub-agent or, for a question in the middle of a call, an MCP server or the sandbox.
    """
    if not agent:
        return "the agent"
    return f"the {agent}" if agent == SANDBOX or agent.startswith("MCP server ") else f"the sub-agent {agent}"


def read_question(arguments: Mapping[str, Any]) -> Question:
    """Read the question from a call's arguments; never fails. The options may be a list in JSON text."""
    options = arguments.get("options")
    if isinstance(options, str):
        try:
            options = json.loads(options)
        except (ValueError, RecursionError):
            options = ()
    choices = options if isinstance(options, list | tuple) else ()
    return Question(str(arguments.get("question", "")).strip(), tuple(str(option).strip() for option in choices))
