"""The settings of a run's user that its workers use too, on whatever machine they are; secrets are not among them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from workbench.config.locations import Locations
from workbench.config.settings import variables_of, written_settings

_PORTABLE: Final = (
    "api_base",
    "api_key_env",
    "calls",
    "condense_events",
    "condense_percent",
    "confirm_unknown",
    "context_window",
    "max_cost",
    "max_observe",
    "max_steps",
    "mode",
    "model",
    "models",
    "sandbox",
    "sandbox_caches",
    "stop_loops",
    "token_limit",
    "tool_choice",
    "tools",
)
"""Settings that say what an attempt does. All others are for a screen or a machine, or may contain secrets: programs
with their arguments and variables, and headers.
"""


def portable_settings(env: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the settings of the user's file and environment that workers use too.

    They have names of keys, never keys: a URL with a password stays here, as do the parameters of tools.
    """
    values, _ = written_settings(Locations.from_environment(env))
    values = {**values, **variables_of(env)}
    portable: dict[str, Any] = {
        name: values[name] for name in _PORTABLE if name in values and not _has_password(values[name])
    }
    tables: dict[str, Any] = {
        "models": lambda model: not _has_password(model.get("api_base")),
        "tools": lambda value: not isinstance(value, Mapping),
    }
    for name, travels in tables.items():
        if name in portable:
            portable[name] = {key: value for key, value in portable[name].items() if travels(value)}
    return portable


def _has_password(value: object) -> bool:
    return isinstance(value, str) and "://" in value and "@" in value.partition("://")[2].partition("/")[0]
