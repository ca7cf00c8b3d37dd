"""What a person may set of a tool: the named parameters of what makes it, checked against their type hints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from workbench.errors import UsageError
from workbench.suggest import nearest
from workbench.tools.tool import ToolBase, ToolDefinition

Hints = dict[str, Any]


def checked_params(tool: object, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, made what their hints say; raises UsageError that begins with the parameter's name."""
    known, takes_any = settable(tool)
    made = {}
    for name, value in params.items():
        if name in known:
            made[name] = _checked(name, value, known[name])
        elif takes_any:
            made[name] = value
        else:
            raise UsageError(f"{name} is no parameter{_instead(name, known)}")
    return made


def settable(tool: object) -> tuple[Hints, bool]:
    """Names and types of what may be set, and whether any other name is taken too."""
    if isinstance(tool, ToolDefinition) or not callable(tool):
        return {}, False
    if not (isinstance(tool, type) and issubclass(tool, ToolBase)):
        return _named(tool, skip=1)
    known, passes_on = _named(tool.create, skip=1)
    if not (passes_on and issubclass(tool, ToolDefinition)):
        return known, passes_on
    more, takes_any = _named(tool.__init__, skip=1)
    return {**more, **known}, takes_any


def _named(function: Callable[..., Any], skip: int) -> tuple[Hints, bool]:
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # names that only a type checker knows
        hints = {}
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {each.name: hints.get(each.name, Any) for each in parameters if each.kind in by_name}, takes_any


def _checked(name: str, value: Any, hint: Any) -> Any:
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        said = error.errors(include_url=False, include_context=False)[0]["msg"]
        raise UsageError(f"{name} cannot be {value!r}: {said[:1].lower()}{said[1:]}") from error
    except PydanticUserError:  # a type that nobody can write into a settings file
        raise UsageError(f"{name} cannot be set here") from None


def _instead(name: str, known: Hints) -> str:
    near = nearest(name, known)
    if near:
        return f"; did you mean {near}?"
    return f"; it takes {', '.join(sorted(known))}" if known else "; the tool takes none"
