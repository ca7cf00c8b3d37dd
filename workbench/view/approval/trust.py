"""The question of whether to trust a directory: asked before its session begins, answered on the trust screen."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.config.devcontainer import content_of
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import first_line, visible
from workbench.tools.hook_files import CLAUDE_HOOKS, HOOKS
from workbench.tools.trust import (
    AGENTS,
    COMMANDS,
    NOTHING,
    RULES,
    SERVERS,
    TOOLS,
    agree,
    brought,
    fingerprint,
    image_mark,
    is_trusted,
    may_build,
)

if TYPE_CHECKING:
    from workbench.mcp.config import ServerConfig

_MOST_SERVERS: Final = 8
_LONGEST_COMMAND: Final = 300
_AGENT_FILES: Final = tuple(f"{directory}/" for directory in AGENTS)
_COMMAND_FILES: Final = tuple(f"{directory}/" for directory in COMMANDS)
_HOOK_FILES: Final = (HOOKS, *CLAUDE_HOOKS)
_KINDS: Final = {
    **dict.fromkeys(_HOOK_FILES, "hooks: programs that run at events, without a question"),
    RULES: "rules on what is asked and denied",
    SERVERS: "MCP servers, programs that run with your rights",
}


@dataclass
class TrustQuestion:
    """The question about one directory and its files; `wait` blocks the thread that would begin the session until the
    answer.
    """

    locations: Locations
    directory: Path
    files: tuple[Path, ...]
    content: str
    """The hash of the files asked about, so that an answer does not cover later changes."""
    named: tuple[str, ...] = ()
    """The directories that the settings name."""
    refused: set[str] = field(default_factory=set)
    """The hashes that were refused since the start; they are not asked about again."""
    of_container: tuple[Path, ...] = ()
    """Those of the files that define the container, if the question is about them too."""
    image_mark: str = ""
    _answered: threading.Event = field(default_factory=threading.Event)
    is_trusted: bool = False

    def answer(self, trusts: bool) -> None:
        """Answer the question: a yes is stored until the files change, a no is remembered until this process ends.

        Raises UsageError.
        """
        self.is_trusted = trusts
        if not trusts:
            self.refused.add(self.content + self.image_mark)
        self._answered.set()
        if trusts:
            agree(self.locations, self.directory, self.content, self.named, self.image_mark)

    def wait(self) -> tuple[str, ...]:
        """Wait for the answer and return the trusted hash, if any, for `Settings.trusted`."""
        self._answered.wait()
        return (self.content,) if self.is_trusted and self.content != NOTHING else ()

    @property
    def names(self) -> list[str]:
        """The files, as seen from the directory."""
        return [os.path.relpath(path, self.directory) for path in self.files]

    def kind_of(self, name: str) -> str:
        """Describe the effect of one of the files."""
        file = next((each for each in self.of_container if name == os.path.relpath(each, self.directory)), None)
        if file is None:
            return kind_of(name)
        is_json = file.suffix == ".json"
        return "the container: image, variables, mounts" if is_json else "what the image of the container is built from"


def kind_of(name: str) -> str:
    """Describe the effect of a file in a directory that asks for trust."""
    if name.startswith(_AGENT_FILES):
        return "a sub-agent: instructions and tools"
    if name.startswith(_COMMAND_FILES):
        return "a command: a message that you can send"
    return _KINDS.get(name, "code that runs with your rights")


def brings(question: TrustQuestion) -> str:
    """Return what the directory contains, for a heading."""
    names = [str(path.relative_to(question.directory)) for path in question.files if path not in question.of_container]
    has_agents, has_commands = (any(name.startswith(each) for name in names) for each in (_AGENT_FILES, _COMMAND_FILES))
    has_hooks = any(name in _HOOK_FILES for name in names)
    has_others = any(name in (RULES, SERVERS) or name.startswith(f"{TOOLS}/") for name in names)
    parts = ["tools", "rules"] * has_others + ["hooks"] * has_hooks
    parts += ["sub-agents"] * has_agents + ["commands"] * has_commands
    parts += [file.name for file in question.of_container]
    return f"its own {' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}"


def started_by(question: TrustQuestion, name: str) -> list[str]:
    """Return the commands that a file of MCP servers or hooks would start, one line for each; empty for other files.

    Servers that would run outside the sandbox come first and are all listed; of the others, only the first few are.
    """
    if name in _HOOK_FILES:
        return _hook_commands(question.directory / name, question.directory)
    if name != SERVERS:
        return []
    from workbench.mcp.config import read_file, read_server

    try:
        table = read_file(question.directory / name)
    except WorkbenchError as error:
        return [visible(str(error), lines=False)]
    outside: list[str] = []
    inside: list[str] = []
    for server, config in table.items():
        is_outside = False
        try:
            read = read_server(server, config, name, str(question.directory), runs_there=True)
            start, is_outside = _start_of(read), read.runs_outside
        except WorkbenchError as error:
            start = f"ignored: {error}"
        (outside if is_outside else inside).append(visible(f"{server}: {start}", lines=False))
    most = max(_MOST_SERVERS - len(outside), 0)
    return [*outside, *inside[:most], *([f"and {len(inside) - most} more"] if len(inside) > most else [])]


def _hook_commands(path: Path, directory: Path) -> list[str]:
    from workbench.hooks.files import hooks_in

    lines = []
    for each in hooks_in(path, directory):
        does = first_line(each.hook.command, _LONGEST_COMMAND) if each.hook is not None else f"ignored: {each.detail}"
        lines.append(visible(f"{each.event}: {does}" if each.event else does, lines=False))
    return lines


def _start_of(server: ServerConfig) -> str:
    """Return the command or URL of a server as written, with the variables and headers that it would get."""
    more = [*(f"{name}={value}" for name, value in server.env.items())]
    more += [f"{name}: {value}" for name, value in server.headers.items()]
    start = f"{server.target} · with {', '.join(more)}" if more else server.target
    start = f"outside the sandbox: {start}" if server.runs_outside else start
    start = f"off, {server.problem}: {start}" if server.problem else start
    return " · ".join([start, *server.notices])


def contents(question: TrustQuestion) -> str:
    """Return the text of all files that need trust, to be read before the directory is trusted."""
    parts = []
    for path in question.files:
        try:
            content = content_of(path) if path in question.of_container else path.read_bytes()
            text = content.decode(errors="replace")
        except OSError as error:
            text = f"cannot be read: {error.strerror}"
        parts.append(f"── {os.path.relpath(path, question.directory)}\n\n{text}")
    return "\n\n".join(parts)


def trust_question(
    locations: Locations,
    directory: Path,
    trusted: Iterable[str],
    refused: set[str],
    of_container: tuple[Path, ...] = (),
) -> TrustQuestion | None:
    """Return the question to ask, or None if the directory has no such files, or the user has already answered.

    `of_container` are the files of the project that would define the container, if any.
    """
    trusted, files = tuple(trusted), tuple(brought(directory))
    content = fingerprint(directory) if files else NOTHING
    files = () if is_trusted(directory, trusted) else files
    mark = _mark_of(of_container)
    if mark and not may_build(locations, directory, trusted, mark):
        files = (*files, *of_container)
    else:
        of_container, mark = (), ""
    if not files or not content or content + mark in refused:
        return None
    return TrustQuestion(locations, directory, files, content, trusted, refused, of_container, mark)


def _mark_of(files: tuple[Path, ...]) -> str:
    """Return the mark of the files that define the container; empty if there are none or one cannot be read."""
    try:
        return image_mark({file: content_of(file) for file in files}) if files else ""
    except OSError:
        return ""
