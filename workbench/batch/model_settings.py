"""The settings of an attempt, whose model may be of another provider than that of the user's settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.config.settings import Settings
from workbench.llm.discovery import provider_of


def with_model(settings: Settings, model: str, command_model: str) -> Settings:
    """Return the settings with another model, without the keys and URLs that are for the models of other providers.

    `settings` have the own model of the user. A key, and a URL from a flag, are for `command_model`, if there is one.
    """
    by_command = command_model or settings.model
    values = {
        "api_key": by_command,
        "api_base": by_command if "api_base" in settings.from_flags else settings.model,
        "api_key_env": settings.model,
    }
    dropped: dict[str, Any] = {
        name: None for name, meant in values.items() if meant and not _is_for(settings, meant, model)
    }
    return replace(settings, model=model, from_flags=(*settings.from_flags, "model"), **dropped)


def _is_for(settings: Settings, meant: str, model: str) -> bool:
    """Return whether a key or URL for one model is for another; one that is beside a saved model is for all."""
    return meant in settings.models or provider_of(meant) == provider_of(model)
