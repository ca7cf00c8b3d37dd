"""Chooses what stands behind a model's name: the offline model or litellm; used by the engine and the commands."""

from __future__ import annotations

from workbench.llm.client import ProviderModel
from workbench.llm.model import Model, ModelError
from workbench.llm.pricing import calls_no_tools
from workbench.llm.scripted import PREFIX, ScriptedModel
from workbench.llm.text_model import TextCallModel

NO_MODEL = (
    "no model is set: give --model PROVIDER/NAME (for example anthropic/claude-sonnet-4-5), set OHW_MODEL "
    "or `model` in settings.toml; `ohw demo` needs none"
)


def open_model(
    name: str | None, *, api_base: str | None = None, api_key: str | None = None, calls: str = "auto"
) -> Model:
    """The model of that name; raises ModelError that says what to set.

    `calls` says how tools are called: `native`, as `text`, or `auto`, as text only where litellm's table of models
    knows the model and no tool calling of it.
    """
    name = (name or "").strip()
    if not name:
        raise ModelError(NO_MODEL)
    if is_scripted(name):
        return ScriptedModel(name)
    model = ProviderModel(name, api_base=api_base, api_key=api_key)
    if calls == "native":
        return model
    return TextCallModel(model, lambda: calls == "text" or calls_no_tools(model.prices))


def is_scripted(name: str | None) -> bool:
    """Whether the name stands for the offline model."""
    return bool(name and name.startswith(PREFIX))
