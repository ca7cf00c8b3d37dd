"""The entries of the palette: commands, active keys, modes, models, themes, sessions and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen

from workbench.config.modes import MODES
from workbench.config.settings import Settings
from workbench.session.file_search import ranking
from workbench.tui.key_names import key_name
from workbench.tui.themes import theme_order
from workbench.view.commands import COMMANDS

if TYPE_CHECKING:
    from workbench.agent.custom_commands import CommandFile
    from workbench.mcp.mentions import ServerPrompt

Rank = tuple[int, int, int]
"""How well an entry matches (lower is better): kind of match, kind of entry, length."""

_KINDS: Final = ("command", "key", "mode", "model", "session", "theme", "file")
_OF_THE_PROMPT: Final = frozenset(
    ("send", "newline", "take", "close-list", "page-up", "page-down", "prompt-help", "quit-empty")
) | {"palette", "leave", "leave-app", "demo"}
"""Bindings that the palette omits: they are useful only while writing, or open the palette itself."""
_SCATTERED, _IN_WORDS = 3, 5
"""Kinds of match: the letters are scattered over the label; the words occur in the description."""


@dataclass(frozen=True)
class PaletteEntry:
    """One row: its kind, label and description, the key that does the same, and the action to run on `node`."""

    kind: str
    label: str
    words: str
    action: str
    key: str = ""
    node: DOMNode | None = None


@dataclass(frozen=True)
class PastSession:
    """A session that can be resumed: its id, its title, and when and where it was last used."""

    id: str
    title: str
    words: str


def entries_of(
    app: App[Any],
    screen: Screen[Any],
    settings: Settings,
    prompts: Sequence[ServerPrompt] | None = None,
    custom: Sequence[CommandFile] = (),
) -> list[PaletteEntry]:
    """Return the entries for a screen; `prompts` are the MCP servers' prompts, or None if it is not the main screen,
    and `custom` are the custom commands.
    """
    is_main = prompts is not None
    keys = {_whole_action(active.node, active.binding.action): active for active in screen.active_bindings.values()}
    entries = [*_commands(keys), *map(_custom_entry, custom), *map(_prompt_entry, prompts or ())] if is_main else []
    actions = {entry.action for entry in entries}
    entries += [entry for entry in _bindings(screen) if entry.action not in actions]
    if is_main:
        entries += [
            PaletteEntry("mode", mode.label, f"{mode.meaning} · /mode {name}", f"mode({name!r})")
            for name, mode in MODES.items()
        ]
        entries += [
            PaletteEntry("model", name, settings.profile(name).model, f"app.model({name!r})")
            for name in settings.models
        ]
    entries += [
        PaletteEntry("theme", name, "", f"app.change_theme({name!r})") for name in theme_order(app.available_themes)
    ]
    return entries


def session_entries(sessions: Sequence[PastSession]) -> list[PaletteEntry]:
    """Return an entry for each session, which resumes it."""
    return [
        PaletteEntry("session", each.title or each.id, each.words, f"app.session({each.id!r})") for each in sessions
    ]


def file_entries(paths: Sequence[str]) -> list[PaletteEntry]:
    """Return an entry for each file, which mentions it in the prompt."""
    return [PaletteEntry("file", path, "", f"mention({path!r})") for path in paths]


def recent_first(entries: Sequence[PaletteEntry], recent: Sequence[str]) -> list[PaletteEntry]:
    """Return the entries with those whose actions are in `recent` first, in that order."""
    order = {action: number for number, action in enumerate(recent)}
    return sorted(entries, key=lambda entry: order.get(entry.action, len(order)))


def fitting(query: str, entries: Sequence[PaletteEntry], most: int) -> list[PaletteEntry]:
    """Return at most `most` matching entries, best first; for an empty query, the first entries in their order."""
    if not query.strip():
        return list(entries[:most])
    ranked = [(rank, at) for at, entry in enumerate(entries) if (rank := _rank(query.strip(), entry)) is not None]
    return [entries[at] for _, at in sorted(ranked)[:most]]


def _rank(query: str, entry: PaletteEntry) -> Rank | None:
    label = entry.label.lower().removeprefix("/")
    kind = _KINDS.index(entry.kind)
    fit = ranking(query)(label)
    # Scattered letters in a sentence mean nothing.
    if fit is not None and (fit[0] < _SCATTERED or entry.kind != "session"):
        return fit[0], kind, len(label)
    text = f"{entry.kind} {label} {entry.words}".lower()
    return (_IN_WORDS, kind, len(label)) if all(word in text for word in query.lower().split()) else None


def _commands(keys: dict[str, Any]) -> Iterator[PaletteEntry]:
    for command in COMMANDS:
        bound = keys.pop(command.action, None)  # of two commands with the same action, the first one shows the key
        key = key_name(bound.binding.key) if bound is not None else ""
        yield PaletteEntry("command", f"/{command.name}", command.words, command.action, key)


def _custom_entry(command: CommandFile) -> PaletteEntry:
    return PaletteEntry("command", f"/{command.name}", command.words, f"named_prompt({command.name!r})")


def _prompt_entry(prompt: ServerPrompt) -> PaletteEntry:
    name = f"{prompt.server}:{prompt.name}"
    return PaletteEntry("command", f"/{name}", prompt.words, f"named_prompt({name!r})")


def _bindings(screen: Screen[Any]) -> Iterator[PaletteEntry]:
    ids: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        if not (binding.id and binding.description and active.enabled) or binding.id in _OF_THE_PROMPT | ids:
            continue
        ids.add(binding.id)
        action = _whole_action(active.node, binding.action)
        yield PaletteEntry("key", binding.description, "", action, key_name(binding.key), active.node)


def _whole_action(node: DOMNode, action: str) -> str:
    """Return the action with the prefix `app.` if the app runs it, as in the commands of the prompt."""
    return f"app.{action}" if isinstance(node, App) and not action.startswith("app.") else action
