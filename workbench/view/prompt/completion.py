"""What the text before the cursor asks to be completed, and how a path is written in a message; pure."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.session.mentions import BEHIND
from workbench.text import counted, first_line, visible
from workbench.view.commands import COMMANDS, command_named, words_after

if TYPE_CHECKING:
    from workbench.mcp.mentions import MentionTargets, ServerPrompt

Kind = Literal["command", "argument", "file", "history"]

_COMMAND = re.compile(r"/([\w.:-]*)")
_ARGUMENT = re.compile(r"/([\w-]+) (\S*)")
_OPEN_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<,;:='"]))@("[^"]*|[^\s"]*)$""")


@dataclass(frozen=True)
class Wish:
    """The part of the line from `start` to the cursor is to become something; `of` is the command of an argument."""

    kind: Kind
    query: str
    start: int
    of: str = ""


def wish_at(lines: list[str], row: int, column: int) -> Wish | None:
    """What is asked for where the cursor stands."""
    before = lines[row][:column]
    if row == 0 and len(lines) == 1 and before.startswith("/"):
        if found := _COMMAND.fullmatch(before):
            return Wish("command", found[1], 0)
        if found := _ARGUMENT.fullmatch(before):
            return Wish("argument", found[2], found.start(2), found[1])
    if found := _OPEN_MENTION.search(before):
        return Wish("file", found[1].lstrip('"'), found.start())
    return None


def mention_of(path: str) -> str:
    """How a path is written in a message."""
    return f'@"{path}"' if re.search(r"[\s\"]", path) or path[-1:] in BEHIND else f"@{path}"


_MAY_NAME_ONE = re.compile(r"@\"?[\w.-]+:")


