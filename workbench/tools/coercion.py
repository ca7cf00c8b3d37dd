"""Validates the input and output of tools: arguments become an action, results an observation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from workbench.text import first_line, well_formed
from workbench.tools.arguments import ActionT, ArgumentError, action_from_arguments, one_line
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, ImageContent, Observation, TextContent

_PLAIN = (str, int, float, Mapping, list, tuple, TextContent, ImageContent)


class NotRun(Exception):
    """The tool was not run, because it was given something that is not a valid action."""


class WrongResult(Exception):
    """What an executor returned cannot be used as the observation of its tool."""


class ToolError(Exception):
    """Raised by a tool's own code to report a failure: its message is the result that the model gets."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class DerivedName(str):
    """A tool name derived from the name of its class instead of set by the author."""

    __slots__ = ()


def snake_case(class_name: str) -> str:
    """Return the tool name for a class name, as OpenHands derives it: without `Tool`, in snake case."""
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|[0-9]+", class_name.strip("_"))
    if len(words) > 1 and words[-1] == "Tool":
        words.pop()
    return "_".join(words).lower() or class_name


def checked_name(kind: type) -> str:
    """Return the name that a class sets, or the one derived from the class name. Raises TypeError if there is none."""
    name = getattr(kind, "name", "")
    if not isinstance(name, str) or not name:
        raise TypeError("A tool needs a name.")
    return str(name)


def one_of(kind: object, other: object) -> object:
    """Return the value of a parameter that has two names, or None. Raises TypeError if both are given."""
    if kind is not None and other is not None:
        raise TypeError("A tool has one type for its actions and one for its observations; each was given twice.")
    return other if kind is None else kind


def action_type_of(name: str, kind: object) -> type[Any]:
    """Return the class of a tool's actions, given the class itself or a JSON schema.

    Raises ValueError for an unusable schema, and TypeError for anything else.
    """
    checked: type[Any] = _type_of(name, kind, Action)
    return checked


def observation_type_of(name: str, kind: object) -> type[Any]:
    """Return the class of a tool's observations, given the class itself or a JSON schema; raises as for actions."""
    checked: type[Any] = _type_of(name, kind, Observation)
    return checked


def _type_of(name: str, kind: Any, base: Any) -> Any:
    if isinstance(kind, Mapping | bool):
        schema = kind if isinstance(kind, bool) else dict(kind)
        return base.from_mcp_schema(f"{name} {base.__name__}", schema)
    if isinstance(kind, type) and issubclass(kind, base):
        return kind
    rest = kind.__name__ if isinstance(kind, type) else f"an object of type {type(kind).__name__}"
    raise TypeError(f"{name}: {rest} is neither a subclass of {base.__name__} nor a JSON schema.")


def as_executor(executor: Any) -> Any:
    """Return an executor; a plain function, also an async one, becomes the executor that calls it."""
    is_function = callable(executor) and not isinstance(executor, type) and not hasattr(executor, "close")
    return FunctionExecutor(executor) if is_function else executor


