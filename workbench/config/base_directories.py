"""The base directories of the XDG specification. Code that must start fast can use them: only `pathlib` is imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def config_directory(env: Mapping[str, str]) -> Path:
    """Return the directory of the user's settings, rules and themes."""
    return _base(env, "XDG_CONFIG_HOME", ".config")


def data_directory(env: Mapping[str, str]) -> Path:
    """Return the directory of the sessions."""
    return _base(env, "XDG_DATA_HOME", ".local/share")


def state_directory(env: Mapping[str, str]) -> Path:
    """Return the directory of logs and histories."""
    return _base(env, "XDG_STATE_HOME", ".local/state")


def _base(env: Mapping[str, str], name: str, default: str) -> Path:
    value = env.get(name, "")
    # The specification says to ignore relative paths.
    base = Path(value) if value.startswith("/") else Path(env.get("HOME") or Path.home()) / default
    return base / "ohw"
