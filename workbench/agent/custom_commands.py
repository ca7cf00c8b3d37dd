"""Custom commands: Markdown files whose text is sent as a message, such as `review.md` for `/review src`.

The format follows Claude Code's slash commands: front matter with `description`, `argument-hint`, `model` and
`allowed-tools`, all optional, then the text. In the text, `$ARGUMENTS` is replaced by all arguments, and `$1` to `$9`
by one each. Claude Code runs a shell command in backquotes after `!`; here it stays in the text, and the agent may
propose it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workbench.agent.front_matter import read_inside, split_front_matter
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.events import CustomCommand
from workbench.text import first_line, visible, well_formed

_NAME: Final = lazy_pattern(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII)
_LINE: Final = lazy_pattern(r"/([\w.:-]+)(?:\s+(.*))?", re.DOTALL)
_PLACEHOLDER: Final = lazy_pattern(r"\$(?:ARGUMENTS(?:\[(\d{1,2})\])?|([1-9])(?!\d))")
_MOST_COMMANDS, _MOST_BYTES, _LONGEST = 200, 64_000, 200
_INHERITED: Final = ("", "inherit", "default")
_CLAUDE: Final = ".claude/commands"
"""Claude Code's directory in the user's home directory."""


class InvalidCommand(WorkbenchError):
    """The file of a custom command cannot be used; the message names it and says why."""


@dataclass(frozen=True)
class CommandFile:
    """One custom command; `path` is its file, and `origin` is "yours" (the user's) or "project" (the workspace's)."""

    name: str
    path: Path
    origin: str
    description: str
    body: str
    hint: str = ""
    """A description of its arguments, from the entry `argument-hint`."""
    model: str = ""
    """The saved model to use for the message; empty for the session's model."""
    tools: tuple[str, ...] | None = None
    """The names of the tools that the run may use, as written; None for all of them."""

    @property
    def words(self) -> str:
        """The description, followed by the origin in parentheses."""
        return f"{self.description} ({self.origin})"

    def expand(self, arguments: str) -> str:
        """Return the text with its placeholders replaced by the arguments; without placeholders, these are appended."""
        words = _words(arguments)
        takes_arguments = False

        def value(match: re.Match[str]) -> str:
            nonlocal takes_arguments
            takes_arguments = True
            if match[1] is None and match[2] is None:
                return arguments
            at = int(match[1]) if match[1] is not None else int(match[2]) - 1
            return words[at] if at < len(words) else ""

        text = _PLACEHOLDER.sub(value, self.body).strip()
        if arguments and not takes_arguments:
            text += f"\n\nArguments: {arguments}"
        # A message that is edited and sent again must not become a command line.
        return f"# {self.name}\n\n{text}" if text.startswith(("!", "/")) else text


def _words(arguments: str) -> list[str]:
    import shlex

    try:
        return shlex.split(arguments)
    except ValueError:  # a quote is not closed
        return arguments.split()


@dataclass(frozen=True)
class CommandMessage:
    """A message, the custom command that it was made from, and a notice if the command's model cannot be used."""

    text: str
    command: CustomCommand | None = None
    notice: str = ""


