"""Kinds of sub-agents: their description, instructions, tools and model, built in or defined by the user or a project.

A kind only narrows what a sub-agent has: its tools are among its parent's, its model is one that the user has saved,
and it has its parent's mode. The files have the format of OpenHands' and Claude Code's agents: front matter with
`name`, `description`, `tools` and `model`, then the instructions.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.agent.front_matter import read_inside, split_front_matter
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.config.table import FILTER
from workbench.lazy_pattern import lazy_pattern
from workbench.text import counted, first_line, visible, well_formed
from workbench.tools.agent_tool_names import (
    EDITOR,
    EVERY,
    READ_ONLY,
    WEB,
    builtin_named,
    is_reading_name,
    is_writing_name,
    means,
    plain_name,
    server_and_tool,
)
from workbench.tools.manifest import ToolKind, kind_of
from workbench.tools.name_filter import NameFilter
from workbench.tools.tool import ToolDefinition
from workbench.tools.trust import AGENTS, agent_files, is_trusted

BUILT_IN: Final = "built-in"
_NAME: Final = lazy_pattern(r"[A-Za-z0-9][\w .-]{0,39}", re.ASCII)
_MOST_KINDS, _MOST_BYTES, _LONGEST = 40, 64_000, 300
_VARIABLE: Final = lazy_pattern(r"\$\{[\w:.-]+\}", re.ASCII)
_ALWAYS: Final[frozenset[ToolKind]] = frozenset({"thought", "plan", "final", "condensation"})
"""Tools of these kinds are always passed on from parent to sub-agent, because they affect only the session."""
_STEPS: Final = ("max_steps", "maxTurns", "max_turns", "max_iteration_per_run")
_EXCEPT: Final = ("disallowedTools", "disallowed_tools")
_MODES: Final = ("permissionMode", "permission_mode", "mode")
_READ_ONLY: Final = ("read_only", "readonly", "readOnly", "read-only")
_PROGRAM: Final = frozenset({"command", "args", "env", "sandbox"})
"""The keys that are only used if the sub-agent is another program."""
_KEYS: Final = frozenset(
    {"name", "description", "tools", FILTER, "model", "prompt", "permission", *_READ_ONLY, *_STEPS, *_EXCEPT, *_MODES}
    | _PROGRAM
    | {"color", "version", "author", "license", "tags", "category", "icon", "metadata", "triggers"}
)
"""The keys that cause no notice: those used here, and those that only other programs use."""

_KEYS_BY_CASE: Final = {key.lower(): key for key in _KEYS}


@dataclass(frozen=True)
class AgentProgram:
    """A command that starts another agent; this agent must speak the Agent Client Protocol."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    is_confined: bool = True
    """Whether it runs inside the sandbox."""

    @property
    def line(self) -> str:
        """The command line, quoted for a shell; `${NAME}` is not expanded."""
        return " ".join(map(_word, (self.command, *self.args)))


def _word(word: str) -> str:
    """Return a word of a command line, quoted if anything in it other than `${NAME}` variables requires that."""
    rest = _VARIABLE.sub("", word)
    return word if shlex.quote(rest or "x") == (rest or "x") else shlex.quote(word)


