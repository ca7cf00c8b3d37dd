"""Validation of a model's arguments: the result is an action, or an error that says what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from workbench.suggest import nearest
from workbench.text import visible
from workbench.tools.json_schema import describe_type
from workbench.tools.schema import Action

ActionT = TypeVar("ActionT", bound=Action)

MAX_BYTES = 20_000_000
"""The most bytes of all arguments of one call, estimated: a string counts its characters, any other value 8."""
MAX_DEPTH = 60
_EXTRAS = ("security_risk", "summary")
_MOST_ERRORS = 5


class ArgumentError(ValueError):
    """The arguments are not valid for the tool; the message is for the model."""


def action_from_arguments(action_type: type[ActionT], arguments: dict[str, Any]) -> ActionT:
    """Return the validated action. Raises ArgumentError.

    `security_risk` and `summary`, which are not for the tool, are ignored unless the tool has such a parameter.
    """
    if not isinstance(arguments, dict):
        raise ArgumentError(
            f"the arguments must be one object, not {type(arguments).__name__}. {_allowed(action_type)}"
        )
    check_size(arguments)
    names = _names(action_type)
    own = {name: value for name, value in arguments.items() if name in names or name not in _EXTRAS}
    try:
        return action_type.model_validate(own)
    except ValidationError as error:
        adapted = _adapted(action_type, own, error)
    try:
        return action_type.model_validate(adapted)
    except ValidationError as error:
        raise ArgumentError(_explain(action_type, error)) from error


def _names(action_type: type[Action]) -> dict[str, str]:
    """Return the parameters as models write them, each with the name of its field."""
    return {field.alias or name: name for name, field in action_type.model_fields.items()}


def _bytes_of(part: Any) -> int:
    if isinstance(part, str):
        return len(part) if part.isascii() else len(part.encode("utf-8", "surrogatepass"))
    return len(part) if isinstance(part, bytes) else 8


def check_size(arguments: dict[str, Any]) -> None:
    """Raise ArgumentError for arguments nested too deep or too large; never recurses."""
    size = 0
    open_parts: list[Iterator[Any]] = [iter((arguments,))]
    while open_parts:
        for part in open_parts[-1]:
            size += _bytes_of(part)
            if size > MAX_BYTES:
                limit = f"{MAX_BYTES // 1_000_000} MB"
                raise ArgumentError(f"the arguments are larger than {limit}. Send the work in several smaller calls.")
            if isinstance(part, dict | list | tuple):
                open_parts.append(_inside(part))
                break
        else:
            open_parts.pop()
        if len(open_parts) > MAX_DEPTH:
            raise ArgumentError(f"the arguments are nested more than {MAX_DEPTH} levels deep. Send them flat.")


def _inside(part: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    if isinstance(part, dict):
        for name, value in part.items():
            yield name
            yield value
    else:
        yield from part


def _adapted(action_type: type[Action], arguments: dict[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return the arguments with common errors corrected: lists and objects sent as JSON text are decoded, and a null
    for an optional parameter is removed.
    """
    adapted = dict(arguments)
    names = _names(action_type)
    for detail in error.errors(include_url=False, include_context=False):
        field = detail["loc"][0] if detail["loc"] else None
        if not isinstance(field, str) or field not in names or field not in adapted:
            continue
        value = adapted[field]
        if value is None and not action_type.model_fields[names[field]].is_required():
            del adapted[field]
        elif isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            adapted[field] = _decoded(value)
    return adapted


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text)
        check_size({"": value})
    # ArgumentError is a ValueError: the value then stays a string.
    except (ValueError, RecursionError):
        return text
    return value


def _explain(action_type: type[Action], error: ValidationError) -> str:
    return f"{one_line(error, list(_names(action_type)))}. {_allowed(action_type)}"


def one_line(error: ValidationError, names: Sequence[str] = (), noun: str = "parameter") -> str:
    """Return the first errors of a validation in one line.

    `names` are the existing parameters, or whatever `noun` calls them; the nearest one is suggested.
    """
    details = error.errors(include_url=False, include_context=False)
    messages = list(dict.fromkeys(_one(names, noun, detail) for detail in details))
    more = f" and {len(messages) - _MOST_ERRORS} more" if len(messages) > _MOST_ERRORS else ""
    return f"{'; '.join(messages[:_MOST_ERRORS])}{more}"


def _one(names: Sequence[str], noun: str, detail: ErrorDetails) -> str:
    where = visible(_path(detail["loc"])[:100], lines=False)
    if detail["type"] == "missing":
        return f"`{where}` is missing"
    if detail["type"] == "extra_forbidden":
        near = nearest(where, names) if len(detail["loc"]) == 1 else ""
        return f"`{where}` is not a {noun}" + (f" (did you mean `{near}`?)" if near else "")
    message = detail["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f"`{where}` {_verdict(message, detail)}" if where else message


def _verdict(message: str, detail: ErrorDetails) -> str:
    value = detail["input"]
    if isinstance(value, dict | list):
        return f"is wrong: {message}"
    excerpt = visible(repr(value)[:60], lines=False)
    # Only these messages list what is allowed; others may quote the value itself.
    is_choice = isinstance(value, str) and detail["type"] in ("literal_error", "enum")
    near = nearest(str(value)[:60], _quoted(message)) if is_choice else ""
    return f"is {excerpt}: {message}" + (f" (did you mean '{near}'?)" if near else "")


def _quoted(message: str) -> list[str]:
    return message.split("'")[1::2]


def _path(loc: tuple[int | str, ...]) -> str:
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _allowed(action_type: type[Action]) -> str:
    """Return one line about every parameter of the tool."""
    schema = action_type.to_mcp_schema()
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    if not properties:
        return "The tool takes no parameters."
    parts = [
        f"{name} ({describe_type(part)}; {'required' if name in required else 'optional'})"
        for name, part in properties.items()
    ]
    return f"Parameters: {', '.join(parts)}."
