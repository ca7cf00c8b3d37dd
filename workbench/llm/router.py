"""Chooses what stands behind a model's name: the offline model or litellm; used by the engine and the commands."""

from __future__ import annotations

from workbench.llm.client import ProviderModel
from workbench.llm.model import Model, ModelError
from workbench.llm.scripted import PREFIX, ScriptedModel

NO_MODEL = (
    "no model is set: give --model PROVIDER/NAME (for example anthropic/claude-sonnet-4-5), set OHW_MODEL "
    "or `model` in settings.toml; `ohw demo` needs none"
)


def open_model(name: str | None, *, api_base: str | None = None, api_key: str | None = None) -> Model:
    """The model of that name; raises ModelError that says what to set."""
    name = (name or "").strip()
    if not name:
        raise ModelError(NO_MODEL)
    if is_scripted(name):
        return ScriptedModel(name)
    return ProviderModel(name, api_base=api_base, api_key=api_key)


def is_scripted(name: str | None) -> bool:
    """Whether the name stands for the offline model."""
    return bool(name and name.startswith(PREFIX))
