"""Finds the text before the cursor that can be completed, ranks the matches, and keeps the choices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.lazy_pattern import lazy_pattern
from workbench.session.file_search import best
from workbench.session.mentions import BEHIND
from workbench.text import counted, first_line, visible, visible_path
from workbench.view.commands import COMMANDS, command_named, takes_argument, words_after

if TYPE_CHECKING:
    from workbench.agent.custom_commands import CommandFile, CustomCommands
    from workbench.mcp.mentions import MentionTargets, ServerPrompt

Kind = Literal["command", "argument", "file", "history"]

_COMMAND = lazy_pattern(r"/([\w.:-]*)")
_ARGUMENT = lazy_pattern(r"/([\w-]+) (\S*)")
_OPEN_MENTION = lazy_pattern(r"""(?:^|(?<=[\s(\[{<,;:='"]))@("[^"]*|[^\s"]*)$""")


class CompletionRequest(Struct, frozen=True):
    """The text from `start` to the cursor, for completion; `of` is the command that an argument belongs to."""

    kind: Kind
    query: str
    start: int
    of: str = ""


def request_at(lines: list[str], row: int, column: int) -> CompletionRequest | None:
    """Return the completion that the text before the cursor asks for, or None."""
    before = lines[row][:column]
    if row == 0 and len(lines) == 1 and before.startswith("/"):
        if match := _COMMAND.fullmatch(before):
            return CompletionRequest("command", match[1], 0)
        if match := _ARGUMENT.fullmatch(before):
            return CompletionRequest("argument", match[2], match.start(2), match[1])
    if match := _OPEN_MENTION.search(before):
        return CompletionRequest("file", match[1].lstrip('"'), match.start())
    return None


def mention_of(path: str) -> str:
    """Return a path as a mention in a message, quoted if necessary."""
    return f'@"{path}"' if re.search(r"[\s\"]", path) or path[-1:] in BEHIND else f"@{path}"


_MAY_NAME_ONE = lazy_pattern(r"@\"?[\w.-]+:")


class ServerOffers:
    """The resources and prompts that MCP servers offer, as last listed; `refresh` may be called in any thread."""

    def __init__(self, settings: Callable[[], Settings], directory: Path) -> None:
        self._settings = settings
        self._directory = directory
        self._targets: MentionTargets | None = None

    def refresh(self) -> Sequence[str]:
        """Update the list of the servers' offers, and return the names of the resources."""
        from workbench.tools.trust import SERVERS

        settings = self._settings()
        if not settings.mcpServers and not (self._directory / SERVERS).is_file():
            self._targets = None
            return ()
        from workbench.mcp.mentions import offers_of

        self._targets = offers_of(Locations.from_environment(), settings, self._directory)
        return list(self._targets.resources)

    def words_on(self, resource: str) -> str:
        """Return a short description of a resource, or ""."""
        return self._targets.resources.get(resource, "") if self._targets else ""

    @property
    def prompts(self) -> Sequence[ServerPrompt]:
        """The prompts in the last list."""
        return list(self._targets.prompts.values()) if self._targets else ()

    def prompt(self, name: str) -> ServerPrompt | None:
        """Return the prompt written as `server:name`, or None."""
        return self._targets.prompts.get(name) if self._targets else None

    def is_resource(self, text: str) -> Callable[[str], bool]:
        """Return a function that returns whether a mention names a resource.

        If no list has been read yet and the text may mention one, it is read first.
        """
        if self._targets is None and _MAY_NAME_ONE.search(text):
            self.refresh()
        targets = self._targets
        return targets.is_resource if targets is not None else lambda written: False


def match_offsets(query: str, text: str) -> Sequence[int]:
    """Return the offsets of the query's letters in the text, to highlight them; contiguous if possible."""
    small, needle = text.lower(), query.lower()
    if len(small) != len(text):
        return ()
    name = small.rstrip("/").rfind("/") + 1
    whole = small.find(needle, name) if needle in small[name:] else small.find(needle)
    if whole >= 0:
        return range(whole, whole + len(needle))
    return _scattered(needle, small, name) or _scattered(needle, small, 0)


def _scattered(needle: str, text: str, start: int) -> list[int]:
    offsets: list[int] = []
    at = start - 1
    for sign in needle:
        at = text.find(sign, at + 1)
        if at < 0:
            return []
        offsets.append(at)
    return offsets


MOST = 50


class Arguments(Struct, frozen=True):
    """The possible arguments of a command."""

    names: Callable[[], Sequence[tuple[str, str]]]
    """Returns the arguments known so far, each with a one-line description."""
    refresh: Callable[[], None] | None = None
    """Updates what `names` returns; takes seconds. None if that is always complete."""


class CompletionRow(Struct, frozen=True):
    """One row of the list: its label, its description, and the text it inserts.

    `runs` means that the text can be sent at once, `may_continue` that an argument may follow it nevertheless.
    """

    label: str
    words: str
    insert: str
    runs: bool = False
    may_continue: bool = False


class Completer:
    """The completion list of the prompt: the matches and the selected row. Calls `on_change` when it changes."""

    def __init__(
        self,
        arguments: Mapping[str, Arguments],
        list_arguments: Callable[[str, Callable[[], None]], None],
        history: Callable[[], Sequence[str]],
        ask_files: Callable[[str], None],
        on_change: Callable[[], None],
        *,
        offers: ServerOffers,
        commands: CustomCommands,
    ) -> None:
        self._offers = offers
        self._commands = commands
        self.choices: list[CompletionRow] = []
        self.at = 0
        self.request: CompletionRequest | None = None
        self._arguments = arguments
        self._list_arguments = list_arguments
        self._history = history
        self._ask_files = ask_files
        self._on_change = on_change
        self._closed: CompletionRequest | None = None
        self._searches = False

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose."""
        return bool(self.choices)

    @property
    def chosen(self) -> CompletionRow | None:
        """The selected row, or None."""
        return self.choices[self.at] if self.choices and self.at >= 0 else None

    @property
    def is_searching(self) -> bool:
        """Whether the history is searched, even if nothing matches."""
        return self._searches

    def search_history(self, query: str) -> bool:
        """Start searching the history or, if already searching, go to an older entry; return False if there is none."""
        if self._searches and self.is_open:
            self.move(1)
            return True
        self._searches = True
        self.update(None, query)
        return self.is_open

    def update(self, request: CompletionRequest | None, text: str) -> None:
        """Find the matches for the changed text; while the history is searched, the whole text is the query."""
        request = CompletionRequest("history", text, 0) if self._searches else request
        if request == self.request:
            return
        self._refresh_arguments(request)
        same_start = request is not None and self._closed is not None and request.start == self._closed.start
        if request is None or not (same_start and self._closed and request.kind == self._closed.kind):
            self._closed = None
        self.request = request
        if request is None or self._closed is not None:
            self._show([])
        elif request.kind == "file":
            self._ask_files(request.query)
        else:
            self._show(self._rows_for(request))

    def show_files(self, query: str, paths: Sequence[str]) -> None:
        """Show the files that were found, unless the text has changed since they were requested."""
        request = self.request
        if request is not None and request.kind == "file" and request.query == query and self._closed is None:
            inside = [path for path in paths if path != query or not path.endswith("/")]
            self._show(
                [CompletionRow(visible_path(path), self._offers.words_on(path), mention_of(path)) for path in inside]
            )

    def _refresh_arguments(self, request: CompletionRequest | None) -> None:
        """Start listing the arguments of a command when the first completion of one is requested."""
        of = request.of if request is not None else ""
        listed = self._arguments.get(of)
        if listed is not None and listed.refresh is not None and (self.request is None or self.request.of != of):
            self._list_arguments(of, listed.refresh)

    def show_arguments(self, of: str) -> None:
        """Show the arguments that were listed, with the same row selected, unless the text has changed since."""
        request, chosen = self.request, self.chosen
        if request is None or request.of != of or self._closed is not None:
            return
        self._show(self._rows_for(request))
        if chosen in self.choices:
            self.at = self.choices.index(chosen)

    def move(self, by: int) -> None:
        """Select another row, wrapping around at both ends."""
        if self.choices:
            self.at = (max(self.at, 0 if by < 0 else -1) + by) % len(self.choices)
            self._on_change()

    def close(self) -> None:
        """Close the list, and keep it closed for the text being typed."""
        self._closed, self._searches = self.request, False
        self._show([])

    def forget(self) -> None:
        """Close the list and start over, for another text."""
        self.request = self._closed = None
        self._searches = False
        self._show([])

    def _rows_for(self, request: CompletionRequest) -> list[CompletionRow]:
        if request.kind == "history":
            return [
                CompletionRow(first_line(text, 300), _lines(text), text) for text in self._remembered(request.query)
            ]
        if request.kind == "argument":
            listed = self._arguments.get(request.of)
            words = dict(listed.names()) if listed else words_after(request.of)
            return [
                CompletionRow(name, words[name], name, runs=True, may_continue=takes_argument(f"{request.of} {name}"))
                for name in _named(request.query, words)
            ]
        names = [command.name for command in COMMANDS]
        prompts = {f"{each.server}:{each.name}": each for each in self._offers.prompts}
        custom = {each.name: each for each in self._commands.listed if each.name not in names}
        rows = {name: _command(name, is_listed=name in self._arguments) for name in names}
        rows |= {name: _custom(custom[name]) for name in custom}
        rows |= {name: _prompt(name, prompts[name]) for name in prompts}
        return [rows[name] for name in _named(request.query, rows)]

    def _remembered(self, query: str) -> list[str]:
        words = query.lower().split()
        matching = (text for text in self._history() if all(word in text.lower() for word in words))
        return [text for _, text in zip(range(MOST), matching, strict=False)]

    def _show(self, choices: list[CompletionRow]) -> None:
        if choices or self.choices:
            self.choices, self.at = choices, -1 if self.request is not None and _is_free(self.request) else 0
            self._on_change()


def _named(query: str, names: Iterable[str]) -> Iterable[str]:
    """Return the names that match the query; for an empty query all of them, in their own order."""
    return best(query, names, MOST) if query else names


def _is_free(request: CompletionRequest) -> bool:
    """Return whether a value outside the list may be meant; then no row is selected until the user selects one."""
    command = command_named(request.of)
    return command is not None and not command.only_listed


def _command(name: str, *, is_listed: bool) -> CompletionRow:
    """Return the row of a command. It runs at once, as no command needs its argument, unless the arguments are listed
    (`is_listed`), because then the list of them comes next.
    """
    command = command_named(name)
    assert command is not None
    label = f"/{name} {command.argument}".rstrip()
    return CompletionRow(label, command.words, f"/{name}", runs=not is_listed, may_continue=bool(command.argument))


def _custom(command: CommandFile) -> CompletionRow:
    takes_arguments = bool(command.hint)
    return CompletionRow(
        f"/{command.name} {command.hint}".rstrip(), command.words, f"/{command.name}", runs=not takes_arguments
    )


def _prompt(name: str, prompt: ServerPrompt) -> CompletionRow:
    usage = " ".join(f"{each.name}=" if each.required else f"[{each.name}=]" for each in prompt.arguments)
    first = next((f" {each.name}=" for each in prompt.arguments if each.required), "")
    return CompletionRow(f"/{name} {usage}".rstrip(), prompt.words, f"/{name}{first}", runs=not prompt.arguments)


def _lines(text: str) -> str:
    more = len(visible(text).strip().splitlines()) - 1
    return f"{counted(more, 'line')} more" if more > 0 else ""
