"""`ohw models` lists the available models; `test` makes one real call, and `forget` deletes a saved key."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

from workbench.cli.common import print_error, print_line, settings_of
from workbench.config.locations import Locations
from workbench.config.settings import Profile, Settings
from workbench.durations import measured_duration
from workbench.engine.model_test import KEY_REJECTED
from workbench.errors import UsageError
from workbench.llm.discovery import ModelSource, sources_of_keys, sources_of_servers
from workbench.llm.errors import public_url
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.llm.key_store import KeyStore, key_in_environment, key_name
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.session.model_keys import SessionModels
from workbench.text import first_line, visible

_MODEL_LIMIT = 5
_LONGEST_KEY = 10_000
_ASK = "Answer with one word: ready"


def models(arguments: Namespace) -> int:
    """List the models, test one, or delete a saved key."""
    where, settings = settings_of(arguments)
    if arguments.action == "test":
        key = sys.stdin.readline(_LONGEST_KEY).strip() if arguments.key_stdin else ""
        print_line(_try(settings, arguments.name, lambda line: print_error(visible(line, lines=False)), key))
    elif arguments.action == "forget":
        print_line(_forget(KeyStore(where), arguments.name or ""))
    else:
        print_line(_page(where, settings))
    return 0


def _page(locations: Locations, settings: Settings) -> str:
    """Return a list of the saved models, the keys that are saved or set in the environment, and responding local
    servers.
    """
    store, no_models = KeyStore(locations), f"none; add tables [models.NAME] to {locations.settings_file}"
    parts = [
        ("Saved models", list(_profiles(settings, store)), no_models),
        ("Keys in the environment", [_line(source) for source in sources_of_keys()], "none"),
        ("Saved keys", [f"{each.name}: in {each.described}" for each in store.all()], "none"),
        ("Servers on this machine", list(_servers(sources_of_servers())), "none on the default ports"),
    ]
    lines = [f"Model: {settings.model or 'none; give --model, or set `model` in settings.toml'}", ""]
    for title, rows, nothing in parts:
        lines += [title, *(f"  {row}" for row in rows or [nothing]), ""]
    lines.append("`ohw models test [NAME]` makes one real call; `ohw models forget NAME` deletes a saved key.")
    return "\n".join(visible(line, lines=False) for line in lines)


def _forget(store: KeyStore, name: str) -> str:
    """Delete a saved key, and return a line that says so. Raises UsageError if no key has this name."""
    if store.forget(name):
        return f"The key of {visible(name, lines=False)} is deleted."
    names = ", ".join(each.name for each in store.all())
    raise UsageError(f"no saved key of that name; there are: {names}" if names else "there are no saved keys")


def _try(settings: Settings, name: str | None, print_line: Callable[[str], None], key: str = "") -> str:
    """Call the model `name`, or the current one if that is None, and return one line about the result.

    `print_line` is called with progress messages. A `key` replaces the configured API key. Raises a WorkbenchError that
    says what to do.
    """
    name = name or settings.model
    if not name:
        raise UsageError(NO_MODEL_MESSAGE)
    models = SessionModels(settings)
    if "api_base" in settings.from_flags:
        models.remember(name, settings.api_base)
    profile, model = models.profile(name), models.open_with_key(name, key)

    def on_delta(delta: Delta) -> None:
        if delta.kind == "status":
            print_line(delta.text)

    print_line(f"testing {_named(profile)} …")
    try:
        response = model.respond(ModelRequest([{"role": "user", "content": _ASK}]), on_delta, Cancel())
    except ModelError as error:
        if error.kind == "key":
            error.exit_code = KEY_REJECTED
        raise
    finally:
        model.close()
    if response.incomplete:
        raise ModelError(
            f"{profile.name} broke off its response after {measured_duration(response.latency)}; test it again"
        )
    return visible(f"{profile.name} {_outcome(response)}", lines=False)


def _profiles(settings: Settings, store: KeyStore) -> Iterator[str]:
    width = max((len(name) for name in settings.models), default=0)
    for name in settings.models:
        profile = settings.profile(name)
        mark = "●" if name == settings.model else " "
        others = f"  (else {', '.join(profile.fallback_models)})" if profile.fallback_models else ""
        yield f"{mark} {name.ljust(width)}  {_named(profile)}{key_state(profile, store)}{others}"


def _named(profile: Profile) -> str:
    return f"{profile.model} at {public_url(profile.api_base)}" if profile.api_base else profile.model


def key_state(profile: Profile, store: KeyStore) -> str:
    """Return where a model's API key comes from and whether that exists, never the key itself.

    A keyring is not opened. The text is empty if no key is configured or found.
    """
    if profile.api_key_file:
        is_there = Path(profile.api_key_file).expanduser().is_file()
        return f"  (key: {profile.api_key_file}{'' if is_there else ' is missing'})"
    if profile.api_key_keyring:
        return f"  (key: {profile.api_key_keyring} in the keyring)"
    if profile.api_key_env:
        return f"  (key: {profile.api_key_env} {'is set' if os.environ.get(profile.api_key_env) else 'is not set'})"
    variable = key_in_environment(profile.model, profile.api_base)
    stored = store.find(key_name(profile.model, profile.api_base))
    if stored is not None and (not variable or stored.replaces(os.environ[variable])):
        return f"  (key: saved in {stored.described})"
    return f"  (key: {variable} is set)" if variable else ""


def _servers(servers: list[ModelSource]) -> Iterator[str]:
    for source in servers:
        more = len(source.models) - _MODEL_LIMIT
        listed = ", ".join(source.models[:_MODEL_LIMIT]) + (f" and {more} more" if more > 0 else "")
        yield f"{_line(source)}   ({listed})"


def _line(source: ModelSource) -> str:
    return f"{source.what}: ohw {source.options}"


def _outcome(response: ModelResponse) -> str:
    usage, cost = response.usage, "price unknown" if response.cost is None else f"${response.cost:.4f}"
    tokens = f"{_count(usage.input)} in / {_count(usage.output)} out · {cost}"
    text = first_line(response.text.strip(), 60)
    result = f'OK ("{text}")' if text else f"empty response ({response.finish_reason})"
    return f"{result} in {measured_duration(response.latency)} · {tokens}"


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)
