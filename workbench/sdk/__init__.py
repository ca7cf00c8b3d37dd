"""The agent from Python: a session of the app without a screen, in the caller's process. Names load on first use.

It is for programs that embed the agent; the front ends of the app do not use it. It opens sessions as `ohw run` does
and drives them, so approval, rules, limits, snapshots and the log are the session's own. It never knows a front end.

>>> from workbench.sdk import ToolCallAgent, tool
>>> @tool(read_only=True)
... async def weather(city: str, days: int = 1) -> str:
...     '''Tell the weather of a city.'''
...     return f"{city}: sun for {days} days"
>>> weather({"city": "Rome", "days": "2"}).text
'Rome: sun for 2 days'
>>> agent = ToolCallAgent("scripted/demo", [weather, "think", "finish"], max_steps=5)
>>> [each.name for each in agent.tools]
['weather', 'think', 'finish']
>>> agent.add_tools("glob").remove_tool("think").name
'think'
>>> [each.name for each in agent.tools]
['weather', 'finish', 'glob']
>>> agent.close()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.sdk.agent import ToolCallAgent as ToolCallAgent
    from workbench.sdk.approval import ApprovalRequest as ApprovalRequest
    from workbench.sdk.conversation import LLM as LLM
    from workbench.sdk.conversation import AgentConversation as AgentConversation
    from workbench.sdk.conversation import ToolChoice as ToolChoice
    from workbench.sdk.conversation import get_logger as get_logger
    from workbench.sdk.result import RunResult as RunResult
    from workbench.tools.collection import ToolCollection as ToolCollection
    from workbench.tools.functions import tool as tool
    from workbench.tools.functions import tool_from_function as tool_from_function

_MODULE_OF = {
    "AgentConversation": "workbench.sdk.conversation",
    "ApprovalRequest": "workbench.sdk.approval",
    "LLM": "workbench.sdk.conversation",
    "RunResult": "workbench.sdk.result",
    "ToolCallAgent": "workbench.sdk.agent",
    "ToolCollection": "workbench.tools.collection",
    "ToolChoice": "workbench.sdk.conversation",
    "get_logger": "workbench.sdk.conversation",
    "tool": "workbench.tools.functions",
    "tool_from_function": "workbench.tools.functions",
}
_ALIASES = {"Agent": "ToolCallAgent", "Conversation": "AgentConversation"}
__all__ = sorted((*_MODULE_OF, *_ALIASES))


def __getattr__(name: str) -> Any:
    own = _ALIASES.get(name, name)
    if own not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[own]), own)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
