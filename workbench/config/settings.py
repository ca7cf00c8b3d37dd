"""Reads the settings from the user's file, the environment and flags, and checks each against the table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from workbench.config.agent_settings import AgentSettings
from workbench.config.container_settings import ContainerSettings, read_container
from workbench.config.hook_settings import HookSettings
from workbench.config.locations import Locations
from workbench.config.modes import NEVER
from workbench.config.setting_kinds import REQUIRED, Kind, declared
from workbench.config.table import Profile, Settings, fallback_problems, read_profile
from workbench.config.telemetry_settings import TelemetrySettings, read_telemetry
from workbench.config.terminal_settings import TerminalSettings, read_terminal
from workbench.config.toml_file import EntryPath, read_settings
from workbench.errors import UsageError

__all__ = [
    "NO_MODEL",
    "Auto",
    "ContainerSettings",
    "Profile",
    "Settings",
    "TelemetrySettings",
    "TerminalSettings",
    "check_setting",
    "fallback_problems",
    "load_settings",
    "origin_of",
    "read_container",
    "read_profile",
    "read_telemetry",
    "read_terminal",
    "wants_never",
    "without_never",
    "written_settings",
]

Auto: TypeAlias = Literal["auto"] | bool
"""True, false, or "auto", which lets the known abilities of the terminal decide."""
NO_MODEL = "none"
"""The model's name in a session without a model, in which the user can run commands but not send messages."""


def _complete(table: type) -> None:
    """Turn a class declared in `config.table` into a frozen dataclass; done here because importing `dataclasses` would
    slow `ohw --help`.
    """
    for name, entry in declared(table).items():
        in_repr = not entry.is_secret
        if entry.default is REQUIRED:
            setattr(table, name, field(repr=in_repr))
        elif isinstance(entry.default, dict):
            setattr(table, name, field(default_factory=dict, repr=in_repr))
        else:
            setattr(table, name, field(default=entry.default, repr=in_repr))
    dataclass(frozen=True)(table)


for _table in (TerminalSettings, TelemetrySettings, Profile, AgentSettings, ContainerSettings, HookSettings, Settings):
    _complete(_table)


def load_settings(
    locations: Locations,
    env: Mapping[str, str] = os.environ,
    *,
    lenient: bool = False,
    also_written: Mapping[str, Any] | None = None,
    **flags: Any,
) -> Settings:
    """Return the settings from the file, overridden by the environment and then by flags that are not None.

    `also_written` has entries that are used as if the file had them, instead of its own.

    Raises UsageError if a value is invalid. With `lenient`, invalid entries of the file are reported in `problems`, and
    their defaults are used.
    """
    values, problems = written_settings(locations)
    if problems and not lenient:
        raise UsageError(" · ".join(problems))
    values = _joined(values, also_written or {})
    by_flag = {name: value for name, value in flags.items() if value is not None}
    over = {**variables_of(env), **by_flag}
    values = _for_model(values, over.get("model"))
    merged = {**values, **{name: _kind(name).merge(value, values.get(name)) for name, value in over.items()}}
    checked = {name: _check(name, value) for name, value in merged.items()}
    for problem in fallback_problems(merged.get("models", {})).values():
        raise UsageError(problem)
    return Settings(**checked, from_flags=tuple(by_flag), problems=tuple(problems))


def _for_model(values: dict[str, Any], model: str | None) -> dict[str, Any]:
    """Return the entries of the file without the key and URL that are for its model, if `model`, of another provider,
    replaces that one. Those beside a saved model are for all models.
    """
    own, saved = values.get("model"), values.get("models", {})
    if not own or not model or own in saved or model in saved or _provider(own) == _provider(model):
        return values
    return {name: value for name, value in values.items() if name not in ("api_base", "api_key_env")}


def _provider(model: str) -> str:
    """Return the provider in a model's name; a name without one is called as a model of OpenAI."""
    provider, slash, _ = model.partition("/")
    return provider if slash else "openai"


def _joined(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of two settings files; those of the second win, in tables too."""
    tables = {
        name: {**values[name], **value}
        for name, value in others.items()
        if isinstance(value, Mapping) and isinstance(values.get(name), Mapping)
    }
    return {**values, **others, **tables}


def written_settings(locations: Locations) -> tuple[dict[str, Any], list[str]]:
    """Return the valid entries of the user's file, and a line about each problem in it."""
    return read_settings(locations.settings_file, declared(Settings), check_setting, _relations)


def _relations(values: Mapping[str, Any]) -> Iterator[tuple[EntryPath, str]]:
    """Yield the path of each list of fallback models that does not fit the other saved models, and the problem."""
    for name, problem in fallback_problems(values.get("models", {})).items():
        yield ("models", name, "fallback_models"), problem


def check_setting(name: str, value: Any) -> None:
    """Check one entry of the file. Raises UsageError if it is invalid."""
    _check(name, value)


def _check(name: str, value: Any) -> Any:
    return _kind(name).check(name, value)


def _kind(name: str) -> Kind:
    return declared(Settings)[name].kind


def variables_of(env: Mapping[str, str]) -> dict[str, str]:
    """Return the values that the environment gives for settings, as they are written there."""
    return {name: env[each.variable] for name, each in declared(Settings).items() if env.get(each.variable)}


def origin_of(name: str, settings: Settings, env: Mapping[str, str], *, is_written: bool) -> str:
    """Return the origin of a setting's value: the flag, the environment variable, "your file" or "default".

    `is_written` says whether the file sets it.
    """
    entry = declared(Settings)[name]
    if name in settings.from_flags:
        return entry.flag
    if entry.variable and env.get(entry.variable):
        return entry.variable
    return "your file" if is_written else "default"


def wants_never(settings: Settings, *, is_new: bool) -> bool:
    """Return whether the session would get the mode that never asks; a session that is resumed gets a mode only from
    a flag.
    """
    return settings.mode == NEVER and (is_new or "mode" in settings.from_flags)


def without_never(settings: Settings) -> Settings:
    """Return the settings without the mode that never asks, if the user did not confirm it: a new session gets the
    default mode, and a session that is resumed keeps its own.
    """
    return replace(
        settings, mode=Settings().mode, from_flags=tuple(name for name in settings.from_flags if name != "mode")
    )
