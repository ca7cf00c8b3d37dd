"""Finds models to start with (profiles, local servers, providers whose key is set) and saves the chosen one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from workbench.config.settings import Settings

_MOST: Final = 4
"""Maximum number of models that are offered per server."""
_UNNAMED: Final = "NAME"


@dataclass(frozen=True)
class Way:
    """One model to start with, and where it was found."""

    model: str
    """As `provider/model`; ends in a literal `/NAME` if only the provider is known."""
    what: str = ""
    api_base: str = ""
    profile: str = ""
    """The name of the profile that the model has already, if any."""

    @property
    def is_named(self) -> bool:
        """Whether the name of the model is known."""
        return not self.model.endswith(f"/{_UNNAMED}")

    @property
    def provider(self) -> str:
        """The provider and a slash, to which the user adds the model's name, if that is not known; else empty."""
        return self.model.removesuffix(_UNNAMED) if not self.is_named else ""


def ways(settings: Settings) -> Iterator[Way]:
    """Yield the models found in the settings, on the default ports and in the environment; takes up to a second."""
    from workbench.llm.discovery import sources_of_keys, sources_of_servers

    for name in settings.models:
        yield Way(settings.profile(name).model, f"Saved model {name}", profile=name)
    for source in sources_of_servers():
        yield from (Way(model, source.what, source.api_base) for model in source.models[:_MOST])
    yield from (Way(source.models[0], source.what) for source in sources_of_keys())


def read_way(text: str) -> Way:
    """Parse a model and, after a space, the optional URL of its server, as the user writes them."""
    model, _, api_base = text.strip().partition(" ")
    return Way(model, "", api_base.strip())


def wrong_way(way: Way) -> str:
    """Return why a model cannot be called as written; empty if it can."""
    provider, _, name = way.model.partition("/")
    if not provider or not name or not way.is_named:
        return "write it as PROVIDER/NAME, such as openai/gpt-5"
    if way.api_base and not re.match(r"https?://[^/\s]", way.api_base):
        return "write the URL after a space, such as http://localhost:8000/v1"
    return ""


def profile_changes(way: Way, taken: Collection[str]) -> tuple[str, dict[tuple[str, ...], Any]]:
    """Return the name of the model's profile, a new one if it has none, and the changes that make it the default.

    `taken` holds the names that a new profile must not have.
    """
    if way.profile:
        return way.profile, {("model",): way.profile}
    usual = re.sub(r"[^\w.:@+-]", "-", way.model.rpartition("/")[2])[:50] or "mine"
    name = next(each for each in (usual, *(f"{usual}-{number}" for number in range(2, 1000))) if each not in taken)
    changes: dict[tuple[str, ...], Any] = {("model",): name, ("models", name, "model"): way.model}
    if way.api_base:
        changes["models", name, "api_base"] = way.api_base
    return name, changes
