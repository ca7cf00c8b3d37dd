"""The local rating of an action of the agent: commands, files, code, and other tools by their annotations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.risk.actions import assess_address, assess_file, assess_foreign, assess_reading
from workbench.risk.assessment import Assessment, Part, one, summed
from workbench.risk.paths import Places
from workbench.tools.tool import ToolDefinition

_MOVES = re.compile(r"TAB|ESC|UP|DOWN|LEFT|RIGHT|HOME|END|PGUP|PGDN|BS|C-(?i:[abefhiklnptuwy])|")
_DOES: Mapping[str, str] = {
    "ENTER": "submits what stands there in the program that runs",
    **dict.fromkeys(("C-J", "C-M"), "submits what stands there in the program that runs"),
    "C-C": "interrupts the program that runs",
    "C-Z": "stops the program that runs, and leaves it waiting",
    "C-D": "ends what is typed into the program that runs, which may end it or make it go on",
}
"""Keys by what they do; the others move or delete what is not submitted yet, or depend on the program."""
_KEY = re.compile(r"C-[a-zA-Z]|ENTER")
_NOT_KNOWN = Assessment("UNKNOWN")


def assess_action(tool: ToolDefinition, arguments: Mapping[str, Any], workspace: str, folder: str) -> Assessment:
    """The rating of a tool's call that would start in `folder`; UNKNOWN when nothing is known here. Never raises."""
    try:
        return _assessed(tool, arguments, Places(workspace, str(Path.home())), folder)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not let an action through
        return one("HIGH", f"the analysis failed ({type(error).__name__})")


def live_inputs(tool: ToolDefinition, arguments: Mapping[str, Any]) -> str:
    """What a rating reads of the running tool besides the arguments, as text: equal texts, equal ratings."""
    executor, foreign = tool.executor, getattr(tool, "foreign", None)
    starts, waiting = getattr(executor, "starts", None), getattr(executor, "waiting", None)
    return repr(
        (
            foreign(arguments) if foreign is not None else tool.is_read_only,
            starts(restart=bool(arguments.get("restart"))) if starts is not None else "",
            [*waiting()] if waiting is not None and arguments.get("is_input") else (),
            (getattr(executor, "url", ""), getattr(executor, "elements", {})) if tool.name == "browser" else (),
        )
    )


def executed_by(
    rated: Assessment,
    tool: ToolDefinition,
    arguments: Mapping[str, Any],
    *,
    workspace: str,
    folder: str,
    beneath: Mapping[str, str | None],
) -> dict[str, str]:
    """The files that a call, `rated` so, would execute or read as code, each with a hash of what it holds.

    Of a file that earlier actions write (`beneath`: path -> text) it is the hash of what these will leave.
    """
    if tool.name not in {"execute_bash", "python_execute", "execute_ipython_cell"}:
        return {}
    from workbench.risk.executed import executed_files

    text, code = str(arguments.get("command", "")), str(arguments.get("code", ""))
    return executed_files(rated.parts, workspace, folder, text=text, code=code, beneath=beneath)


def _assessed(tool: ToolDefinition, arguments: Mapping[str, Any], places: Places, folder: str) -> Assessment:
    foreign = getattr(tool, "foreign", None)  # tools of other programs describe their calls
    if foreign is not None:
        return assess_foreign(foreign(arguments))
    if tool.is_read_only:
        is_web = tool.name == "web_read"
        return assess_address(str(arguments.get("url", ""))) if is_web else assess_reading(arguments, places)
    if tool.name == "execute_bash":
        command = str(arguments.get("command", ""))
        return _typed(tool, command, places, folder) if arguments.get("is_input") else _shell(command, places, folder)
    if tool.name in {"str_replace_editor", "edit_file"}:
        return assess_file(str(arguments.get("command", "edit")), str(arguments.get("path", "")), places)
    if tool.name in {"python_execute", "execute_ipython_cell"}:
        rated = _code(str(arguments.get("code", "")), places, folder, is_cell=tool.name == "execute_ipython_cell")
        return _with_program(rated, tool, arguments)
    return _browser(tool, str(arguments.get("code", "")), places) if tool.name == "browser" else _by_its_hints(tool)


def _shell(command: str, places: Places, folder: str) -> Assessment:
    """A command line."""
    from workbench.risk.shell.scan import assess_command  # the parser is not loaded before the first command

    return assess_command(command, places, folder)


def _typed(tool: ToolDefinition, command: str, places: Places, folder: str) -> Assessment:
    """What is typed into the program that runs, by what that program does with it; a key by what it does."""
    key = command.strip()
    if _MOVES.fullmatch(key):
        return Assessment("LOW")
    if _KEY.fullmatch(key):
        return one("MEDIUM", _DOES.get(key.upper(), "a key that the program that runs knows the meaning of"), key)
    from workbench.risk.typed import Waiting, assess_typed

    waiting = getattr(tool.executor, "waiting", None)
    programs = [Waiting(*each) for each in waiting()] if waiting is not None else []
    return assess_typed(command, programs, places, folder)


def _code(code: str, places: Places, folder: str, *, is_cell: bool) -> Assessment:
    """A piece of Python; in a cell there may be magics and shell lines too."""
    from workbench.risk.cells import assess_cell, assess_python

    return (assess_cell if is_cell else assess_python)(code, places, folder)


def _with_program(rated: Assessment, tool: ToolDefinition, arguments: Mapping[str, Any]) -> Assessment:
    """With the interpreter that the call starts, where the folder brings it: whoever made the folder chose it."""
    starts = getattr(tool.executor, "starts", None)
    program = starts(restart=bool(arguments.get("restart"))) if starts is not None else ""
    if not program:
        return rated
    return summed([*rated.parts, Part(program, "MEDIUM", f"starts {program}, a program that the folder brings")])


def _browser(tool: ToolDefinition, code: str, places: Places) -> Assessment:
    """Calls for the browser, on the page that it shows now."""
    from workbench.risk.browser import assess_calls

    executor = tool.executor
    return assess_calls(code, places, str(getattr(executor, "url", "")), getattr(executor, "elements", {}))


def _by_its_hints(tool: ToolDefinition) -> Assessment:
    """A tool says in so many words that it destroys; a default says nothing."""
    hints = tool.annotations
    if hints.destructiveHint and "destructiveHint" in hints.model_fields_set:
        return one("HIGH", "the tool says of itself that it destroys")
    return _NOT_KNOWN
