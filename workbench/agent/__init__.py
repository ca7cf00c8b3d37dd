"""One step of the agent: the request to the model, and the actions its response asks for.

Programs that embed the agent may import `ToolCallAgent` and `ToolCollection` from here as well. Both are part of
`workbench.sdk`, which is imported when one of them is first used; nothing else in this package depends on it.
"""

from importlib import import_module
from typing import Any

_SDK = ("ToolCallAgent", "ToolCollection")


def __getattr__(name: str) -> Any:
    if name not in _SDK:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("workbench.sdk"), name)
