"""litellm's names of providers, read from its files without importing litellm, and a check of the names of models.

The check refuses only what litellm cannot assign to a provider. A model that is new at its provider is in no table, so
the name behind the provider is never refused.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.discovery import usual_openai_base
from workbench.llm.errors import Fault, model_error
from workbench.llm.price_table import entries, entry_of
from workbench.llm.provider_models import PROVIDERS
from workbench.suggest import nearest

_CLASS: Final = lazy_pattern(r"^class LlmProviders\(.*?\):\n(.*?)^(?=\S)", re.MULTILINE | re.DOTALL)
_MEMBER: Final = lazy_pattern(r"""^    \w+ = ["']([^"']+)["']""", re.MULTILINE)
_INFERRED: Final = lazy_pattern(
    r"claude-|(?:[a-z-]+\.)?anthropic\.claude-|gpt-image|amazon_nova|.*ft:gpt-|ft:(?:babbage|davinci)-|.*:[0-9a-f]{64}$",
    re.IGNORECASE,
)
"""The names that litellm assigns to a provider although its table does not have them."""
_WITHOUT_PREFIX: Final = (
    "openai",
    "text-completion-openai",
    "anthropic",
    "cohere",
    "vertex_ai",
    "bedrock",
    "ai21",
    "nlp_cloud",
)
"""How the providers in litellm's table start whose models litellm assigns to them by the name alone."""
_FINE_TUNED: Final = "ft:"
_CHAT: Final = ("chat", "responses")

_ALIKE: Final = 0.7
"""The least similarity of a provider's name, from 0 to 1; these names are short, so at 0.6 `nope` would be `openai`."""


@cache
def provider_names() -> frozenset[str]:
    """Return litellm's names of all providers; empty if its files cannot be read or have another format."""
    spec = importlib.util.find_spec("litellm")
    for directory in (spec.submodule_search_locations or ()) if spec is not None else ():
        try:
            source = (Path(directory) / "types" / "utils.py").read_text(encoding="utf-8")
            more = json.loads((Path(directory) / "llms" / "openai_like" / "providers.json").read_bytes())
        except (OSError, ValueError):
            continue
        if members := _CLASS.search(source):
            return frozenset((*_MEMBER.findall(members[1]), *more))
    return frozenset()


def check_model_name(name: str, api_base: str | None = None, saved: Collection[str] = ()) -> None:
    """Raise ModelError, with the nearest name, if no provider is known for a model; `saved` are names of saved models.

    A model at a URL is never refused, because the server decides which models there are.
    """
    if api_base or _is_assigned(name) or usual_openai_base() or os.environ.get("USE_LITELLM_PROXY"):
        return
    if provider_names():
        raise model_error(Fault("provider", text=nearest_model(name, saved)), name, None)


def _is_assigned(name: str) -> bool:
    """Return whether litellm assigns a model of this name to a provider."""
    entry = entry_of(name)
    if entry is not None and _needs_no_prefix(name, entry):
        return True
    provider, _, rest = name.partition("/")
    return bool(_INFERRED.match(name) or (rest and provider in provider_names()))


def _needs_no_prefix(name: str, entry: Mapping[str, Any]) -> bool:
    return str(entry.get("litellm_provider")).startswith(_WITHOUT_PREFIX) and not name.startswith(_FINE_TUNED)


def nearest_model(name: str, saved: Collection[str] = ()) -> str:
    """Return the saved model, or the name as `provider/model`, that is nearest to a misspelled one; empty if none is
    close.
    """
    provider, _, rest = name.partition("/")
    meant = (nearest(provider, PROVIDERS, _ALIKE) or nearest(provider, provider_names(), _ALIKE)) if rest else ""
    if near_saved := nearest(name, saved):
        return near_saved
    if meant:
        return f"{meant}/{rest}"
    offered = _names_to_set()
    return offered.get(nearest(rest or name, offered), "")


def _names_to_set() -> Mapping[str, str]:
    """Return a name that can be set for each chat model of the table, by the last part of its name.

    If several providers have a model, the name is that of the first one in the list of the first run.
    """
    ranks = {provider: rank for rank, provider in enumerate(PROVIDERS)}
    names: dict[str, tuple[int, int, str]] = {}
    for name, entry in entries():
        provider = str(entry.get("litellm_provider"))
        if entry.get("mode") not in _CHAT or not (provider in ranks or _needs_no_prefix(name, entry)):
            continue
        whole = f"{provider}/{name.removeprefix(f'{provider}/')}" if provider in ranks else name
        candidate = (ranks.get(provider, len(ranks)), len(whole), whole)
        last = whole.rpartition("/")[2]
        names[last] = min(candidate, names.get(last, candidate))
    return {last: whole for last, (_, _, whole) in names.items()}
