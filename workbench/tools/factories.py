"""Calls the factories of tools, whose signatures other programs define, and lists the parameters they take.

A factory is a function, any other callable, or the `create` of a subclass of ToolBase. It receives the state of the
conversation as its first argument, or by keyword if its signature has the name `conv_state`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from workbench.errors import UsageError
from workbench.tools.context import ConversationState
from workbench.tools.coroutines import CoroutineRunner
from workbench.tools.tool import ToolBase, ToolDefinition
from workbench.tools.type_hints import hints_of

STATE = "conv_state"
"""The parameter that receives the state of the conversation."""
Hints: TypeAlias = dict[str, Any]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def call_factory(
    name: str, make: Callable[..., Any], conv_state: ConversationState, params: Mapping[str, Any]
) -> list[ToolDefinition]:
    """Return the tools that a factory creates from these parameters.

    Raises UsageError if its signature does not take them, or if it returns something other than tools; exceptions of
    the factory's own code are not caught.
    """
    if STATE in params:
        raise UsageError(f"The tool {name!r} takes {STATE!r} from its session, not from its parameters.")
    arguments, named = _arguments(make, conv_state, params)
    try:
        _signature(make).bind(*arguments, **named)
    except TypeError as error:
        raise _wrong_parameters(name, error) from error
    try:
        return _checked(name, _finished(make(*arguments, **named)))
    except TypeError as error:
        if _is_of_constructor(make, error):
            raise _wrong_parameters(name, error) from error
        raise


def _finished(result: Any) -> Any:
    """Return the result of a factory, waiting for that of an async one."""
    if not isinstance(result, Awaitable):
        return result
    coroutines = CoroutineRunner()
    try:
        return coroutines.run(result)
    finally:
        coroutines.close()


def _wrong_parameters(name: str, error: TypeError) -> UsageError:
    return UsageError(f"The tool {name!r} cannot be made with these parameters: {error}")


def _is_of_constructor(make: Callable[..., Any], error: TypeError) -> bool:
    """Return whether `make` is the `create` of a class whose constructor rejected the parameters passed on to it."""
    owner = getattr(make, "__self__", None)
    constructor = getattr(owner, "__init__", None) if isinstance(owner, type) else None
    return constructor is not None and str(error).startswith(f"{constructor.__qualname__}() ")


def _arguments(
    make: Callable[..., Any], conv_state: ConversationState, params: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the named arguments of the call."""
    parameters = list(_signature(make).parameters.values())
    state = _state_parameter(parameters, params)
    if state is not None and state.name != STATE:
        return [conv_state], dict(params)
    if state is not None and state.kind is state.POSITIONAL_ONLY:
        return [conv_state], dict(params)
    if state is not None or any(each.kind is each.VAR_KEYWORD for each in parameters):
        return [], {STATE: conv_state, **params}
    return [], dict(params)


def _state_parameter(parameters: Sequence[inspect.Parameter], params: Collection[str] = ()) -> inspect.Parameter | None:
    """Return the parameter for the state: that named `conv_state`, or else the first positional one; or None.

    The first one is not used if its name is in `params`, or if its default shows that it is something else.
    """
    named = next((each for each in parameters if each.name == STATE and each.kind != each.VAR_KEYWORD), None)
    if named is not None or not parameters:
        return named
    first = parameters[0]
    is_free = first.kind in _POSITIONAL and first.name not in params
    return first if is_free and (first.default is first.empty or first.default is None) else None


def _checked(name: str, result: Any) -> list[ToolDefinition]:
    """Return the result of a factory as a list, given one tool, or a sequence or iterator of tools.

    Raises UsageError for any other result.
    """
    if isinstance(result, ToolDefinition):
        return [result]
    if not isinstance(result, Sequence | Iterator) or isinstance(result, str | bytes):
        raise UsageError(f"The tool {name!r} cannot be made: its factory returned {_kind(result)} instead of tools.")
    tools = list(result)
    wrong = [each for each in tools if not isinstance(each, ToolDefinition)]
    if wrong:
        for tool in tools:
            if isinstance(tool, ToolDefinition):
                tool.close()
        raise UsageError(f"The tool {name!r} cannot be made: its factory returned {_kind(wrong[0])} among its tools.")
    return tools


def _kind(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def settable(tool: object) -> tuple[Hints, bool]:
    """Return the names and types of the parameters that may be set, and whether any other name is accepted too."""
    if isinstance(tool, ToolDefinition) or not callable(tool):
        return {}, False
    if not (isinstance(tool, type) and issubclass(tool, ToolBase)):
        return _named(tool, _signature(tool))
    hints, passes_on = _named(tool.create, _signature(tool.create))
    if not (passes_on and issubclass(tool, ToolDefinition)):
        return hints, passes_on
    more, takes_any = _named(tool.__init__, inspect.signature(tool), has_state=False)
    return {**more, **hints}, takes_any


def _named(function: object, signature: inspect.Signature, *, has_state: bool = True) -> tuple[Hints, bool]:
    parameters = list(signature.parameters.values())
    state = _state_parameter(parameters) if has_state else None
    parameters = [each for each in parameters if each is not state]
    hints = _hints(getattr(function, "func", function))  # of a functools.partial, those of its function
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return {each.name: hints.get(each.name, Any) for each in parameters if each.kind in _BY_NAME}, takes_any


def _hints(function: object) -> Hints:
    try:
        return hints_of(function)
    except TypeError:  # an object, which has hints on its method, or none
        call = inspect.getattr_static(type(function), "__call__", None)
        return _hints(call) if inspect.isfunction(call) else {}


def _signature(make: Callable[..., Any]) -> inspect.Signature:
    """Return the signature or, if Python cannot read it, one that accepts any arguments."""
    try:
        return inspect.signature(make)
    except ValueError:
        parameters = (
            inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("fields", inspect.Parameter.VAR_KEYWORD),
        )
        return inspect.Signature(parameters)