class ServerOffers:
    """What was found last; `look` finds it anew and may be called in any thread."""

    def __init__(self, settings: Callable[[], Settings], folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._found: MentionTargets | None = None

    def look(self) -> Sequence[str]:
        """Look what is known now; the names of the resources."""
        from workbench.tools.trust import SERVERS

        settings = self._settings()
        if not settings.mcpServers and not (self._folder / SERVERS).is_file():
            self._found = None
            return ()
        from workbench.mcp.mentions import offers_of

        self._found = offers_of(Locations.from_environment(), settings, self._folder)
        return list(self._found.resources)

    def words_on(self, resource: str) -> str:
        """A few words on a resource."""
        return self._found.resources.get(resource, "") if self._found else ""

    @property
    def prompts(self) -> Sequence[ServerPrompt]:
        """The prompts that were found."""
        return list(self._found.prompts.values()) if self._found else ()

    def prompt(self, name: str) -> ServerPrompt | None:
        """The prompt that is written `server:name`."""
        return self._found.prompts.get(name) if self._found else None

    def is_resource(self, text: str) -> Callable[[str], bool]:
        """What tells whether a mention in this text names a resource; looked up now where it may matter."""
        if self._found is None and _MAY_NAME_ONE.search(text):
            self.look()
        found = self._found
        return found.is_resource if found is not None else lambda written: False


Rank = tuple[int, int, str]
"""How well a text fits: kind of fit (0 is best), length, the text in small letters."""


def best(query: str, texts: Iterable[str], most: int) -> list[str]:
    """The `most` texts that fit best, wherever the letters of the query stand in them in this order."""
    rank = ranking(query)
    found = ((fit, text) for text in texts if (fit := rank(text.lower())) is not None)
    return [text for _, text in heapq.nsmallest(most, found)]


def ranking(query: str) -> Callable[[str], Rank | None]:
    """A function from a text in small letters to its rank, or None where it does not fit."""
    wanted = query.lower()
    scattered = re.compile("".join(f"[^{re.escape(sign)}]*{re.escape(sign)}" for sign in wanted), re.DOTALL).match

    def rank(text: str) -> Rank | None:
        if not scattered(text):
            return None
        name = text[text.rstrip("/").rfind("/") + 1 :]
        return _kind(wanted, text, name, scattered), len(text), text

    return rank


def _kind(wanted: str, text: str, name: str, scattered: Callable[[str], object]) -> int:
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in text:
        return 2
    return 3 if scattered(name) else 4


def places(query: str, text: str) -> Sequence[int]:
    """Where the letters of the query stand in the text, to make them stand out; together where they can."""
    small, wanted = text.lower(), query.lower()
    if len(small) != len(text):
        return ()
    name = small.rstrip("/").rfind("/") + 1
    whole = small.find(wanted, name) if wanted in small[name:] else small.find(wanted)
    if whole >= 0:
        return range(whole, whole + len(wanted))
    return _scattered(wanted, small, name) or _scattered(wanted, small, 0)


def _scattered(wanted: str, text: str, start: int) -> list[int]:
    found: list[int] = []
    at = start - 1
    for sign in wanted:
        at = text.find(sign, at + 1)
        if at < 0:
            return []
        found.append(at)
    return found


MOST = 50
Names = Callable[[], Sequence[tuple[str, str]]]
"""The arguments there are now, each with one line on it."""


@dataclass(frozen=True)
class CompletionRow:
    """One row: what it shows, and what stands in the text when it is taken; with `runs` it can be sent at once."""

    label: str
    words: str
    insert: str
    runs: bool = False


class Completer:
    """`on_change` is called whenever the list looks different."""

    def __init__(
        self,
        arguments: Mapping[str, Names],
        history: Callable[[], Sequence[str]],
        ask_files: Callable[[str], None],
        on_change: Callable[[], None],
        offers: ServerOffers,
    ) -> None:
        self._offers = offers
        self.choices: list[CompletionRow] = []
        self.at = 0
        self.wish: Wish | None = None
        self._arguments = arguments
        self._history = history
        self._ask_files = ask_files
        self._on_change = on_change
        self._closed: Wish | None = None
        self._searches = False

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose."""
        return bool(self.choices)

    @property
    def chosen(self) -> CompletionRow | None:
        """The row that would be taken."""
        return self.choices[self.at] if self.choices and self.at >= 0 else None

    def search_history(self, query: str) -> bool:
        """Look in the history from here on, or go on to an older one; False when there is none."""
        if self._searches and self.is_open:
            self.move(1)
            return True
        self._searches = True
        self.look(None, query)
        return self.is_open

    def look(self, wish: Wish | None, text: str) -> None:
        """The text has changed: find what fits it now. While the history is searched, all of it is the query."""
        wish = Wish("history", text, 0) if self._searches else wish
        if wish == self.wish:
            return
        same_place = wish is not None and self._closed is not None and wish.start == self._closed.start
        if wish is None or not (same_place and self._closed and wish.kind == self._closed.kind):
            self._closed = None
        self.wish = wish
        if wish is None or self._closed is not None:
            self._show([])
        elif wish.kind == "file":
            self._ask_files(wish.query)
        else:
            self._show(self._found(wish))

    def found_files(self, query: str, paths: Sequence[str]) -> None:
        """Files were found; an answer to something typed before is too late."""
        wish = self.wish
        if wish is not None and wish.kind == "file" and wish.query == query and self._closed is None:
            inside = [path for path in paths if path != query or not path.endswith("/")]
            self._show([CompletionRow(path, self._offers.words_on(path), mention_of(path)) for path in inside])

    def move(self, by: int) -> None:
        """Choose another row, round and round."""
        if self.choices:
            self.at = (max(self.at, 0 if by < 0 else -1) + by) % len(self.choices)
            self._on_change()

    def close(self) -> None:
        """Show nothing more for what is being typed."""
        self._closed, self._searches = self.wish, False
        self._show([])

    def forget(self) -> None:
        """Begin anew, with another text."""
        self.wish = self._closed = None
        self._searches = False
        self._show([])

    def _found(self, wish: Wish) -> list[CompletionRow]:
        if wish.kind == "history":
            return [CompletionRow(first_line(text, 300), _lines(text), text) for text in self._remembered(wish.query)]
        if wish.kind == "argument":
            listed = self._arguments.get(wish.of)
            words = dict(listed()) if listed else words_after(wish.of)
            return [CompletionRow(name, words[name], name, runs=True) for name in _named(wish.query, words)]
        names = [command.name for command in COMMANDS]
        prompts = {f"{each.server}:{each.name}": each for each in self._offers.prompts}
        found = _named(wish.query, [*names, *prompts])
        return [_prompt(name, prompts[name]) if name in prompts else _command(name) for name in found]

    def _remembered(self, query: str) -> list[str]:
        words = query.lower().split()
        found = (text for text in self._history() if all(word in text.lower() for word in words))
        return [text for _, text in zip(range(MOST), found, strict=False)]

    def _show(self, choices: list[CompletionRow]) -> None:
        if choices or self.choices:
            self.choices, self.at = choices, -1 if self.wish is not None and _is_free(self.wish) else 0
            self._on_change()


def _named(query: str, names: Iterable[str]) -> Iterable[str]:
    """Those that fit; without a letter all, in their own order."""
    return best(query, names, MOST) if query else names


def _is_free(wish: Wish) -> bool:
    """Whether something else than what is listed may be meant: then nothing is chosen before the person does."""
    command = command_named(wish.of)
    return command is not None and not command.only_listed


def _command(name: str) -> CompletionRow:
    command = command_named(name)
    assert command is not None
    return CompletionRow(f"/{name} {command.argument}".rstrip(), command.words, f"/{name}", runs=not command.argument)


def _prompt(name: str, prompt: ServerPrompt) -> CompletionRow:
    wanted = " ".join(f"{each.name}=" if each.required else f"[{each.name}=]" for each in prompt.arguments)
    first = next((f" {each.name}=" for each in prompt.arguments if each.required), "")
    return CompletionRow(f"/{name} {wanted}".rstrip(), prompt.words, f"/{name}{first}", runs=not prompt.arguments)


def _lines(text: str) -> str:
    more = len(visible(text).strip().splitlines()) - 1
    return f"{counted(more, 'line')} more" if more > 0 else ""
