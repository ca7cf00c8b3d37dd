"""What a model without tool calling is told: the tools, the form of a call, and an example; used by `text_calls`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from workbench.llm.text_tools.values import Parameter, parameters_of, write_call

Tool = Mapping[str, Any]
STOP_WORD: Final = "</function"

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
- A value is taken as it stands between its tags: no quotes around it, no escapes. Lists and objects are JSON.
- Inside a value, write a closing tag of this form as `<\\/parameter` or `<\\/function`.
- Without a call, your message goes to the person and you stop."""

EXAMPLE_BEGIN: Final = "This is how such a conversation goes. It is only an example.\n\n----- EXAMPLE -----\n"
EXAMPLE_END: Final = "\n----- END OF EXAMPLE -----\n\nNow the real one begins.\n\n"

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
"""Arguments, words before the call, and its result; each is shown with the first tool that takes such arguments."""
_EXTRAS: Final = frozenset({"security_risk", "summary"})
"""Parameters that every tool may have."""
_VALUES: Final = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def result_text(name: str, text: str) -> str:
    """A result as the message that brings it."""
    return f"EXECUTION RESULT of [{name}]:\n{text}"


def instructions(tools: Sequence[Tool]) -> str:
    """What is added to the system prompt."""
    return _RULES.replace("{tools}", convert_tools_to_description(tools))


def convert_tools_to_description(tools: Iterable[Tool]) -> str:
    """Each tool with its parameters, in the form that CodeAct models know."""
    return "\n".join(_described(number, tool) for number, tool in enumerate(tools, 1))


def _described(number: int, tool: Tool) -> str:
    function = tool["function"]
    head = f"---- BEGIN FUNCTION #{number}: {function['name']} ----\nDescription: {function.get('description', '')}\n"
    rows = [_parameter_row(at, each) for at, each in enumerate(parameters_of(tool).values(), 1)]
    body = "Parameters:\n" + "\n".join(rows) if rows else "No parameters are required for this function."
    return f"{head}{body}\n---- END FUNCTION #{number} ----\n"


def _parameter_row(at: int, parameter: Parameter) -> str:
    need = "required" if parameter.is_required else "optional"
    row = f"  ({at}) {parameter.name} ({parameter.type_name}, {need}): {parameter.description}".rstrip()
    allowed = ", ".join(f"`{each}`" for each in parameter.enum or ())
    return f"{row}\nAllowed values: [{allowed}]" if allowed else row


def example(tools: Sequence[Tool]) -> str:
    """A short conversation with tools that are there; empty without tools."""
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
    given = {key: value for key, value in arguments.items() if _takes(parameters.get(key), value)}
    call = write_call(name, {**_any_arguments(tool), **given}, parameters)
    answer = f"\n\nUSER: {result_text(name, result)}\n" if result else ""
    return f"ASSISTANT: {words}\n\n{call}{answer}"


def _takes_all(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether the arguments are ones of the tool, and all that it needs of its own."""
    parameters = parameters_of(tool)
    required = {each.name for each in parameters.values() if each.is_required} - _EXTRAS
    return required <= arguments.keys() and all(_takes(parameters.get(key), value) for key, value in arguments.items())


def _takes(parameter: Parameter | None, value: Any) -> bool:
    return parameter is not None and (parameter.enum is None or value in parameter.enum)


def _any_arguments(tool: Tool) -> dict[str, Any]:
    return {each.name: _sample(each) for each in parameters_of(tool).values() if each.is_required}


def _sample(parameter: Parameter) -> Any:
    if parameter.enum:
        return parameter.enum[0]
    return next((value for kind, value in _VALUES.items() if kind in parameter.kinds), None)
