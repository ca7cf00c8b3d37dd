"""Finds the models and providers that can be set up (`Way`), and saves the model that the user chose."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.llm.device_sign_in import PROVIDER as SIGN_IN_PROVIDER
from workbench.llm.device_sign_in import needs_sign_in
from workbench.text import counted

if TYPE_CHECKING:
    from workbench.llm.key_store import Storage
    from workbench.llm.provider_models import ModelList

_UNNAMED: Final = "NAME"
_PATIENCE: Final = 10.0
"""Seconds to wait for the keyring before the provider is asked for its models."""
_FIRST: Final = ("anthropic", "openai", "gemini", "openrouter")
"""The providers that are offered without a key; the others follow on request."""
_KEY_SOURCES: Final = ("api_key_env", "api_key_file", "api_key_keyring")


@dataclass(frozen=True)
class Way:
    """One way to set up a model: a saved model, a provider or a server."""

    model: str
    """As `provider/model`; ends in a literal `/NAME` if only the provider is known; empty for a server to be named."""
    what: str = ""
    """Which key or server there is, or what is missing."""
    api_base: str = ""
    profile: str = ""
    """The name of the saved model, if it is one."""
    title: str = ""
    is_ready: bool = False
    """Whether it can be tested as it is."""
    names: tuple[str, ...] = ()
    """The models of a server, without the provider."""
    has_new_key: bool = False
    """Whether the user has just entered a key for it, which replaces the one that its saved model names."""

    @property
    def provider(self) -> str:
        """The provider; empty if unknown."""
        return self.model.partition("/")[0]

    @property
    def has_sign_in(self) -> bool:
        """Whether the provider has a sign-in in place of API keys."""
        return self.provider == SIGN_IN_PROVIDER and not self.api_base

    @property
    def name(self) -> str:
        """The model without the provider; empty if unknown."""
        name = self.model.partition("/")[2]
        return "" if name == _UNNAMED else name


@dataclass(frozen=True)
class OpenForm:
    """The form for a new API key of a model whose key was rejected."""

    way: Way
    error: str
    """The error that the provider gave for the rejected key."""
    typed: Callable[[str], None] | None = None
    """Set if the form opens on its own: what the user types before it has been in sight for a moment closes it, and is
    passed on.
    """


OTHER: Final = Way("", "by its URL", title="Other (OpenAI-compatible)…")
"""A server, or any model that litellm supports, that the user names."""


def ways(settings: Settings) -> Iterator[Way]:
    """Yield the ways in the order of the first-run screen: those that are ready first, then providers without a key."""
    from workbench.llm.discovery import sources_of_servers

    for name in settings.models:
        profile = settings.profile(name)
        yield Way(profile.model, profile.model, profile.api_base or "", name, title=name, is_ready=True)
    providers = list(_providers())
    yield from (way for way in providers if way.is_ready)
    for source in sources_of_servers():
        title, _, host = source.what.partition(" at ")
        provider = source.models[0].partition("/")[0]
        names = tuple(model.removeprefix(f"{provider}/") for model in source.models)
        what = f"{host} · {counted(len(names), 'model')}"
        yield Way(source.models[0], what, source.api_base, title=title, is_ready=True, names=names)
    yield from (way for way in providers if not way.is_ready)


def _providers() -> Iterator[Way]:
    """Yield one entry for each provider; its text says where its key was found, if it has one."""
    from workbench.llm.key_store import KeyStore, key_in_environment, key_name
    from workbench.llm.provider_models import PROVIDERS, default_model

    store = KeyStore(Locations.from_environment())
    for provider, about in PROVIDERS.items():
        model = f"{provider}/{default_model(provider) or _UNNAMED}"
        variable, stored = key_in_environment(model), store.find(key_name(model))
        is_signed_in = provider == SIGN_IN_PROVIDER and not needs_sign_in(model)
        if provider == SIGN_IN_PROVIDER:
            what = "signed in" if is_signed_in else "sign in with a code…"
        elif variable:
            what = f"{variable} found"
        elif stored is not None:
            what = f"key in {'the system keyring' if stored.storage == 'keyring' else 'a private file'}"
        else:
            what = "paste a key…"
        yield Way(model, what, title=about.title, is_ready=bool(variable or stored or is_signed_in))


def is_offered_first(way: Way) -> bool:
    """Return whether the list shows this way at once; other providers without a key are shown on request."""
    return way.is_ready or way.provider in _FIRST


def without_key_of(rejected: Way, ways: Iterable[Way]) -> list[Way]:
    """Return the ways; those that would use the rejected key, that of the same provider and URL, are not ready."""
    account = (rejected.provider, rejected.api_base)
    return [
        replace(way, what="this key was rejected", is_ready=False) if (way.provider, way.api_base) == account else way
        for way in ways
    ]


def way_of(name: str, settings: Settings, api_base: str = "") -> Way:
    """Return the `Way` of the model that a session uses, by its name in the settings, so that its API key can be
    replaced.

    `api_base` is the URL with which the session began; a saved model has its own.
    """
    from workbench.llm.provider_models import PROVIDERS

    profile, is_saved = settings.profile(name), name in settings.models
    provider = profile.model.partition("/")[0]
    base = (profile.api_base or "") if is_saved or _is_meant(name, settings) else ""
    listed = PROVIDERS.get(provider)
    title = name if is_saved or listed is None else listed.title
    return Way(profile.model, "", base or ("" if is_saved else api_base), name if is_saved else "", title=title)


def _is_meant(name: str, settings: Settings) -> bool:
    """Return whether the URL and the key that the settings have for their own model apply to this unsaved one too."""
    chosen = settings.model or ""
    return not chosen or chosen in settings.models or chosen.partition("/")[0] == name.partition("/")[0]


def save_key(way: Way, key: str, storage: Storage, settings: Settings) -> None:
    """Save an API key for a provider or server, replacing the one in the settings or the environment.

    Raises WorkbenchError.
    """
    from workbench.llm.key_store import KeyStore, key_in_environment, key_name

    api_base = way.api_base or None
    named = "" if way.profile or not _is_meant(way.model, settings) else _key_beside_the_model(settings)
    replaced = named or os.environ.get(key_in_environment(way.model, api_base), "")
    KeyStore(Locations.from_environment()).save(key_name(way.model, api_base), key, storage, replaced)


def _key_beside_the_model(settings: Settings) -> str:
    return settings.api_key or os.environ.get(settings.api_key_env or "", "")


def models_of(way: Way, key: str) -> ModelList:
    """Return the models that a provider or server lists for this API key or, if it is empty, for its own. Takes
    seconds.
    """
    from workbench.llm.key_store import KeyStore, key_in_environment, key_name
    from workbench.llm.provider_models import offered_models

    api_base = way.api_base or None
    if not key and way.is_ready:
        key = os.environ.get(key_in_environment(way.model, api_base), "")
        with suppress(WorkbenchError):  # a locked keyring: the list is then the one of the price table
            key = key or KeyStore(Locations.from_environment()).read(key_name(way.model, api_base), _PATIENCE) or ""
    return offered_models(way.provider, way.api_base, key)


def read_way(text: str) -> Way:
    """Parse a model and, after a space, the optional URL of its server, as the user writes them in the settings."""
    model, _, api_base = text.strip().partition(" ")
    return Way(model, "", api_base.strip())


def wrong_way(way: Way) -> str:
    """Return why a model cannot be called under its name; empty if it can."""
    if way.api_base and not re.match(r"https?://[^/\s]", way.api_base):
        return "The URL must start with http:// or https://, such as http://localhost:8000/v1"
    if way.api_base and not way.name:
        return "Name one of the server's models, as it calls it: it lists none itself"
    if not way.name or not way.provider or " " in way.model:
        return "Name the model as provider/model, such as openai/gpt-5"
    return ""


def profile_changes(way: Way, models: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[tuple[str, ...], Any]]:
    """Return the name of the saved model for a way, and the changes that make it the default.

    `models` are the saved models: one with the same model and server is used again; otherwise a new one is added.
    """
    name = way.profile or next((each for each, table in models.items() if _is_same(way, table)), "")
    if not name:
        name, changes = new_profile(way, models)
        return name, {("model",): name, **changes}
    changes, table = {("model",): name}, models.get(name, {})
    if way.has_new_key:
        changes |= {("models", name, source): None for source in _KEY_SOURCES if source in table}
    fields = {"model": way.model, "api_base": way.api_base}
    changes |= {
        ("models", name, field): value or None
        for field, value in fields.items()
        if table and (table.get(field) or "") != value
    }
    return name, changes


def session_changes(
    way: Way, models: Mapping[str, Mapping[str, Any]], instead_of: Way
) -> tuple[str, dict[tuple[str, ...], Any]]:
    """Return the name by which a session uses the model, and the changes to the settings that this needs.

    The default model is not changed. An unsaved model at the URL of `instead_of` needs no changes.
    """
    if not way.profile and way.api_base == instead_of.api_base and not (way.api_base and instead_of.profile):
        return way.model, {}
    name, changes = profile_changes(way, models)
    if name not in models and way.api_base:
        # The same server takes the same key, wherever the settings have it.
        table = models.get(instead_of.profile, {}) if way.api_base == instead_of.api_base else {}
        table = table or next((each for each in models.values() if each.get("api_base") == way.api_base), {})
        changes |= {("models", name, source): table[source] for source in _KEY_SOURCES if source in table}
    return name, {path: value for path, value in changes.items() if path != ("model",)}


def new_profile(way: Way, taken: Collection[str]) -> tuple[str, dict[tuple[str, ...], Any]]:
    """Return a name for a new saved model, which is not among the `taken` ones, and the changes that add it."""
    plain = re.sub(r"[^\w.:@+-]", "-", way.model.rpartition("/")[2])[:50] or "mine"
    name = next(each for each in (plain, *(f"{plain}-{number}" for number in range(2, 1000))) if each not in taken)
    changes: dict[tuple[str, ...], Any] = {("models", name, "model"): way.model}
    if way.api_base:
        changes["models", name, "api_base"] = way.api_base
    return name, changes


def _is_same(way: Way, table: Mapping[str, Any]) -> bool:
    return table.get("model") == way.model and (table.get("api_base") or "") == way.api_base