class FunctionExecutor(ToolExecutor):
    """Runs actions with a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, action: Any, conversation: Any = None) -> Any:
        """Return the result of the function, which takes the action, and the conversation if it has a parameter."""
        return call_with(self._function, action, conversation)


def call_with(executor: Callable[..., Any], action: Action, conversation: object) -> Any:
    """Call an executor with the action, and with the conversation if its signature takes one."""
    kind = type(executor)
    if not issubclass(kind, ToolExecutor):
        form = _form_of(executor)
    elif (form := _FORMS.get(kind, "")) == "":
        # Reading a signature takes longer than many a tool call, and the executors of a class share one signature.
        form = _FORMS[kind] = _form_of(executor)
    if form == "by name":
        return executor(action, conversation=conversation)
    return executor(action, conversation) if form == "by position" else executor(action)


_Form: TypeAlias = Literal["", "alone", "by name", "by position"]
"""How an executor takes the conversation: "alone" if it takes only the action, "" while that is not known."""
_FORMS: Final[WeakKeyDictionary[type, _Form]] = WeakKeyDictionary()


def _form_of(executor: Callable[..., Any]) -> _Form:
    try:
        parameters = list(inspect.signature(executor).parameters.values())
    except (TypeError, ValueError):  # a signature that Python cannot read
        return "alone"
    named = next((each for each in parameters if each.name == "conversation"), None)
    if named is not None and named.kind in (named.POSITIONAL_OR_KEYWORD, named.KEYWORD_ONLY):
        return "by name"
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    is_needed = len(positional) == 2 and positional[1].default is inspect.Parameter.empty
    return "by position" if is_needed else "alone"


def observation_from(observation_type: type[Observation], result: object) -> Observation:
    """Return the observation for what an executor returned.

    A dictionary, or another pydantic model, is validated into the tool's type; one without content is sent to the model
    as JSON. A tool without its own observation type may return any plain data. A plain Observation, or a dictionary
    with `is_error` and `content`, can report the errors of any tool. Raises WrongResult for anything else, with the
    names of both types.
    """
    if isinstance(result, observation_type):
        return result
    if observation_type is Observation and isinstance(result, _PLAIN) and not _is_observation(result):
        return observed(result)
    if isinstance(result, Observation):
        if result.is_error and type(result) is Observation:
            return result
        rest = f": {result.text}" if result.text else ""
        raise WrongResult(f"it returned {_name(result)} instead of {observation_type.__name__}{rest}")
    if isinstance(result, BaseModel):
        return _validated(observation_type, result.model_dump(), _name(result))
    if isinstance(result, Mapping):
        return _validated(observation_type, dict(result), _name(result))
    raise WrongResult(f"it returned {_name(result)} instead of {observation_type.__name__}")


def _validated(observation_type: type[Observation], fields: dict[str, Any], kind: str) -> Observation:
    try:
        observation = observation_type.model_validate(fields)
    except ValidationError as error:
        if fields.get("is_error") is True and (failure := _failure(fields)) is not None:
            return failure
        reason = one_line(error, list(observation_type.model_fields), "field")
        raise WrongResult(f"the {kind} that it returned is no {observation_type.__name__}: {reason}") from error
    rest = {name: value for name, value in fields.items() if name not in Observation.model_fields}
    if observation.content or not rest or not _sends_content(observation_type):
        return observation
    text = to_json(rest, fallback=str).decode()
    return observation.model_copy(update={"content": (TextContent(text=text),)})


def _is_observation(result: object) -> bool:
    """Return whether plain data has the fields of an observation, instead of being its content."""
    return isinstance(result, Mapping) and not Observation.model_fields.keys().isdisjoint(result)


def _failure(fields: dict[str, Any]) -> Observation | None:
    """Return the error that a tool reports without the required fields of its type; None if its text is missing."""
    try:
        failure = Observation.model_validate({"content": fields.get("content", ()), "is_error": True})
    except ValidationError:
        return None
    return failure if failure.content else None


def observed(result: Any) -> Observation:
    """Return an observation that shows a value: texts and images as they are, everything else as JSON."""
    if isinstance(result, Observation):
        return result
    if isinstance(result, str):
        return Observation.from_text(result)
    if isinstance(result, TextContent | ImageContent):
        return Observation(content=(result,))
    if result is None:
        return Observation.from_text("Done.")
    try:
        return Observation.from_text(to_json(result, fallback=str).decode())
    except ValueError:  # it contains itself, bytes that are not text, or too much inside one another
        return Observation.from_text(well_formed(str(result)))


def _sends_content(observation_type: type[Observation]) -> bool:
    """Return whether the model gets the field `content`, not something that the class computes."""
    return observation_type.to_llm_content is Observation.to_llm_content


def _name(value: object) -> str:
    return type(value).__name__


def action_from(action_type: type[ActionT], arguments: dict[str, Any]) -> ActionT:
    """Return the validated action. Raises ArgumentError for whatever is wrong with the arguments."""
    try:
        return action_from_arguments(action_type, arguments)
    except ArgumentError:
        raise
    except Exception as error:  # the tool's own validators may raise anything
        raise ArgumentError(f"the arguments could not be checked ({error_line(error)}).") from error


def error_line(error: BaseException) -> str:
    """Return an exception from a tool's own code as one line."""
    text = first_line(well_formed(str(error)), 300)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def checked_action(name: str, action_type: type[ActionT], action: object) -> ActionT:
    """Return an action that is ready to run, validated if arguments are given. Raises NotRun."""
    if isinstance(action, action_type):
        return action
    if not isinstance(action, Mapping):
        expected = action_type.__name__
        raise NotRun(f"{name} takes {expected} or a dictionary of arguments, not {_name(action)}.")
    try:
        return action_from(action_type, dict(action))
    except ArgumentError as error:
        raise NotRun(str(error)) from error
