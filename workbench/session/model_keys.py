"""The models that a session may use, and where their keys come from: environment, file, keyring, or saved keys."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from workbench.config.locations import Locations
from workbench.config.settings import Profile, Settings, written_settings
from workbench.errors import WorkbenchError
from workbench.llm.discovery import other_host, provider_of, takes_usual_key
from workbench.llm.errors import key_variable
from workbench.llm.factory import check_provider, open_profile
from workbench.llm.fallback import FallbackModel, Rests
from workbench.llm.key_store import KeyStore, key_in_environment, key_name
from workbench.llm.model import Model, ModelError
from workbench.processes.spawn import find_program, run
from workbench.secrets.masker import MASKER
from workbench.secrets.secret_names import PASSED_ON
from workbench.secrets.system_keyring import PATIENCE, KeyringLocked, KeyringUnusable, read_secret

_LONGEST_KEY = 10_000


def _no_key(name: str, why: str) -> ModelError:
    return ModelError(f"no key for {name}: {why}", kind="key")


def key_in_file(path: str, name: str) -> str:
    """Return the first line of a key file. Raises ModelError."""
    where = f"models.{name}.api_key_file in settings.toml"
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            key = file.readline(_LONGEST_KEY).strip()
    except (OSError, ValueError, RuntimeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or "not a text file"
        raise _no_key(name, f"cannot read {path} ({where}): {why}") from None
    if not key:
        raise _no_key(name, f"the first line of {path} is empty ({where})")
    return key


def key_in_keyring(entry: str, name: str) -> str:
    """Return the key that the keyring has for `entry`, a SERVICE/NAME. Raises ModelError; its message never has the
    key.
    """
    service, _, user = entry.partition("/")
    try:
        key = read_secret(service, user)
    except KeyringUnusable:
        key = _from_secret_tool(service, user, name)
    except KeyringLocked as error:
        raise _no_key(name, f"{error}; or name another key") from None
    if not key or not key.strip():
        why = f"the keyring has none for {service}/{user} (models.{name}.api_key_keyring in settings.toml)"
        raise _no_key(name, why)
    return key.strip()


def _from_secret_tool(service: str, user: str, name: str) -> str:
    program = find_program("secret-tool")
    if program is None:
        why = "there is no keyring here; start one, install secret-tool, or use api_key_env or api_key_file in"
        raise _no_key(name, f"{why} models.{name} of settings.toml")
    command = [program, "lookup", "service", service, "username", user]
    try:
        done = run(command, input=b"", capture_output=True, timeout=PATIENCE)
    except OSError:
        raise _no_key(name, "secret-tool did not answer; unlock the keyring and try again") from None
    return str(done.stdout, errors="replace")


class SessionModels:
    """The models that a session may use.

    Environment variables that contain keys according to the settings are removed, so that no child process inherits
    them.
    """

    def __init__(self, settings: Settings, env: MutableMapping[str, str] = os.environ) -> None:
        self.settings = settings
        PASSED_ON.set(settings.pass_env)
        self._api_bases: dict[str, str | None] = {}
        self._rests = Rests()
        self._env = env
        self._locations = Locations.from_environment()
        self._store = KeyStore(self._locations)
        self._keys: dict[str, str] = {}
        env.pop("OHW_API_KEY", None)
        MASKER.add("OHW_API_KEY", settings.api_key)
        MASKER.add_all(env)
        self._hide_keys()

    def _hide_keys(self) -> None:
        """Mask the keys of the saved models, and remove their variables from the environment."""
        settings, env = self.settings, self._env
        self._store.mask_files()
        variables = {settings.api_key_env, *(table.get("api_key_env") for table in settings.models.values())}
        self._keys |= {name: key for name in variables if name and (key := env.pop(name, ""))}
        for name, key in self._keys.items():
            MASKER.add(name, key)
        for name, table in settings.models.items():
            if table.get("api_key_file"):
                with suppress(ModelError):  # reported when the model is used
                    MASKER.add(f"key of {name}", key_in_file(table["api_key_file"], name))

    def reload(self) -> None:
        """Read the saved models again, after the user has changed them while the session was open."""
        written, _ = written_settings(self._locations)
        models = {**self.settings.models, **written.get("models", {})}
        self.settings = replace(self.settings, models=models)
        self._hide_keys()

    def open(self, name: str | None) -> Model:
        """Open the model `name` together with its fallback models, which open when they are needed. The caller closes
        it.
        """
        first = self.open_alone(name)
        others = self._fallbacks(name or "")
        if not others:
            return first
        return FallbackModel(
            (name or "", first), {each: partial(self.open_alone, each) for each in others}, self._rests
        )

    def open_chosen(self, name: str) -> Model:
        """Open a model that is being set. Raises ModelError if no provider is known for it.

        `open` leaves that to the first call, so that a session with such a model can be opened, and given another one.
        """
        self.check_name(name)
        return self.open(name)

    def check_name(self, name: str) -> None:
        """Raise ModelError if no provider is known for the model `name`."""
        check_provider(self.profile(name), self.settings.models)

    def problems(self, name: str) -> Iterator[str]:
        """Yield why the model `name`, or one of its fallback models, cannot be used: no provider is known for it."""
        for each in (name, *self._fallbacks(name)):
            try:
                self.check_name(each)
            except ModelError as error:
                yield str(error)

    def _fallbacks(self, name: str) -> list[str]:
        """Return the names of the models to try after this one, in order; each is followed by its own fallback
        models.
        """
        names, waiting = [name], [*reversed(self.settings.profile(name).fallback_models)]
        while waiting:
            each = waiting.pop()
            if each not in names:
                names.append(each)
                waiting += reversed(self.settings.profile(each).fallback_models)
        return names[1:]

    def open_alone(self, name: str | None) -> Model:
        """Open the model `name` without its fallback models; the caller closes it."""
        return self.open_with_key(name, "")

    def open_with_key(self, name: str | None, key: str) -> Model:
        """Open the model `name` with this key or, if it is empty, with the model's own key. Raises ModelError."""
        profile = self.profile(name or "")
        key = key or self._key(profile) or ""
        MASKER.add(f"key of {profile.name}", key)
        return open_profile(profile, key or None)

    def remember(self, name: str, api_base: str | None) -> None:
        """Use this URL for the model from now on, because the session used it before or a flag sets it."""
        self._api_bases[name] = api_base

    def host(self, name: str) -> str:
        """Return the host at which the model is called; empty if it is the provider's own."""
        profile = self.profile(name)
        return other_host(profile.model, profile.api_base)

    def profile(self, name: str) -> Profile:
        """Return everything about a model except its key.

        The URL in the settings applies only to models of the same provider.
        """
        profile = self.settings.profile(name)
        if name in self._api_bases:
            return replace(profile, api_base=self._api_bases[name])
        return profile if self.is_named(name) or self._is_meant(name) else replace(profile, api_base=None)

    def is_named(self, name: str) -> bool:
        """Return whether the settings have a saved model with this name."""
        return name in self.settings.models

    @property
    def have_windows(self) -> bool:
        """Whether a saved model sets its own context window.

        Responses then report that window, and the setting does not override it.
        """
        return any("context_window" in table for table in self.settings.models.values())

    def _is_meant(self, name: str) -> bool:
        """Return whether the URL and key that the settings give for their own model apply to this model too."""
        chosen = self.settings.model
        if not chosen or self.is_named(chosen) or name in self._api_bases:
            return True
        return chosen.partition("/")[0] == name.partition("/")[0]

    def _key(self, profile: Profile) -> str | None:
        if profile.api_key_file:
            return key_in_file(profile.api_key_file, profile.name)
        if profile.api_key_keyring:
            return key_in_keyring(profile.api_key_keyring, profile.name)
        if profile.api_key_env:
            if profile.api_key_env not in self._keys:
                where = f"models.{profile.name}.api_key_env in settings.toml"
                raise _no_key(profile.name, f"set the variable {profile.api_key_env} ({where})")
            return self._keys[profile.api_key_env]
        if not self.is_named(profile.name) and self._is_meant(profile.name):
            key = self.settings.api_key or self._keys.get(self.settings.api_key_env or "")
        else:
            key = None
        if not key and not (profile.api_base and not takes_usual_key(profile.api_base, provider_of(profile.model))):
            key = self._keys.get(key_variable(profile.model))
        return self._saved_key(profile, key) or key

    def _saved_key(self, profile: Profile, key: str | None) -> str | None:
        """Return the key that the user saved for the model's provider or server; None if there is none or another goes
        first.

        `key` is the one that the settings and the environment give for the model, if any.
        """
        stored = self._store.find(key_name(profile.model, profile.api_base))
        in_env = key or self._env.get(key_in_environment(profile.model, profile.api_base, self._env), "")
        if stored is None or (in_env and not stored.replaces(in_env)):
            return None
        try:
            return self._store.read(stored.name)
        except WorkbenchError as error:
            raise _no_key(profile.name, str(error)) from None
