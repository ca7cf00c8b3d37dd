"""Scripts of the offline model: its responses turn by turn, and their conditions; played by `scripted.model`.

A script is a TOML file: an optional `title`, then a list of `[[turn]]` in the order they are tried. The first turn
whose conditions are met is played. One turn has

    name = "look"              # unique; letters, digits, "_"
    after = "plan"             # the turn played before: a name, a list of names, "start" or "any".
                               # Omitted: the turn above it in the file (for the first one: "start").
                               # "summary" alone: played when the history is to be summarized.
    when = { … }               # conditions, each optional, which must all be met:
                               #   rejected = true | false   a call of the turn before was not run, or all were
                               #   result = "text"           a result of the turn before contains the text
                               #   note = "text"             the user's note on a rejected call contains the text
                               #                             ("" is met by any note)
                               #   user = "text"             the user's last message contains the text
                               #   waiting = true | false    the user wrote since the turn before, or did not
    text = "…"                 # streamed in small pieces; `reasoning = "…"` comes before it
    usage = { input = 1200, output = 90 }     # tokens; estimated when omitted
    [[turn.call]]              # any number of tool calls, or none: then the agent waits for the user
    tool = "execute_bash"
    risk = "LOW"               # omitted where the tool takes none
    summary = "Run the tests"
    arguments = { command = "python3 -m unittest" }

`{workspace}`, `{note}` and `{user}` are filled in, in texts and arguments. Comparisons ignore case. When no turn fits,
the model says that its script is over.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import ModelError
from workbench.protocol.usage import Usage

START = "start"
ANY = "any"
SUMMARY = "summary"
_WHEN: dict[str, type] = {"rejected": bool, "waiting": bool, "result": str, "note": str, "user": str}
_USAGE: dict[str, type] = {"input": int, "output": int, "cached": int, "written": int, "reasoning": int}
_KINDS = {bool: "true or false", str: "a text", int: "a whole number"}
_NAME = lazy_pattern(r"[A-Za-z0-9_]{1,32}")


class ScriptedCall(msgspec.Struct, frozen=True):
    """A tool call of a turn; `arguments` include the call's risk and summary."""

    tool: str
    arguments: Mapping[str, Any]


class When(msgspec.Struct, frozen=True):
    """The conditions of a turn; `None` means no condition."""

    rejected: bool | None = None
    result: str | None = None
    note: str | None = None
    user: str | None = None
    waiting: bool | None = None


class ScriptedTurn(msgspec.Struct, frozen=True):
    """One response of the offline model."""

    name: str
    after: tuple[str, ...]
    when: When = When()
    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True)
class ModelScript:
    """A whole script; `turns` in the order they are tried."""

    title: str
    turns: tuple[ScriptedTurn, ...] = field(default=())


def packaged_scripts() -> dict[str, Path]:
    """Return the scripts that come with the program, by name."""
    directory = Path(__file__).parent / "scripts"
    return {path.stem: path for path in sorted(directory.glob("*.toml"))}


def load_script(name: str) -> ModelScript:
    """Return the packaged script `name` or, if that is an absolute path, the script in that file.

    Raises ModelError if there is none or it is invalid.
    """
    scripts = packaged_scripts()
    path = Path(name) if name.startswith("/") else scripts.get(name)
    if path is None:
        raise ModelError(f"there is no script {name!r}; there are {', '.join(scripts)} and scripted//path/to/file.toml")
    try:
        return read_script(path.read_text(encoding="utf-8"), path.stem)
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot read the script {path}: {error}") from error
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise ModelError(f"the script {path} is not usable: {error}") from error


def read_script(text: str, title: str = "script") -> ModelScript:
    """Parse a script from its TOML text. Raises a ValueError that names the invalid turn."""
    data = tomllib.loads(text)
    _only(data, {"title", "turn"}, "the script")
    turns: list[ScriptedTurn] = []
    for entry in _tables(data, "turn", "the script"):
        turns.append(_turn(entry, turns[-1].name if turns else START))
    names = [turn.name for turn in turns]
    for turn in turns:
        if names.count(turn.name) > 1:
            raise ValueError(f"two turns are named {turn.name!r}")
        for before in turn.after:
            if before not in (*names, START, ANY, SUMMARY):
                raise ValueError(f"turn {turn.name!r} comes after {before!r}, which does not exist")
    if not turns:
        raise ValueError("it has no [[turn]]")
    return ModelScript(str(data.get("title", title)), tuple(turns))


def _turn(entry: object, above: str) -> ScriptedTurn:
    if not isinstance(entry, dict):
        raise ValueError("a turn must be a table")
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (START, ANY, SUMMARY):
        raise ValueError(f"a turn needs a name of letters, digits and '_', not {name!r}")
    where = f"turn {name!r}"
    _only(entry, {"name", "after", "when", "text", "reasoning", "usage", "call"}, where)
    usage = entry.get("usage")
    return ScriptedTurn(
        name,
        _after(entry.get("after", above), where),
        When(**_fields(entry.get("when", {}), _WHEN, "when", where)),
        str(entry.get("text", "")).strip(),
        str(entry.get("reasoning", "")).strip(),
        tuple(_call(call, where) for call in _tables(entry, "call", where)),
        None if usage is None else Usage(**_fields(usage, _USAGE, "usage", where)),
    )


def _after(value: object, where: str) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"`after` of {where} must be a name or a list of names")
    return tuple(names)


def _call(entry: object, where: str) -> ScriptedCall:
    call = _only(entry, {"tool", "risk", "summary", "arguments"}, f"a call of {where}")
    tool, arguments = call.get("tool"), call.get("arguments", {})
    if not isinstance(tool, str):
        raise ValueError(f"a call of {where} names no tool")
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {tool!r} in {where} must be a table")
    extra = {"security_risk": call.get("risk"), "summary": call.get("summary")}
    extras = {name: value for name, value in extra.items() if value is not None}
    return ScriptedCall(tool, {**extras, **arguments})


def _fields(table: object, kinds: Mapping[str, type], what: str, where: str) -> dict[str, Any]:
    """Return the table after checking that every name is allowed and every value has the right type."""
    fields = _only(table, kinds, f"`{what}` of {where}")
    for name, value in fields.items():
        if type(value) is not kinds[name]:
            raise ValueError(f"`{name}` of {where} must be {_KINDS[kinds[name]]}")
    return fields


def _tables(table: dict[str, Any], name: str, where: str) -> list[object]:
    tables = table.get(name, [])
    if not isinstance(tables, list):
        raise ValueError(f"`{name}` of {where} must be a list of tables, [[…]]")
    return tables


def _only(table: object, allowed: Collection[str], where: str) -> dict[str, Any]:
    """Return the value after checking that it is a table with only the allowed names."""
    if not isinstance(table, dict):
        raise ValueError(f"{where} must be a table")
    for name in table:
        if name not in allowed:
            raise ValueError(f"{where} has {name!r}; allowed are {', '.join(sorted(allowed))}")
    return table
