"""The tool `create_chat_completion`: an answer as text or as data that is validated against a schema."""

from __future__ import annotations

import json
from typing import Any

from workbench.errors import UsageError
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.schema_repair import repaired
from workbench.tools.tool import DeclaredTool, ToolAnnotations

_DESCRIPTION = """Give a structured answer: put all of it into `response`, in the shape that the parameter describes.
The shape and its required fields are checked; an answer that does not fit comes back with what is wrong, and nothing
of it counts. The call does not end the run."""
_SHORT = "Give a structured answer in `response`, in the shape its schema describes."


class CreateChatCompletionAction(Action):
    """An answer; the subclass created for a response type has the field `response`."""


class CreateChatCompletionObservation(Observation):
    """The validated answer."""

    response: Any = None


def written(response: Any) -> str:
    """Return a string unchanged, other data as JSON."""
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False, indent=2)


def action_type(response_type: str | dict[str, Any]) -> type[CreateChatCompletionAction]:
    """Return the action type whose `response` has the given type: "string" or a JSON schema. Raises UsageError."""
    shape = {"type": "string", "description": "The answer."} if response_type == "string" else response_type
    if not isinstance(shape, dict):
        raise UsageError(f'The type of a structured answer is "string" or a JSON schema, not {response_type!r}.')
    if notices := repaired(shape).notices:
        raise UsageError(f"The JSON schema of the structured answer cannot be used: {'; '.join(notices)}")
    whole = {"type": "object", "properties": {"response": _moved(shape)}, "required": ["response"]}
    try:
        return CreateChatCompletionAction.from_mcp_schema("create_chat_completion", whole)
    except ValueError as error:
        raise UsageError(f"The JSON schema of the structured answer cannot be used: {error}") from error


def _moved(part: Any) -> Any:
    """Return the schema with its references adjusted to one more level of nesting."""
    if isinstance(part, list):
        return [_moved(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {name: _pointed(name, value) for name, value in part.items()}


def _pointed(name: str, value: Any) -> Any:
    if name == "$ref" and isinstance(value, str) and value.startswith("#"):
        return f"#/properties/response{value[1:].rstrip('/')}"
    return _moved(value)


class CreateChatCompletionTool(DeclaredTool[CreateChatCompletionAction, CreateChatCompletionObservation]):
    """A structured answer; `response_type` is "string" or a JSON schema."""

    name = "create_chat_completion"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = CreateChatCompletionAction
    observation_type = CreateChatCompletionObservation
    annotations = ToolAnnotations.reading("Structured answer")

    def __init__(self, response_type: str | dict[str, Any] = "string") -> None:
        self.action_type = action_type(response_type)
        super().__init__(CreateChatCompletionExecutor())


class CreateChatCompletionExecutor(ToolExecutor[CreateChatCompletionAction, CreateChatCompletionObservation]):
    """Returns the answer, which was validated when the action was created."""

    def __call__(self, action: CreateChatCompletionAction) -> CreateChatCompletionObservation:
        """Return the answer, as text and as data."""
        response = action.model_dump(mode="json", by_alias=True, exclude_unset=True)["response"]
        return CreateChatCompletionObservation.from_text(written(response), response=response)
