"""The models that `/model` offers: saved ones, and those that the providers and local servers with a key list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from workbench.config.settings import Profile, Settings
from workbench.tui.settings.providers import Way

SAVED: Final = "Saved"
"""The heading of the saved models."""


@dataclass(frozen=True)
class ModelOffer:
    """A model that can be chosen: `name` as `/model` takes it, and the heading of the group that lists it."""

    name: str
    group: str = ""
    about: str = ""
    """Further information: for a saved model its model, otherwise context window and price."""
    way: Way | None = None
    """Set if the model has to be saved before it can be used, since its server's URL is needed."""


def saved_offers(settings: Settings, current: str) -> Iterator[ModelOffer]:
    """Yield the saved models, after the current model if it is not saved; if there are none, the models with a key."""
    from workbench.llm.discovery import sources_of_keys

    profiles = [settings.profile(name) for name in settings.models]
    if not profiles:
        profiles = [Profile(each.models[0], each.models[0]) for each in sources_of_keys() if each.is_named]
    if current and current not in [profile.name for profile in profiles]:
        yield ModelOffer(current)
    for profile in profiles:
        is_saved = profile.name != profile.model
        yield ModelOffer(profile.name, SAVED if is_saved else "", profile.model if is_saved else "")


def listed_offers(way: Way, settings: Settings) -> Sequence[ModelOffer]:
    """Return the models that a provider or server lists, except saved models, which have rows of their own. Takes
    seconds.
    """
    from workbench.llm.provider_models import facts
    from workbench.tui.settings.providers import models_of

    if way.profile or not way.is_ready or not way.provider:
        return []
    names = way.names or models_of(way, "").names
    saved = {(profile.model, profile.api_base or "") for profile in map(settings.profile, settings.models)}
    models = [replace(way, model=f"{way.provider}/{name}") for name in names]
    return [
        ModelOffer(each.model, way.title, "" if each.api_base else facts(each.model), each if each.api_base else None)
        for each in models
        if (each.model, each.api_base) not in saved
    ]


def matching(offers: Sequence[ModelOffer], query: str) -> list[ModelOffer]:
    """Return the offers that contain every word of the query in their name, group or description, in their order."""
    parts = query.lower().split()
    return [
        offer for offer in offers if all(word in f"{offer.name} {offer.group} {offer.about}".lower() for word in parts)
    ]


def as_typed(query: str, offers: Sequence[ModelOffer]) -> ModelOffer | None:
    """Return an offer of the model that the query names as `provider/model`, unless it is among the offers."""
    name = query.strip()
    provider, slash, model = name.partition("/")
    if not (provider and slash and model) or " " in name or name in [offer.name for offer in offers]:
        return None
    return ModelOffer(name, about="as typed")