@dataclass(frozen=True)
class AgentKind:
    """One kind of sub-agent; `source` is the path of its file, or says where else it is defined."""

    name: str
    source: str
    description: str = ""
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    """The names of its tools, as the definition spells them; None for all tools of its parent."""
    without: tuple[str, ...] = ()
    """The names of tools that it does not get, as the definition spells them."""
    pattern: str = ""
    """A regular expression that the names of its tools must match; empty for any name."""
    model: str = ""
    """The name of a saved model; empty for its parent's model."""
    max_steps: int = 0
    """The maximum number of model calls in a run; 0 if only the limit of the tool `delegate` applies."""
    only_reads: bool = False
    problems: tuple[str, ...] = ()
    """The parts of its definition that are not used, and why."""
    program: AgentProgram | None = None
    """The program that runs as the sub-agent; None if the sub-agent is one of `ohw` itself."""

    @property
    def facts(self) -> str:
        """The tools and limits of a sub-agent of this kind, in a few words."""
        if self.program is not None:
            return visible(" · ".join(self._facts_of_program(self.program)), lines=False)
        tools = f"tools: {', '.join(self.tools) or 'none'}" if self.tools is not None else "all tools of the session"
        parts = [
            "read-only" if self.only_reads else "",
            tools,
            f"without: {', '.join(self.without)}" if self.without else "",
            f"{FILTER}: {self.pattern}" if self.pattern else "",
            f"model: {self.model}" if self.model else "",
            f"at most {counted(self.max_steps, 'model call')}" if self.max_steps else "",
        ]
        return visible(" · ".join(filter(None, parts)), lines=False)

    def _facts_of_program(self, program: AgentProgram) -> Iterator[str]:
        yield f"another agent: {program.line}"
        if self.only_reads:
            yield "read-only"
        if not program.is_confined:
            yield "outside the sandbox"

    def offers(self, tool: ToolDefinition) -> bool:
        """Return whether a sub-agent of this kind gets this tool of its parent."""
        if self.program is not None:
            return True  # its tools only answer the program
        is_always = kind_of(tool.name) in _ALWAYS
        if any(means(written, tool) and not (is_always and written in EVERY) for written in self._excluded):
            return False
        if (self.only_reads and not can_only_read(tool)) or not NameFilter(self.pattern).allows(tool):
            return False
        if self.tools is None or is_always:
            return True
        return any(means(written, tool) for written in self.tools)

    def only_reads_with(self, name: str) -> bool:
        """Return whether a sub-agent of this kind may use the tool called `name` only for reading."""
        if self.only_reads or (name == EDITOR and len(self._excluded) < len(self.without)):
            return True
        written = [each for each in self.tools or () if builtin_named(each) == name]
        return bool(written) and all(map(is_reading_name, written))

    @property
    def _excluded(self) -> list[str]:
        """The tools in `without` that it does not get at all; excluding `Write` or `Edit` only makes the editor
        read-only.
        """
        return [written for written in self.without if not is_writing_name(written)]

    def unknown(self, tools: Collection[str], models: Collection[str]) -> tuple[str, ...]:
        """Return a line for the user if the definition names tools that do not exist, and one if it names such a model.

        `tools` are the names of the existing tools, `models` those of the saved models.
        """
        plain = {*map(plain_name, tools)}
        names = [each for each in (*(self.tools or ()), *self.without) if not _is_there(each, plain)]
        missing = ", ".join(visible(name[:60], lines=False) for name in names[:10])
        lines = [f"tools: there is no tool {missing}"] if names else []
        if self.model and self.model not in models:
            model = visible(self.model[:60], lines=False)
            lines.append(f"model: {model} is not a saved model, so it gets the model of the session")
        return tuple(lines)


def can_only_read(tool: ToolDefinition) -> bool:
    """Return whether the tool can be called in a way that changes nothing but the plan."""
    always: tuple[ToolKind, ...] = ("plan", "thought", "final", "command")
    return kind_of(tool.name) in always or tool.is_read_only or tool.action_type.can_read_only


def _is_there(name: str, tools: Collection[str]) -> bool:
    is_builtin = name in EVERY or bool(builtin_named(name))
    return is_builtin or bool(server_and_tool(name)[0]) or plain_name(name) in tools


class AgentKinds:
    """The kinds of sub-agents of a session; case, separators and a final "agent" in a name make no difference."""

    def __init__(self, kinds: Iterable[AgentKind] = (), problems: Sequence[str] = ()) -> None:
        """If several kinds have the same name, the first is used; `problems` are lines about ignored definitions."""
        self.problems = tuple(problems)
        self._kinds: dict[str, AgentKind] = {}
        for kind in kinds:
            self._kinds.setdefault(_key(kind.name), kind)

    def __iter__(self) -> Iterator[AgentKind]:
        return iter(sorted(self._kinds.values(), key=lambda kind: kind.name))

    def named(self, name: str) -> AgentKind | None:
        """Return the kind that a name refers to, such as "reviewer" for `reviewer_agent`; None if there is none."""
        return self._kinds.get(_key(name))

    def recorded(self, name: str) -> AgentKind | None:
        """Return the kind that a session's log names; None if the name is empty.

        A kind that is no longer defined, or no longer trusted, is replaced by one that may only read, because the log
        does not say what the original was allowed to do.
        """
        if not name:
            return None
        gone = "its kind is not defined any more, or not trusted, so it can only read"
        # The name becomes part of the instructions, and the log may be somebody else's.
        safe_name = name if _NAME.fullmatch(name) else "unknown"
        return self.named(name) or AgentKind(safe_name, "the log", only_reads=True, problems=(gone,))

    def notices(self, tools: Collection[str], models: Collection[str]) -> list[str]:
        """Return a line for each definition that is not used as written."""
        lines = list(self.problems)
        for kind in self:
            if parts := (*kind.problems, *kind.unknown(tools, models)):
                lines.append(f"{kind.source}: {'; '.join(parts)}")
        return lines


