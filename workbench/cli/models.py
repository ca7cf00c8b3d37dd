"""`ohw models`: which models there are to use, and `ohw models test`: one real call of one."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

from workbench.cli.common import print_error, print_line, settings_of
from workbench.config.locations import Locations
from workbench.config.settings import Profile, Settings
from workbench.errors import UsageError
from workbench.llm.discovery import ModelSource, found_keys, found_servers
from workbench.llm.errors import shown_address
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.session.turn.models import SessionModels
from workbench.text import first_line, visible

_MOST_SHOWN = 5
_ASK = "Answer with one word: ready"


def models(arguments: Namespace) -> int:
    """The models there are to use, or one real call of one."""
    where, settings = settings_of(arguments)
    if arguments.action == "test":
        print_line(_try(settings, arguments.name, lambda line: print_error(visible(line, lines=False))))
    else:
        print_line(_page(where, settings))
    return 0


def _page(locations: Locations, settings: Settings) -> str:
    """Profiles, keys that are set, and servers that answer; no key is in it."""
    parts = [
        ("Profiles", list(_profiles(settings)), f"none; tables [models.NAME] in {locations.settings_file} make some"),
        ("Keys in the environment", [_line(found) for found in found_keys()], "none of a provider's usual variables"),
        ("Servers on this machine", list(_servers(found_servers())), "none answers on the usual ports"),
    ]
    lines = [f"Model: {settings.model or 'none is set; give --model, or `model` in settings.toml'}", ""]
    for title, rows, nothing in parts:
        lines += [title, *(f"  {row}" for row in rows or [nothing]), ""]
    lines.append("`ohw models test [NAME]` makes one real call.")
    return "\n".join(visible(line, lines=False) for line in lines)


def _try(settings: Settings, name: str | None, print_line: Callable[[str], None]) -> str:
    """One call of that model, or of the one set: what came of it. Raises WorkbenchError, saying what to do."""
    name = name or settings.model
    if not name:
        raise UsageError(NO_MODEL_MESSAGE)
    models = SessionModels(settings)
    profile, model = models.profile(name), models.open(name)

    def told(delta: Delta) -> None:
        if delta.kind == "status":
            print_line(delta.text)

    print_line(f"asking {_named(profile)} …")
    try:
        response = model.respond(ModelRequest([{"role": "user", "content": _ASK}]), told, Cancel())
    finally:
        model.close()
    if response.incomplete:
        raise ModelError(f"{profile.name} began to answer and broke off after {response.latency:.1f} s; test it again")
    return visible(f"{profile.name} {_outcome(response)}", lines=False)


def _profiles(settings: Settings) -> Iterator[str]:
    width = max((len(name) for name in settings.models), default=0)
    for name in settings.models:
        profile = settings.profile(name)
        mark = "●" if name == settings.model else " "
        yield f"{mark} {name.ljust(width)}  {_named(profile)}{_key_state(profile)}"


def _named(profile: Profile) -> str:
    return f"{profile.model} at {shown_address(profile.api_base)}" if profile.api_base else profile.model


def _key_state(profile: Profile) -> str:
    """Whether the key is where the profile says, never what it is."""
    if profile.api_key_file:
        there = "is there" if Path(profile.api_key_file).expanduser().is_file() else "does not exist"
        return f"  (key: {profile.api_key_file} {there})"
    if profile.api_key_keyring:
        return f"  (key: {profile.api_key_keyring} in the keyring)"
    if profile.api_key_env:
        return f"  (key: {profile.api_key_env} {'is set' if os.environ.get(profile.api_key_env) else 'is not set'})"
    return ""


def _servers(servers: list[ModelSource]) -> Iterator[str]:
    for found in servers:
        more = len(found.models) - _MOST_SHOWN
        listed = ", ".join(found.models[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
        yield f"{_line(found)}   ({listed})"


def _line(found: ModelSource) -> str:
    return f"{found.what}: ohw {found.options}"


def _outcome(response: ModelResponse) -> str:
    usage, cost = response.usage, "?" if response.cost is None else f"${response.cost:.4f}"
    tokens = f"{_count(usage.input)} tokens in, {_count(usage.output)} out, cost {cost}"
    said = first_line(response.text.strip(), 60)
    words = f'works: it said "{said}"' if said else f"answers, but without a word ({response.finish_reason})"
    return f"{words} after {response.latency:.1f} s; {tokens}"


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)
