"""The command line: `main` runs a command, `arguments` declares all commands, and each is a
function in its own module.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

_FUNCTIONS = {
    "": "start:start",
    "demo": "start:demo",
    "resume": "start:resume",
    "attach": "start:attach",
    "run": "start:run",
    "batch": "batch:batch",
    "batch predictions": "batch_predictions:batch_predictions",
    "batch report": "batch_report:report",
    "batch diff": "batch_report:diff",
    "batch watch": "batch_watch:batch_watch",
    "race": "race:race",
    "acp": "acp:acp",
    "serve": "serve:serve",
    "browser-tab": "serve:browser_tab",
    "engine": "remote:engine",
    "workspace": "workspace:workspace",
    "sessions": "sessions:sessions",
    "export": "export:export",
    "import": "import_session:import_session",
    "models": "models:models",
    "tools": "tools:tools",
    "mcp": "mcp:mcp",
    "openapi": "openapi:openapi",
    "risk": "risk:risk",
    "rules": "rules:rules",
    "hooks": "hooks:hooks",
    "trust": "trust:trust",
    "worktree": "worktree:worktree",
    "sandbox": "sandbox:sandbox",
    "stats": "stats:stats",
    "decisions": "decisions:decisions",
    "restore": "restore:restore",
    "rewind": "rewind:rewind",
    "fork": "fork:fork",
    "replay": "replay:replay",
    "compare": "compare:compare",
    "blame": "blame:blame",
    "completion": "completion:completion",
    "doctor": "doctor:doctor",
    "config": "config:config",
    "locate": "config:locate",
    "man": "man:man",
    "update": "update:update",
}
"""The module and function of each command; a module is imported only when its command runs, because
some load slowly.
"""


def function_of(command: str) -> Callable[[Namespace], int]:
    """Return the function of a command; it takes the parsed arguments and returns the exit code."""
    module, _, function = _FUNCTIONS[command].partition(":")
    command_function: Callable[[Namespace], int] = getattr(import_module(f"{__name__}.{module}"), function)
    return command_function