class CustomCommands:
    """The custom commands of one workspace: those of the workspace, once it is trusted, and the user's, which take
    precedence.

    `refresh` may be called in any thread.
    """

    def __init__(self, settings: Callable[[], Settings], workspace: Path, locations: Locations) -> None:
        """`settings` returns the current settings; they say whether the user trusts the workspace."""
        self._settings = settings
        self._workspace = workspace
        self._locations = locations
        self._files: Mapping[str, CommandFile] = {}
        self._read_at: Sequence[int] = ()

    @property
    def listed(self) -> Sequence[CommandFile]:
        """The commands, sorted by name; they are read again if one of their directories has changed."""
        if self._read_at != self._times():
            self.refresh()
        return [file for _, file in sorted(self._files.items())]

    def refresh(self) -> None:
        """Read the files again; files that cannot be used are skipped."""
        files: dict[str, CommandFile] = {}
        times = self._times()
        for directory, root, origin in self._directories():
            for path in _paths(directory):
                name = _name(path, directory)
                if len(files) < _MOST_COMMANDS and name and name not in files:
                    try:
                        files[name] = _read(path, root, name, origin)
                    except InvalidCommand:
                        continue  # reported when the command is used
        # The times are those from before the files were read: if a directory changed meanwhile, `listed` reads again.
        self._files, self._read_at = files, times

    def message(self, line: str) -> CommandMessage | None:
        """Return the message for a line such as `/review src`, or None if it names no custom command.

        The file is read again. Raises InvalidCommand if it cannot be used.
        """
        match = _LINE.fullmatch(line.strip())
        if match is None:
            return None
        for directory, root, origin in self._directories():
            for path in _paths(directory):
                if _name(path, directory) == match[1]:
                    return self._message(_read(path, root, match[1], origin), (match[2] or "").strip())
        return None

    def _message(self, file: CommandFile, arguments: str) -> CommandMessage:
        text = file.expand(arguments)
        if not text:
            raise InvalidCommand(f"{file.path} has no text")
        model, notice = file.model, ""
        if model and model not in self._settings().models:
            notice = f"{model} is not a saved model, so the session's model is used"
            model = ""
        source = well_formed(str(file.path))
        return CommandMessage(
            text, CustomCommand(name=file.name, source=source, model=model, tools=file.tools), visible(notice)
        )

    def _times(self) -> Sequence[int]:
        """Return the modification times, in nanoseconds, of all directories in which the files of commands can be."""
        from workbench.tools.trust import COMMANDS, command_directories

        roots = (self._locations.commands, Path.home() / _CLAUDE, *(self._workspace / name for name in COMMANDS))
        return [modified for root in roots for modified in map(_modified, command_directories(root))]

    def _directories(self) -> Iterator[tuple[Path, Path, str]]:
        """Yield each directory, the root that links in it must not leave, and the origin of its commands."""
        from workbench.tools.trust import COMMANDS, is_trusted, refreshed

        locations = self._locations
        yield locations.commands, locations.commands, "yours"
        yield Path.home() / _CLAUDE, Path.home() / _CLAUDE, "yours"
        if is_trusted(self._workspace, refreshed(locations, self._settings().trusted)):
            for name in COMMANDS:
                yield self._workspace / name, self._workspace, "project"


def _modified(directory: Path) -> int:
    """Return the modification time in nanoseconds; 0 for a directory that does not exist."""
    try:
        return directory.stat().st_mtime_ns
    except OSError:
        return 0


def _paths(directory: Path) -> list[Path]:
    from workbench.tools.trust import command_files

    try:
        return command_files(directory)
    except OSError:
        return []


def _name(path: Path, directory: Path) -> str:
    """Return the name of the command in a file, such as `git:commit` for `git/commit.md`; empty if it is invalid."""
    parts = path.relative_to(directory).with_suffix("").parts
    return ":".join(parts) if all(map(_NAME.fullmatch, parts)) else ""


def _read(path: Path, root: Path, name: str, origin: str) -> CommandFile:
    """Return the command in a file. Raises InvalidCommand if the file cannot be read or is too large."""
    data = read_inside(path, root, _MOST_BYTES + 1)
    if data is None:
        raise InvalidCommand(f"{path} cannot be read, or is a link that leads elsewhere")
    if len(data) > _MOST_BYTES:
        raise InvalidCommand(f"{path} is longer than {_MOST_BYTES // 1000} kB")
    text = well_formed(data.decode("utf-8", "replace"))
    entries, body = split_front_matter(text, is_lenient=True) or ({}, text)
    model = _text(entries, "model")
    return CommandFile(
        name,
        path,
        origin,
        description=first_line(_text(entries, "description") or body or name, _LONGEST),
        body=body,
        hint=first_line(_text(entries, "argument-hint"), 60),
        model="" if model in _INHERITED else model,
        tools=_tools(entries),
    )


def _text(entries: Mapping[str, Any], name: str) -> str:
    """Return an entry as one line; a list becomes words in brackets, because YAML reads `[branch]` as a list."""
    value = entries.get(name)
    if isinstance(value, list):
        return " ".join(f"[{each}]" for each in value)
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _tools(entries: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the names of the allowed tools, from a list or a text with commas.

    Returns None (all tools) if the entry is missing, and no tools if it has another type.
    """
    value = entries.get("allowed-tools", entries.get("allowed_tools"))
    if value is None:
        return None
    if isinstance(value, str):
        value = re.split(r",(?![^(]*\))", value)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(filter(None, (well_formed(str(each)).strip() for each in value)))
