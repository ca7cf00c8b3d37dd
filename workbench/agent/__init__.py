"""One step of the agent: the request to the model, and the actions its response asks for.

Programs that embed the agent may import it from here as well: `ToolCallAgent` and `ToolCollection` come from
`workbench.sdk`, on first use. Nothing in this package knows them.
"""

from importlib import import_module
from typing import Any

_SDK = ("ToolCallAgent", "ToolCollection")


def __getattr__(name: str) -> Any:
    if name not in _SDK:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("workbench.sdk"), name)
