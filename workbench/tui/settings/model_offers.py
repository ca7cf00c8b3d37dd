"""The models that `/model` offers: saved ones, and those that the providers and local servers with a key list."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from workbench.config.settings import Profile, Settings
from workbench.errors import WorkbenchError
from workbench.tui.settings.providers import Way

SAVED: Final = "Saved"
"""The heading of the saved models."""
_FRESH: Final = 60.0
"""Seconds for which a list of models is used again."""


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
    names = way.names or models_of(way, _own_key(way, settings)).names
    saved = {(profile.model, profile.api_base or "") for profile in map(settings.profile, settings.models)}
    models = [replace(way, model=f"{way.provider}/{name}") for name in names]
    return [
        ModelOffer(each.model, way.title, "" if each.api_base else facts(each.model), each if each.api_base else None)
        for each in models
        if (each.model, each.api_base) not in saved
    ]


def _own_key(way: Way, settings: Settings) -> str:
    """Return the key that a saved model at the same URL names; empty if there is none that can be read."""
    profiles = [settings.profile(name) for name in settings.models] if way.api_base else []
    keys = (_named_key(profile) for profile in profiles if profile.api_base == way.api_base)
    return next(filter(None, keys), "")


def _named_key(profile: Profile) -> str:
    from workbench.session.model_keys import key_in_file, key_in_keyring

    with suppress(WorkbenchError):  # the list is then asked for without a key
        if profile.api_key_file:
            return key_in_file(profile.api_key_file, profile.name)
        if profile.api_key_keyring:
            return key_in_keyring(profile.api_key_keyring, profile.name)
    return os.environ.get(profile.api_key_env or "", "")


def with_own_servers(ways: Sequence[Way], own: Way, settings: Settings) -> list[Way]:
    """Return the ways, with the servers of the user's own first unless they are among them: that of the session's model
    `own`, and those of the saved models.
    """
    from workbench.llm.discovery import is_own_domain, provider_of

    listed = {way.api_base for way in ways if not way.profile}
    saved = [settings.profile(name) for name in settings.models]
    saved = [each for each in saved if not is_own_domain(each.api_base or "", provider_of(each.model))]
    models = {own.api_base: own.model} | {each.api_base or "": each.model for each in reversed(saved)}
    servers = [(base, model) for base, model in models.items() if base and "/" in model and base not in listed]
    return [*(_server(base, model) for base, model in servers), *ways]


def _server(api_base: str, model: str) -> Way:
    host = api_base.partition("://")[2].partition("/")[0]
    return Way(model, host, api_base, title=host, is_ready=True)


class ListedModels:
    """The models that providers and servers list, for the completion of `/model`."""

    def __init__(
        self, find_ways: Callable[[], Sequence[Way]], list_models: Callable[[Way], Sequence[ModelOffer]]
    ) -> None:
        """Both functions take seconds; only `refresh` calls them."""
        self._find_ways, self._list_models = find_ways, list_models
        self.offers: Sequence[ModelOffer] = ()
        self._read_at = -_FRESH

    def refresh(self) -> None:
        """Read the lists unless they are fresh; call it in a thread."""
        if time.monotonic() - self._read_at < _FRESH:
            return
        self._read_at = time.monotonic()
        ready = [way for way in self._find_ways() if way.is_ready]
        offers: dict[str, ModelOffer] = {}
        for way in ready:
            for offer in self._list_models(way):
                if offer.name not in offers or offer.way is None:  # a provider's own model needs no server's URL
                    offers[offer.name] = offer
        self.offers = list(offers.values())

    def offer_of(self, name: str) -> ModelOffer | None:
        """Return the listed model of that name, or None."""
        return next((offer for offer in self.offers if offer.name == name), None)


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
