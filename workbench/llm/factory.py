"""Opens the model with a given name: a provider's model, a scripted one, or one that fails because no model is set."""

from __future__ import annotations

from collections.abc import Callable, Collection

from workbench.config.settings import NO_MODEL, Profile
from workbench.llm.client import ProviderModel
from workbench.llm.model import Cancel, Delta, Model, ModelError, ModelRequest, ModelResponse
from workbench.llm.pricing import calls_no_tools
from workbench.llm.provider_names import check_model_name
from workbench.llm.route import tuning_of
from workbench.llm.scripted.model import PREFIX, ScriptedModel
from workbench.llm.text_tools.model import TextCallModel


class UnsetModel:
    """The model of a session for which no model is set: every request fails and tells the user what to do."""

    name = NO_MODEL

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Raise ModelError with instructions for the user."""
        raise ModelError("this session has no model yet: /model PROVIDER/NAME gives it one")

    def close(self) -> None:
        """Do nothing: there are no connections."""


NO_MODEL_MESSAGE = (
    "no model is set: give --model PROVIDER/NAME (for example anthropic/claude-sonnet-4-5), set OHW_MODEL "
    "or `model` in settings.toml; `ohw demo` needs none"
)


def open_model(
    name: str | None, *, api_base: str | None = None, api_key: str | None = None, calls: str = "auto"
) -> Model:
    """Open a model by name, with the default settings; `calls` is explained at `open_profile`.

    Raises a ModelError that says what to set if there is no name.
    """
    return open_profile(Profile(name or "", name or "", api_base, calls=calls), api_key)


def open_profile(profile: Profile, api_key: str | None = None) -> Model:
    """Open a saved model. Raises a ModelError that says what to set if it names no model.

    `profile.calls` says how the model calls tools: through the API (`native`), in its text (`text`), or `auto`: in its
    text only if litellm's price table lists the model without tool calling.
    """
    name = profile.model.strip()
    if not name:
        raise ModelError(NO_MODEL_MESSAGE)
    if name == NO_MODEL:
        return UnsetModel()
    if is_scripted(name):
        return ScriptedModel(name)
    model = ProviderModel(name, api_base=profile.api_base, api_key=api_key, tuning=tuning_of(profile))
    if profile.calls == "native":
        return model
    return TextCallModel(model, lambda: profile.calls == "text" or calls_no_tools(model.prices))


def check_provider(profile: Profile, saved: Collection[str] = ()) -> None:
    """Raise ModelError if no provider is known for a model that is set; `saved` are the names of saved models."""
    name = profile.model.strip()
    if name and name != NO_MODEL and not is_scripted(name):
        check_model_name(name, profile.api_base, saved)


def is_scripted(name: str | None) -> bool:
    """Return whether the name belongs to a scripted model."""
    return bool(name and name.startswith(PREFIX))