def _key(name: str) -> str:
    plain = plain_name(name)
    return plain.removesuffix("agent") or plain


def agent_kinds(locations: Locations, settings: Settings, workspace: Path) -> AgentKinds:
    """Return all kinds: those of the settings, of the user's directory, of a trusted workspace, and the built-in ones.

    If several have the same name, the first in this order is used.
    """
    where = f"[agents] in {locations.settings_file}"
    kinds = [_kind(name, table, f"{where}: {name}") for name, table in settings.agents.items()]
    problems: list[str] = []
    directories = [(locations.agents, locations.agents)]
    if is_trusted(workspace, settings.trusted):
        directories += [(workspace / name, workspace) for name in AGENTS]
    for directory, root in directories:
        here: dict[str, AgentKind] = {}
        for path in _files(directory):
            kind = _read(path, root)
            if isinstance(kind, AgentKind) and root == workspace:
                kind = _inside(kind)
            if isinstance(kind, str):
                problems.append(f"{path}: {kind}")
            elif (other := here.setdefault(_key(kind.name), kind)) is not kind:
                problems.append(f"{path}: ignored: {other.source} defines {other.name} too")
        kinds += here.values()
    if len(kinds) > _MOST_KINDS:
        problems.append(f"only the first {_MOST_KINDS} kinds of sub-agents are used, {len(kinds)} are defined")
    return AgentKinds((*kinds[:_MOST_KINDS], *_BUILTIN_KINDS), problems)


def _inside(kind: AgentKind) -> AgentKind:
    """Return a project's kind with its program inside the sandbox; only the user's own settings may disable it."""
    if kind.program is None or kind.program.is_confined:
        return kind
    problem = "sandbox: only your own settings can start a program outside the sandbox"
    return replace(kind, program=replace(kind.program, is_confined=True), problems=(*kind.problems, problem))


def _files(directory: Path) -> list[Path]:
    try:
        return agent_files(directory)
    except OSError:
        return []


def _read(path: Path, root: Path) -> AgentKind | str:
    """Return the kind that a file defines, or a text that says why the file is ignored."""
    data = read_inside(path, root, _MOST_BYTES + 1)
    if data is None:
        return "ignored: it cannot be read, or is a link that leads elsewhere"
    if len(data) > _MOST_BYTES:
        return f"ignored: it is longer than {_MOST_BYTES // 1000} kB"
    split = split_front_matter(data.decode("utf-8", "replace"), is_lenient=True)
    if split is None:
        return "ignored: it has no front matter (lines `---` around name, description and tools)"
    entries, body = split
    kind = _kind(path.stem, {**entries, "prompt": body}, str(path))
    return kind if _NAME.fullmatch(kind.name) else "ignored: name must be letters, digits, spaces, and - _ ."


