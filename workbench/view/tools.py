"""The tools as the Tools screen lists them: where each comes from, its state in this session, its arguments."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rich.cells import cell_len

from workbench.errors import WorkbenchError
from workbench.processes.spawn import isolated_python, run
from workbench.text import first_line, visible
from workbench.tools.delegate import AGENTS
from workbench.tools.find_tools import NAME as FINDER
from workbench.tools.find_tools.offer import Offer
from workbench.view.state import SessionState
from workbench.view.wrapping import Line, Piece, pad

BUILT_IN: Final = "built-in"
_LONGEST_NAME, _KIND = 28, 17
_KINDS: Final = {"read-only": "ok", "changes": "waiting", "can delete files": "failed"}


@dataclass(frozen=True)
class ToolRow:
    """One tool; `standing` contains the icon of its state in this session, the state as text, and the icon's style."""

    name: str
    origin: str
    standing: tuple[str, str, str]
    is_on: bool = False
    """Whether new sessions have it."""
    why: str = ""
    source: str = ""
    description: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_switch(self) -> bool:
        """Whether `tools.NAME` in the settings switches it on and off: a tool of this program or of the user."""
        return self.origin != AGENTS and not self.origin.startswith("MCP")

    @property
    def is_server(self) -> bool:
        """Whether it stands for an MCP server that has no tools to list."""
        return self.name == self.origin

    @property
    def kind(self) -> str:
        """What its calls may do, according to its own hints; empty if there are none."""
        if not self.hints:
            return ""
        if self.hints.get("readOnlyHint"):
            return "read-only"
        return "can delete files" if self.hints.get("destructiveHint") else "changes"


def tool_rows(
    listed: Iterable[Mapping[str, Any]], session: Collection[str], on_request: Collection[str]
) -> list[ToolRow]:
    """Return the rows for the output of `ohw tools --json --all`.

    `session` holds the tools with which the session began, `on_request` the tools waiting for `find_tools`.
    """
    rows = [
        ToolRow(
            name=str(each["name"]),
            origin=str(each.get("from", "")),
            standing=_standing(each, session, on_request),
            is_on=bool(each.get("on")),
            why=str(each.get("why", "")),
            source=str(each.get("source", "")),
            description=str(each.get("description", "")),
            hints=each.get("annotations") or {},
            parameters=each.get("inputSchema") or {},
        )
        for each in listed
    ]
    return sorted(rows, key=lambda row: (row.origin != BUILT_IN, row.origin != AGENTS, row.origin))


def counted_tools(rows: Sequence[ToolRow]) -> str:
    """Return how many tools are on and how many there are, then the same for the kinds of sub-agents, if any.

    A server that is off has a row of its own, which is not a tool.
    """
    agents = [row for row in rows if row.origin == AGENTS]
    tools = [row for row in rows if row.origin != AGENTS and not row.is_server]
    return f"{_on(tools)} on" + (f" · {_on(agents)} sub-agents" if agents else "")


def _on(rows: Sequence[ToolRow]) -> str:
    return f"{sum(row.standing[0] == '●' for row in rows)} of {len(rows)}"


def why_no_switch(row: ToolRow) -> str:
    """Return why the Tools screen does not switch a row on or off, and what does."""
    if row.origin == AGENTS:
        return "Kinds of sub-agents have no switch: switching off the tool delegate switches all of them off"
    if row.is_server:
        return "/mcp shows this server and why it is off"
    return f"Your settings switch MCP tools off: {row.name} = false in [tools]; /mcp shows their servers"


def by_origin(rows: Iterable[ToolRow]) -> Iterator[tuple[str, list[ToolRow]]]:
    """Yield each origin with its rows."""
    for origin, group in groupby(rows, key=lambda row: row.origin):
        yield origin, list(group)


def name_width(rows: Iterable[ToolRow]) -> int:
    """Return the width of the column of names, so that descriptions have the rest."""
    return min(_LONGEST_NAME, 2 + max((cell_len(visible(row.name, lines=False)) for row in rows), default=0))


