"""One line of advice for a call that failed twice in the same way: what differs from the schema, what to try.

Used by the session, which adds it to the result the second time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.suggest import nearest
from workbench.text import visible
from workbench.tools.tool import ToolDefinition

ADVICE = "[Advice: "
_EXTRAS = ("security_risk", "summary")
_SHOWN = 5
_EXAMPLES: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def advice_on(name: str, arguments: dict[str, Any], tools: Mapping[str, ToolDefinition], is_readable: bool) -> str:
    """The line for a call of the tool `name`; `is_readable` is whether its arguments were one JSON object."""
    tool = tools.get(name)
    if tool is None:
        return _line(_other_tool(name, tools))
    schema = tool.schema
    if not is_readable:
        return _line(f"send the arguments as one JSON object, for example {_example(schema)}")
    wrong = _differences(arguments, schema)
    if wrong:
        return _line(f"{'; '.join(wrong)}; a call that fits: {_example(schema)}")
    return _line(
        "this failed in the same way before, so the same call will fail again; look at the present state first, then "
        "change the arguments or take another way"
    )


def _line(text: str) -> str:
    return f"{ADVICE}{visible(text, lines=False)}.]"


def _other_tool(name: str, tools: Mapping[str, ToolDefinition]) -> str:
    near = nearest(name[:60], tools, 0.4)
    hint = f" (`{near}` is the nearest)" if near else ""
    return f"`{name[:60]}` will not come to be by asking again; take one of the tools in the list{hint}"


def _differences(arguments: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """What in the arguments is not as the schema has it, at the top level."""
    properties: dict[str, Any] = schema.get("properties", {})
    unknown = [name for name in arguments if name not in properties and name not in _EXTRAS]
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    wrong = [name for name, value in arguments.items() if name in properties and not _fits(value, properties[name])]
    found = [f"not in the schema: {_names(unknown)}"] if unknown else []
    found += [f"missing: {_names(missing)}"] if missing else []
    return found + [f"`{name}` must be {_kind(properties[name])}" for name in wrong[:_SHOWN]]


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name[:60]}`" for name in names[:_SHOWN])


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list, tuple),
    "object": (dict,),
}


def _fits(value: Any, part: dict[str, Any]) -> bool:
    """Whether the value is of the kind that the schema names; what the schema leaves open fits."""
    if "enum" in part:
        return value in part["enum"]
    types = _TYPES.get(part.get("type", ""))
    if types is None or value is None:
        return True
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _kind(part: dict[str, Any]) -> str:
    if "enum" in part:
        return f"one of {', '.join(str(value) for value in part['enum'][:10])}"
    return f"of type {part.get('type', 'any')}"


def _example(schema: dict[str, Any]) -> str:
    """The smallest call that the schema allows, as far as it says."""
    properties: dict[str, Any] = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name in properties]
    return json.dumps({name: _value(properties[name]) for name in required}, ensure_ascii=False)


def _value(part: dict[str, Any]) -> Any:
    if part.get("enum"):
        return part["enum"][0]
    if "default" in part:
        return part["default"]
    return _EXAMPLES.get(part.get("type", ""), "…")