class _Entries(msgspec.Struct):
    """The entries of a definition, and the problems found while they are read."""

    values: Mapping[str, Any]
    problems: list[str] = msgspec.field(default_factory=list)

    def value(self, *names: str) -> tuple[str, Any]:
        """Return the name and value of the first of these entries that exists, or `("", None)`."""
        return next(((name, self.values[name]) for name in names if self.values.get(name) is not None), ("", None))

    def text(self, name: str) -> str:
        """Return an entry that is text; empty if it is missing or of another type."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            self.problems.append(f"{name} must be text")
        return well_formed(value).strip() if isinstance(value, str) else ""

    def names(self, *keys: str, excludes: bool = False) -> tuple[str, ...] | None:
        """Return names of tools, from a list or a text with commas or spaces; None if the entry is missing.

        Patterns such as `Bash(git:*)` are not supported. To be safe, an included tool with a pattern is omitted, and
        an excluded tool with a pattern is excluded entirely.
        """
        key, value = self.value(*keys)
        if value is None:
            return None
        if isinstance(value, str):
            value = re.split(r"[,\s]+(?![^(]*\))", value.strip().removeprefix("[").removesuffix("]"))
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            self.problems.append(f"{key} must be a list of names, so it has no tools")
            return ("*",) if excludes else ()
        names = [well_formed(each).strip().strip("\"'") for each in value]
        patterns = [name for name in names if "(" in name]
        if patterns:
            listed = visible(", ".join(patterns)[:100], lines=False)
            what = "excludes the whole tool" if excludes else "is ignored"
            self.problems.append(f"{key}: {listed} {what}, because patterns are not supported")
        if excludes:
            return tuple(name.partition("(")[0].strip() for name in names if name)
        return tuple(name for name in names if name and name not in patterns)

    def pattern(self, key: str) -> str | None:
        """Return the regular expression of an entry; empty if there is none, None if it is invalid.

        The kind of an invalid one has no tools, because the expression may have been meant to exclude any of them.
        """
        pattern = self.values.get(key) or ""
        try:
            re.compile(pattern if isinstance(pattern, str) else "*")
        except (re.error, RecursionError, OverflowError) as error:
            self.problems.append(f"{key} is not a regular expression, so it has no tools: {visible(str(error)[:200])}")
            return None
        return str(pattern)


def _kind(name: str, values: Mapping[str, Any], source: str) -> AgentKind:
    """Return the kind that a table defines; its `problems` say which parts cannot be used."""
    values = {_key_named(str(key)): value for key, value in values.items()}
    entries = _Entries(values)
    prompt, description = entries.text("prompt"), " ".join(entries.text("description").split())
    pattern = entries.pattern(FILTER)
    tools, without = _tools_of(entries) if pattern is not None else ((), ())
    model, program = entries.text("model"), _program(entries)
    usual = f"another agent, {program.line}" if program is not None else prompt or name
    kind = AgentKind(
        name=_named(entries, name),
        source=source,
        program=program,
        description=first_line(description or usual, _LONGEST),
        prompt=prompt,
        pattern=pattern or "",
        tools=None if tools is not None and EVERY.intersection(tools) else tools,
        without=(*without, *_denied(entries), *(entries.names(*_EXCEPT, excludes=True) or ())),
        model="" if model in ("inherit", "default") else model,
        max_steps=_steps(entries),
        only_reads=_only_reads(entries),
    )
    unused = [visible(str(key)[:40], lines=False) for key in values if key not in _KEYS]
    if unused:
        entries.problems.append(f"not used: {', '.join(unused[:10])}")
    return replace(kind, problems=tuple(entries.problems))


def _program(entries: _Entries) -> AgentProgram | None:
    """Return the program that a definition names; None if it has no `command`, or one that is not text."""
    command, args, env = entries.text("command"), entries.values.get("args") or (), entries.values.get("env") or {}
    if not command:
        unused = sorted(key for key in _PROGRAM if entries.values.get(key, True) not in ((), {}, "", True))
        entries.problems += [f"{', '.join(unused)}: only used with `command`"] if unused else []
        return None
    if not isinstance(args, list | tuple) or not all(isinstance(each, str) for each in args):
        entries.problems.append("args must be a list of texts, so none are passed")
        args = ()
    if not isinstance(env, Mapping) or not all(isinstance(each, str) for each in env.values()):
        entries.problems.append("env must be a table of texts, so none are set")
        env = {}
    own = sorted(key for key in ("tools", FILTER, "model", "prompt") if entries.values.get(key))
    entries.problems += [f"{', '.join(own)}: not used, as the program has its own"] if own else []
    variables = tuple((str(name), str(value)) for name, value in env.items())
    return AgentProgram(command, tuple(args), variables, entries.values.get("sandbox") is not False)


def _key_named(key: str) -> str:
    """Return the known key that equals this one apart from case, else the key itself.

    If `Tools` were ignored, for example, the kind would get all tools.
    """
    return key if key in _KEYS else _KEYS_BY_CASE.get(key.lower(), key)


def _tools_of(entries: _Entries) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the included tools (None for all) and the excluded ones.

    The entry is a list of names or, as in OpenCode, a table with true or false for each name.
    """
    table = entries.values.get("tools")
    if not isinstance(table, Mapping) or not all(isinstance(each, bool) for each in table.values()):
        return entries.names("tools"), ()
    names = {is_on: tuple(well_formed(str(name)) for name in table if table[name] is is_on) for is_on in (True, False)}
    has_only_these = bool(EVERY.intersection(names[False]))
    return (names[True] if has_only_these else None), tuple(name for name in names[False] if name not in EVERY)


