"""litellm's names of providers, read from its files without importing litellm, and a check of the names of models.

The check refuses only what litellm cannot assign to a provider. A model that is new at its provider is in no table, so
the name behind the provider is never refused.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.discovery import usual_openai_base
from workbench.llm.errors import Fault, model_error
from workbench.llm.price_table import entry_of, names
from workbench.llm.provider_models import PROVIDERS
from workbench.suggest import nearest

_CLASS: Final = lazy_pattern(r"^class LlmProviders\(.*?\):\n(.*?)^(?=\S)", re.MULTILINE | re.DOTALL)
_MEMBER: Final = lazy_pattern(r"""^    \w+ = ["']([^"']+)["']""", re.MULTILINE)
_INFERRED: Final = lazy_pattern(
    r"claude-|(?:[a-z-]+\.)?anthropic\.claude-|gpt-image|amazon_nova|.*ft:gpt-|.*:[0-9a-f]{64}$", re.IGNORECASE
)
"""The names that litellm assigns to a provider although its table does not have them."""

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
    if api_base or usual_openai_base() or os.environ.get("USE_LITELLM_PROXY") or not provider_names():
        return
    provider, _, rest = name.partition("/")
    if (rest and provider in provider_names()) or entry_of(name) is not None or _INFERRED.match(name):
        return
    raise model_error(Fault("provider", text=nearest_model(name, saved)), name, None)


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
    listed = {each.rpartition("/")[2]: each for each in names() if each.partition("/")[0] in PROVIDERS}
    bare = {each: each for each in names() if "/" not in each}
    offered = {**bare, **listed}
    return offered.get(nearest(rest or name, offered), "")
