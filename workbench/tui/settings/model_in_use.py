"""What the rows for the URL and the key show if the model in use has its own: those of the settings are for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.config.locations import Locations
from workbench.config.settings import Profile, Settings

_NOTE = "That of the saved model {}, which is in use; change it in its rows below. This row is for models without one."


@dataclass(frozen=True)
class InUse:
    """What the model of new sessions uses, and where it comes from; empty where the settings' own rows apply."""

    api_base: str = ""
    key_variable: str = ""
    key_source: str = ""
    note: str = ""

    def of_row(self, name: str) -> tuple[str, str]:
        """Return the text and the source of the row with this name; the text is empty if the row has its own value."""
        return {
            "api_base": (self.api_base, "saved model"),
            "api_key_env": (self.key_variable, "saved model"),
            "api_key": ("set, not shown" if self.key_source else "", self.key_source),
        }.get(name, ("", ""))


def in_use(settings: Settings, locations: Locations, env: Mapping[str, str]) -> InUse:
    """Return what the default model uses in place of the settings' own URL and key; reads files, but no keyring."""
    name = settings.model or ""
    profile = settings.profile(name)
    if name not in settings.models:
        has_own = settings.api_key or settings.api_key_env
        return InUse(key_source="" if has_own or not name else _stored(profile, locations, env))
    is_named = profile.api_key_env or profile.api_key_file or profile.api_key_keyring
    return InUse(
        "" if "api_base" in settings.from_flags else profile.api_base or "",
        profile.api_key_env or "",
        "saved model" if is_named else _stored(profile, locations, env),
        _NOTE.format(name),
    )


def _stored(profile: Profile, locations: Locations, env: Mapping[str, str]) -> str:
    """Return where the key of the model's provider or server is; empty if there is none."""
    from workbench.llm.key_store import KeyStore, key_in_environment, key_name

    if key_in_environment(profile.model, profile.api_base, env):
        return "environment"
    stored = KeyStore(locations).find(key_name(profile.model, profile.api_base))
    if stored is None:
        return ""
    return "keyring" if stored.storage == "keyring" else "private file"