def _denied(entries: _Entries) -> tuple[str, ...]:
    """Return the tools that a table of permissions, as in OpenCode, denies completely or in part."""
    table = entries.values.get("permission")
    if table is None:
        return ()
    if not isinstance(table, Mapping):
        entries.problems.append("permission must be a table, so it has no tools")
        return ("*",)
    values = {name: list(part.values()) if isinstance(part, Mapping) else [part] for name, part in table.items()}
    if any(value != "deny" for parts in values.values() for value in parts):
        entries.problems.append("permission: only `deny` is used; what may run is decided by the mode and your rules")
    return tuple(well_formed(str(name)) for name, parts in values.items() if "deny" in parts)


def _named(entries: _Entries, name: str) -> str:
    written = entries.text("name")
    if not written or _NAME.fullmatch(written):
        return written or name
    entries.problems.append(f"name: {visible(written[:60], lines=False)} cannot be one, so it is called {name}")
    return name


def _steps(entries: _Entries) -> int:
    key, value = entries.value(*_STEPS)
    if isinstance(value, str) and value.isdecimal():
        value = int(value[:9])
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value or 0
    entries.problems.append(f"{key} must be a whole number from 1")
    return 0


def _only_reads(entries: _Entries) -> bool:
    """Return whether the definition makes the kind read-only; an invalid value is treated as true."""
    key, mode = entries.value(*_MODES)
    name, value = entries.value(*_READ_ONLY)
    if value is not None and str(value).lower() not in ("true", "false", "yes", "no"):
        entries.problems.append(f"{name} must be true or false; it is treated as true")
    if mode not in (None, "", "plan", "default", "inherit", "subagent", "all"):
        entries.problems.append(f"{key} is not used: a sub-agent has the mode of its session")
    return mode == "plan" or (value is not None and str(value).lower() not in ("false", "no"))


_BUILTIN_KINDS: Final = (
    AgentKind(
        "browsing",
        BUILT_IN,
        "Looks something up on web pages and reports it with the URLs; changes no files.",
        "You look things up on web pages. Open the pages that are likely to answer the task, follow their links where "
        "that helps, and compare sources when they disagree. Report what you found with the URL of each page, say "
        "what is your own conclusion, and say what you could not find. Enter nothing into forms and accept nothing on "
        "a page unless the task asks for it.",
        WEB,
    ),
    AgentKind(
        "explorer",
        BUILT_IN,
        "Finds out how the project does something and reports files and lines; only reads.",
        "You find out how this project works. Search widely first, then read what matters, and follow calls to where "
        "they end. Report what the task asks with file paths and line numbers, quote only the lines that matter, and "
        "say what you did not look at.",
        READ_ONLY,
        only_reads=True,
    ),
    AgentKind(
        "reviewer",
        BUILT_IN,
        "Reviews changes or files and reports problems by severity, with file and line; only reads.",
        "You review code that others have written. Find out what it is meant to do, then look for what is wrong: "
        "errors, missing cases, races, leaks, unsafe input, tests that prove nothing. Check each suspicion in the code "
        "before you report it. Report the findings by severity with file, line, what happens and when; omit "
        "matters of taste, and say so if nothing is wrong.",
        READ_ONLY,
        only_reads=True,
    ),
)