def tool_line(row: ToolRow, width: int, names: int = _LONGEST_NAME) -> Line:
    """Return a row of the list: icon, name in `names` cells, what the tool may do, its state and its description."""
    sign, state, style = row.standing
    words = first_line(row.description, 200)
    available = max(0, width - names - _KIND - 3)
    text = pad(visible(f"{state} · {words}" if state and words else state or words, lines=False), available)
    return [
        Piece(f"{sign} ", style),
        Piece(pad(visible(row.name, lines=False), names), "bold"),
        Piece(pad(row.kind, _KIND), _KINDS.get(row.kind, "dim")),
        Piece(f" {text}", "dim"),
    ]


def about_tool(row: ToolRow) -> list[Line]:
    """Return everything known about a tool: its source, why it is on, its state, hints, description and arguments."""
    _, state, _ = row.standing
    facts = [f"from {row.source}" if row.source else row.origin, row.why, state, row.kind, *_hints(row.hints)]
    lines = [
        [Piece(visible(row.name, lines=False), "heading")],
        [Piece(visible(" · ".join(filter(None, facts)), lines=False), "dim")],
    ]
    lines += [[Piece(visible(part, lines=False))] for part in row.description.splitlines()]
    properties = row.parameters.get("properties")
    needed = row.parameters.get("required") or ()
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        lines.append(_parameter(str(name), part if isinstance(part, Mapping) else {}, name in needed))
    return lines


def _standing(listed: Mapping[str, Any], session: Collection[str], on_request: Collection[str]) -> tuple[str, str, str]:
    name, is_on = str(listed["name"]), bool(listed.get("on"))
    origin = str(listed.get("from", ""))
    is_here = name in session or not session or origin.startswith("MCP") or origin == AGENTS
    if name in on_request:
        return "◌", "shown to the model when find_tools finds it", "waiting"
    if is_on:
        return ("●", "", "ok") if is_here else ("○", "from the next session on", "waiting")
    return ("●", "off from the next session on", "waiting") if name in session else ("○", "off", "dim")


def _hints(hints: Mapping[str, Any]) -> Iterator[str]:
    if hints.get("idempotentHint"):
        yield "idempotent"
    if hints.get("openWorldHint"):
        yield "network access"


def _parameter(name: str, part: Mapping[str, Any], is_needed: bool) -> Line:
    kind = part.get("type")
    type_name = kind if isinstance(kind, str) else "any of several kinds"
    words = first_line(str(part.get("description", "")), 300)
    return [
        Piece(f"  {visible(name, lines=False)}", "accent"),
        Piece(f" {type_name}{'' if is_needed else ', optional'}  ", "dim"),
        Piece(visible(words, lines=False)),
    ]


_SECONDS: Final = 60.0


def tools_here(directory: Path, state: SessionState) -> Sequence[ToolRow]:
    """Return all tools; blocks, so call it in a thread. Raises WorkbenchError if they cannot be listed."""
    command = isolated_python("workbench", "tools", "--json", "--all", f"--workspace={directory}")
    try:
        done = run(command, input="", capture_output=True, text=True, timeout=_SECONDS)
        listed = json.loads(done.stdout) if not done.returncode else []
    except (OSError, ValueError) as error:
        raise WorkbenchError(f"the tools could not be listed: {error}") from error
    if done.returncode:
        raise WorkbenchError(done.stderr.strip().removeprefix("ohw: ") or f"it ended with {done.returncode}")
    session = state.tools
    return tool_rows(listed, session, on_request(session, _asked_for(state)))


def _asked_for(state: SessionState) -> Iterable[str]:
    """Yield the names of the tools that `find_tools` found in this session."""
    for item in list(state.actions.values()):
        if item.tool == FINDER:
            names = item.observation.get("found", ())
            yield from (str(name) for name in names) if isinstance(names, list | tuple) else ()


def on_request(session: Collection[str], asked: Iterable[str]) -> Collection[str]:
    """Return the tools of a session that the model does not see until `find_tools` finds them; `asked` were found."""
    offer = Offer()
    offer.set_tools(dict.fromkeys(session))  # type: ignore[arg-type]
    offer.ask_for(asked)
    return set(offer.hidden) if FINDER in session else ()
