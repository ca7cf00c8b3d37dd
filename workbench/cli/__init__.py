"""The command line: `main` parses what was typed, and `ohw NAME` is the module NAME."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

_PLACES = {
    "": "start:start",
    "demo": "start:demo",
    "resume": "start:resume",
    "run": "run:run",
    "sessions": "sessions:sessions",
    "export": "export:export",
    "import": "import_session:import_session",
    "models": "models:models",
    "tools": "tools:tools",
    "mcp": "mcp:mcp",
    "openapi": "openapi:openapi",
    "risk": "risk:risk",
    "rules": "rules:rules",
    "restore": "restore:restore",
    "config": "config:config",
    "locate": "locate:locate",
}
"""Module and function of each; imported when it is given, as some need what takes long to load."""


def function_of(command: str) -> Callable[[Namespace], int]:
    """What a command does: it takes its arguments and returns the exit code."""
    module, _, function = _PLACES[command].partition(":")
    found: Callable[[Namespace], int] = getattr(import_module(f"{__name__}.{module}"), function)
    return found
