"""Turns functions with type hints into tools: the hints become the schema, the docstring the description."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from pydantic import Field, create_model
from pydantic.errors import PydanticUserError

from workbench.lazy_pattern import lazy_pattern
from workbench.text import first_line
from workbench.tools.coercion import observed
from workbench.tools.executor import ToolExecutor
from workbench.tools.pydantic_schema import check_sendable
from workbench.tools.schema import Action, Observation, attribute_name
from workbench.tools.tool import ToolAnnotations, ToolDefinition
from workbench.tools.type_hints import hints_of

logger = logging.getLogger(__name__)
_SECTION = lazy_pattern(r"^\s*(?:Args|Arguments|Parameters|Returns|Return|Raises|Yields|Examples?)\s*:?\s*$")
_ARGUMENTS = lazy_pattern(r"^\s*(?:Args|Arguments|Parameters)\s*:?\s*$")
_PARAMETER = lazy_pattern(r"^\s*(?::param\s+)?\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(\S.*)$")


def tool(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorate a function to turn it into a tool; the options, if any, are those of `tool_from_function`."""
    if function is not None:
        return tool_from_function(function, **options)
    return lambda decorated: tool_from_function(decorated, **options)


def tool_from_function(
    function: Callable[..., Any],
    *,
    name: str = "",
    description: str = "",
    read_only: bool = False,
    destructive: bool = True,
    open_world: bool = True,
) -> ToolDefinition:
    """Return a tool that calls the function, which may be `async`, with the arguments of the model.

    Name and description are those of the function, unless they are given; descriptions of parameters come from the
    `Args` section of its docstring, or from `Annotated` hints. Unless it is declared `read_only`, or at least not
    `destructive`, its calls are rated HIGH, so they need an approval. Raises ValueError for a function without a name,
    or with `*args`, `**kwargs` or positional-only parameters. A parameter for which no model can send a value, such as
    a client or a callback, keeps its default; if it has none, ValueError is raised too.
    """
    own_name = name or getattr(getattr(function, "func", function), "__name__", "")
    if not own_name.isidentifier():
        raise ValueError(f"{function!r} has no name that a tool can have; give it one with name=…")
    text, parameters = _documented(inspect.getdoc(function) if not _is_partial(function) else "")
    action_type, names = action_type_from(own_name, function, parameters)
    hints = ToolAnnotations(
        readOnlyHint=read_only,
        destructiveHint=destructive and not read_only,
        idempotentHint=read_only,
        openWorldHint=open_world,
    )
    return ToolDefinition(
        name=own_name,
        description=description or text or f"Call the function {own_name}.",
        action_type=action_type,
        annotations=hints,
        executor=_Calling(function, names),
    )


def _is_partial(function: object) -> bool:
    return hasattr(function, "func")


def _documented(doc: str | None) -> tuple[str, dict[str, str]]:
    """Return the description in a docstring, and those of its parameters."""
    text: list[str] = []
    parameters: dict[str, str] = {}
    in_text, in_arguments, latest = True, False, ""
    for line in (doc or "").splitlines():
        match = _PARAMETER.match(line)
        if _SECTION.match(line):
            in_text, in_arguments, latest = False, bool(_ARGUMENTS.match(line)), ""
        elif match and (in_arguments or line.lstrip().startswith(":param")):
            in_text, latest = False, match[1]
            parameters[latest] = match[2].strip()
        elif in_text:
            text.append(line)
        elif latest and line.strip() and in_arguments:
            parameters[latest] += f" {line.strip()}"
    return "\n".join(text).strip(), parameters


def action_type_from(
    name: str, function: Callable[..., Any], descriptions: Mapping[str, str]
) -> tuple[type[Action], dict[str, str]]:
    """Return the class of the actions, and the name of its field for each parameter of the function.

    Parameters for which no model can send a value are omitted. Raises ValueError if one of them has no default.
    """
    try:
        hints = hints_of(getattr(function, "func", function))
    except TypeError:  # an object that is called
        hints = {}
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"{name}: a tool has named parameters, which excludes {parameter}")
        attribute = attribute_name(parameter.name, Action, fields)
        names[parameter.name] = attribute
        options: dict[str, Any] = {} if attribute == parameter.name else {"alias": parameter.name}
        if parameter.name in descriptions:
            options["description"] = descriptions[parameter.name]
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[attribute] = (hints.get(parameter.name, Any), Field(default, **options))
    words = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    try:
        model = _model(f"{words}Action", fields)
    except PydanticUserError:
        _leave_out_unusable(name, fields)
        names = {key: attribute for key, attribute in names.items() if attribute in fields}
        model = _model(f"{words}Action", fields)
    return model, names


def _model(name: str, fields: dict[str, Any]) -> type[Action]:
    model: type[Action] = create_model(name, __base__=Action, **fields)
    check_sendable(model)
    return model


def _leave_out_unusable(name: str, fields: dict[str, Any]) -> None:
    """Remove the parameters for which no model can send a value. Raises ValueError if one of them has no default."""
    for attribute, field in list(fields.items()):
        try:
            _model("Checked", {attribute: field})
        except PydanticUserError as error:
            parameter = field[1].alias or attribute
            if field[1].is_required():
                reason = first_line(str(error), 200)
                raise ValueError(f"{name}: no model can send a value for `{parameter}`: {reason}") from error
            logger.warning("%s: `%s` is omitted, because no model can send a value for it", name, parameter)
            del fields[attribute]


class _Calling(ToolExecutor[Action, Observation]):
    """Calls a function with the fields of an action."""

    def __init__(self, function: Callable[..., Any], names: Mapping[str, str]) -> None:
        self._function = function
        self._names = names

    def __call__(self, action: Action) -> Any:
        """Return the result as an observation; an awaitable for it if the function is async."""
        fields = {name: getattr(action, attribute) for name, attribute in self._names.items()}
        result = self._function(**fields)
        is_later = isinstance(result, Awaitable | AsyncIterator)
        return self._later(result) if is_later else observed(result)

    async def _later(self, result: Awaitable[Any] | AsyncIterator[Any]) -> Observation:
        if isinstance(result, AsyncIterator):
            return observed([part async for part in result])
        return observed(await result)
