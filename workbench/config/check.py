"""What each setting may hold: a value of the file, the environment or a flag is checked here; used by `config`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from workbench.config.edit import check_plain, check_servers
from workbench.config.profiles import CALLS, checked_address, read_profiles
from workbench.config.terminal import read_terminal
from workbench.errors import UsageError
from workbench.suggest import near

ONLY_IN_FILE = ("keys", "tools", "trusted", "pass_env", "models", "terminal", "mcpServers")
"""Tables and lists, which neither the environment nor a flag can hold."""
MODE_NAMES: Final[Mapping[str, str]] = {
    "medium": "ask from MEDIUM",
    "ask": "ask always",
    "high": "ask from HIGH",
    "never": "never ask",
    "plan": "plan: read only",
}
"""Modes as a person reads them."""
MODES = tuple(MODE_NAMES)
NEVER: Final = "never"
"""The mode that is chosen by its name only, and confirmed."""
MODE_CYCLE: Final = ("plan", "ask", "medium", "high")
"""The modes that a key steps through, from the strictest on."""
NEVER_MEANS: Final = (
    "Every action the agent proposes from here on runs at once, whatever its risk is. You are asked only about "
    "protected files, about what could not be brought back, and where a rule of yours asks.",
    "What waits for your decision already still waits for it.",
)
"""What the mode that never asks does, in paragraphs, for its confirmation."""
TOOL_CHOICES = ("none", "auto", "required")
_LEAST = {
    "max_steps": 1,
    "max_observe": 200,
    "token_limit": 0,
    "condense_percent": 0,
    "condense_events": 0,
    "context_window": 0,
}
"""The settings that are whole numbers, with the smallest of each."""
_AMOUNTS = ("max_cost",)
"""The settings that are amounts of money."""
_SWITCHES = ("stop_loops", "confirm_unknown")
TOOL_SETS = ("code", "plan")


def check_tables(values: Mapping[str, Any]) -> None:
    """What only the file can say; raises UsageError that names its key."""
    trusted, tools = values.get("trusted", []), values.get("tools", {})
    if not isinstance(trusted, list) or not all(isinstance(folder, str) for folder in trusted):
        raise UsageError('trusted must be a list of folders, such as ["/home/me/project"]')
    if not isinstance(tools, dict):
        raise UsageError("tools must be a table: [tools]")
    for name, value in tools.items():
        if name == "set":
            if value not in TOOL_SETS:
                raise UsageError(
                    f"tools.set must be one of {', '.join(TOOL_SETS)}, not {value!r}{near(str(value), TOOL_SETS)}"
                )
        elif not isinstance(value, bool | dict):
            raise UsageError(f"tools.{name} must be true, false or a table of parameters, not {value!r}")
        elif isinstance(value, dict):
            check_plain(f"tools.{name}", value)
    _check_passed(values.get("pass_env", []))
    check_servers(values.get("mcpServers", {}))
    read_profiles(values.get("models", {}))
    read_terminal(values.get("terminal", {}))


def _check_passed(names: object) -> None:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError('pass_env must be a list of variables, such as ["GITHUB_TOKEN"]')


def checked_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """All settings by their names, made what they should be; raises UsageError."""
    _check_choices(values)
    if values["api_base"]:
        checked_address("api_base", values["api_base"])
    for name, value in values.items():
        if name not in (*_LEAST, *_AMOUNTS, *_SWITCHES, *ONLY_IN_FILE) and not isinstance(value, str | None):
            raise UsageError(f"the setting {name} must be text")
    if not isinstance(values["keys"], dict) or not all(isinstance(key, str) for key in values["keys"].values()):
        raise UsageError("the setting keys must be a table of binding id = keys")
    read: dict[str, Any] = {name: _whole(name, values[name]) for name in _LEAST}
    read |= {name: _amount(name, values[name]) for name in _AMOUNTS}
    read |= {name: _switch(name, values[name]) for name in _SWITCHES}
    return {**values, **read, "trusted": tuple(values["trusted"]), "pass_env": tuple(values["pass_env"])}


def _check_choices(values: Mapping[str, Any]) -> None:
    mode, choice, calls = values["mode"], values["tool_choice"], values["calls"]
    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}; choose one of {', '.join(MODES)}{near(str(mode), MODES)}")
    if choice not in TOOL_CHOICES:
        known = f"choose one of {', '.join(TOOL_CHOICES)}{near(str(choice), TOOL_CHOICES)}"
        raise UsageError(f"there is no tool_choice {choice!r}; {known}")
    if calls not in CALLS:
        raise UsageError(f"the setting calls must be one of {', '.join(CALLS)}, not {calls!r}{near(str(calls), CALLS)}")


def _whole(name: str, value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if isinstance(value, bool) or number < _LEAST[name]:
        raise UsageError(f"{name} must be a whole number from {_LEAST[name]}, not {value!r}")
    return number


def _amount(name: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if isinstance(value, bool) or not 0 <= number < math.inf:
        raise UsageError(f"{name} must be an amount of dollars such as 0.50, not {value!r}")
    return number


def _switch(name: str, value: object) -> bool:
    said = str(value).lower()
    if said not in ("true", "false"):
        raise UsageError(f"{name} must be true or false, not {value!r}")
    return said == "true"
