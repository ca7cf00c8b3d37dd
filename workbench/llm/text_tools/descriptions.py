"""Descriptions of tools for models without tool calling: the addition to the system prompt, and an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from workbench.llm.text_tools.parser import write_call
from workbench.llm.text_tools.values import (
    ToolParameter,
    as_json,
    parameters_of,
    resolved,
    tool_name,
    type_name_of,
)
from workbench.text import well_formed

Tool = Mapping[str, Any]

_RULES: Final = """

# Functions

These functions are there for you:

{tools}

To call one, end your message with exactly this form:

<function=NAME>
<parameter=ONE>value</parameter>
<parameter=ANOTHER>
a value may
have many lines
</parameter>
</function>

- One call in a message, with every required parameter; its result comes as the next message.
- Reason before the call, never after it.
- A value is taken exactly as written between its tags: no quotes around it, no escapes. Lists and objects are JSON.
- Inside a value, write a tag of this form with a backslash: `<\\/parameter`, `<\\/function`, `<\\parameter`.
- Without a call, your message goes to the user and you stop."""

EXAMPLE_BEGIN: Final = "This is how such a conversation goes. It is only an example.\n\n----- EXAMPLE -----\n"
EXAMPLE_END: Final = "\n----- END OF EXAMPLE -----\n\nNow the real one starts.\n\n"

_SAMPLES: Final[tuple[tuple[Mapping[str, Any], str, str], ...]] = (
    (
        {"command": "ls"},
        "I look at what is here first.",
        "notes.txt\n[The command completed with exit code 0.]",
    ),
    (
        {"command": "str_replace", "path": "/home/ada/notes.txt", "old_str": "teh end", "new_str": "the end"},
        "The last word has its letters mixed up. I fix it.",
        "Edited /home/ada/notes.txt.",
    ),
    ({"message": "The typing error in notes.txt is fixed."}, "That was all.", ""),
)
"""Arguments, text before the call, and its result; each is shown with the first tool that accepts the arguments."""
_EXTRAS: Final = frozenset({"security_risk", "summary"})
"""Parameters that every tool may have."""
_INNER: Final = frozenset(
    {"properties", "items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "$ref"}
)
"""The keys of a schema that describe its parts."""
_MAX_ROWS: Final = 40
_MAX_LEVELS: Final = 4
_VALUES: Final = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def result_text(name: str, text: str) -> str:
    """Return the result `text` of a call of tool `name` as the text of a message."""
    return f"EXECUTION RESULT of [{name}]:\n{text}"


def instructions(tools: Sequence[Tool]) -> str:
    """Return the addition to the system prompt: a description of the tools and of how to call them."""
    return _RULES.replace("{tools}", convert_tools_to_description(tools))


def convert_tools_to_description(tools: Iterable[Tool]) -> str:
    """Return a description of each tool and its parameters, in the format of OpenHands' CodeAct prompts.

    A parameter that is a list or an object is followed by a description of its items or properties.
    """
    return well_formed("\n".join(_described(number, tool) for number, tool in enumerate(tools, 1)))


def _described(number: int, tool: Tool) -> str:
    name, function = tool_name(tool), tool["function"]
    head = f"---- BEGIN FUNCTION #{number}: {name} ----\nDescription: {function.get('description', '')}\n"
    schema = function.get("parameters")
    nested = _NestedRows(schema if isinstance(schema, Mapping) else {})
    rows = [row for at, each in enumerate(parameters_of(tool).values(), 1) for row in _rows(at, each, nested)]
    body = "Parameters:\n" + "\n".join(rows) if rows else "No parameters are required for this function."
    return f"{head}{body}\n---- END FUNCTION #{number} ----\n"


def _rows(at: int, parameter: ToolParameter, nested: _NestedRows) -> list[str]:
    need = "required" if parameter.is_required else "optional"
    row = f"  ({at}) {parameter.name} ({parameter.type_name}, {need}): {parameter.description}".rstrip()
    return [row, *_allowed(parameter.enum or (), ""), *nested.of(parameter.name)]


def _allowed(values: Iterable[Any], indent: str) -> list[str]:
    allowed = ", ".join(f"`{each if isinstance(each, str) else as_json(each)}`" for each in values)
    return [f"{indent}Allowed values: [{allowed}]"] if allowed else []


class _NestedRows:
    """Rows that describe the items and properties inside one tool's parameters: names, types, allowed values."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def of(self, name: str) -> list[str]:
        """Return the rows about the items or properties of one parameter, at most `_MAX_ROWS`."""
        rows = list(islice(self._inside(self._root["properties"][name], 1), _MAX_ROWS + 1))
        return [*rows[:_MAX_ROWS], "      …"] if len(rows) > _MAX_ROWS else rows

    def _inside(self, schema: Any, depth: int, unions: int = 0) -> Iterator[str]:
        """Yield the rows about the parts of a list or an object."""
        schema = self._target(schema)
        if depth > _MAX_LEVELS or unions > _MAX_LEVELS:
            return
        for union in ("anyOf", "oneOf", "allOf"):
            yield from self._branches(_list(schema.get(union)), depth, unions + 1, is_choice=union != "allOf")
        for position, item in enumerate(_list(schema.get("prefixItems")), 1):
            yield from self._part(f"item {position}", "", item, depth)
        if isinstance(schema.get("items"), Mapping):
            yield from self._part("each item", "", schema["items"], depth)
        properties, required = schema.get("properties"), _list(schema.get("required"))
        for name, part in properties.items() if isinstance(properties, Mapping) else ():
            if part is False:
                continue
            yield from self._part(f"- {name}", ", required" if name in required else ", optional", part, depth)
        if isinstance(schema.get("additionalProperties"), Mapping):
            yield from self._part("- any other name", "", schema["additionalProperties"], depth)

    def _branches(self, branches: list[Any], depth: int, unions: int, *, is_choice: bool) -> Iterator[str]:
        """Yield the rows about the parts of each branch of a union; alternatives are headed "either:" and "or:"."""
        branches = [branch for branch in branches if not _INNER.isdisjoint(self._target(branch))]
        word = "either"
        for branch in branches:
            rows = self._inside(branch, depth, unions)
            first = next(rows, None)
            if first is None:
                continue
            if is_choice and len(branches) > 1:
                yield f"{'  ' * (depth + 2)}{word}:"
            yield first
            yield from rows
            word = "or"

    def _part(self, label: str, need: str, schema: Any, depth: int) -> Iterator[str]:
        target, indent = self._target(schema), "  " * (depth + 2)
        description = target.get("description")
        words = f": {description}" if isinstance(description, str) and description else ""
        yield f"{indent}{label} ({type_name_of(target, self._root)}{need}){words}"
        values = target.get("enum", [target["const"]] if "const" in target else [])
        yield from _allowed(_list(values), f"{indent}  ")
        yield from self._inside(target, depth + 1)

    def _target(self, schema: Any) -> Mapping[str, Any]:
        for _ in range(_MAX_LEVELS):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                break
            schema = resolved(schema["$ref"], self._root)
        return schema if isinstance(schema, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def example(tools: Sequence[Tool]) -> str:
    """Return a short conversation that uses the given tools; empty without tools."""
    turns = []
    for arguments, words, result in _SAMPLES:
        tool = next((tool for tool in tools if _takes_all(tool, arguments)), None)
        turns += [_turn(tool, arguments, words, result)] if tool else []
    if not turns and tools:
        name = tools[0]["function"]["name"]
        turns = [_turn(tools[0], _any_arguments(tools[0]), f"I need {name} for that.", "…")]
    if not turns:
        return ""
    return f"{EXAMPLE_BEGIN}USER: There is a typing error in notes.txt. Fix it.\n\n{chr(10).join(turns)}{EXAMPLE_END}"


def _turn(tool: Tool, arguments: Mapping[str, Any], words: str, result: str) -> str:
    name, parameters = tool["function"]["name"], parameters_of(tool)
    samples = {key: value for key, value in arguments.items() if _takes(parameters.get(key), value)}
    call = write_call(name, {**_any_arguments(tool), **samples}, parameters)
    answer = f"\n\nUSER: {result_text(name, result)}\n" if result else ""
    return f"ASSISTANT: {words}\n\n{call}{answer}"


def _takes_all(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Return whether the tool accepts the arguments and requires no others, apart from `_EXTRAS`."""
    parameters = parameters_of(tool)
    required = {each.name for each in parameters.values() if each.is_required} - _EXTRAS
    return required <= arguments.keys() and all(_takes(parameters.get(key), value) for key, value in arguments.items())


def _takes(parameter: ToolParameter | None, value: Any) -> bool:
    return parameter is not None and (parameter.enum is None or value in parameter.enum)


def _any_arguments(tool: Tool) -> dict[str, Any]:
    return {each.name: _sample(each) for each in parameters_of(tool).values() if each.is_required}


def _sample(parameter: ToolParameter) -> Any:
    if parameter.enum:
        return parameter.enum[0]
    return next((value for kind, value in _VALUES.items() if kind in parameter.kinds), None)
