"""Detects actions that would do, in another way, what the user refused in this run; used by the rating."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from workbench.files.root_directory import real_path
from workbench.rules.rule_files import subject_again
from workbench.rules.subject import Subject
from workbench.session.state import OpenAction, State
from workbench.text import first_line
from workbench.tools.manifest import kind_of

RULE: Final = "the same was refused before in this run"
_SHORTEST = 3


class Effect(NamedTuple):
    """The paths that a refused action would have touched, and the commands it would have run; `what` describes it."""

    what: str
    paths: frozenset[str]
    names: tuple[str, ...]
    """The forms in which the paths may be written: as given, and relative to the workspace."""
    commands: tuple[tuple[str, ...], ...]


class Refusals:
    """The actions of one session that were refused in its current run, and those of its parent session."""

    def __init__(self, state: State, parent: Refusals | None = None) -> None:
        self._state = state
        self._parent = parent
        self._effects: dict[str, Effect] = {}

    def effects(self, since: datetime | None = None) -> list[Effect]:
        """Return the effect of each refused action; with `since`, only of actions refused after that time."""
        refused = {action.proposed.action_id: action for action in self._state.refused if _is_later(action, since)}
        for name, action in refused.items():
            if name not in self._effects:
                self._effects[name] = effect_of(action, self._state.workspace)
        return [*(self._effects[name] for name in refused), *(self._parent.effects(since) if self._parent else ())]


def _is_later(action: OpenAction, since: datetime | None) -> bool:
    return since is None or (action.decided is not None and action.decided.at > since)


def effect_of(action: OpenAction, workspace: str) -> Effect:
    """Return the effect of a refused action."""
    assessed = action.assessed
    directory = assessed.working_dir if assessed else ""
    subject = subject_again(action.proposed.tool, action.proposed.arguments, workspace, directory)
    paths = {*subject.paths, *(file.path for file in (assessed.preview if assessed else ()))}
    real = frozenset(real_path(path) for path in paths) - {real_path(workspace), "/"}
    names = {name for path in paths for name in (path, os.path.relpath(path, workspace)) if len(name) >= _SHORTEST}
    commands = tuple(part.words for part in subject.parts if part.words and part.risk != "LOW")
    what = subject.command or f"{action.proposed.tool} {action.proposed.arguments.get('path', '')}"
    return Effect(first_line(what.strip(), 80), real, tuple(sorted(names)), commands)


def repeats(subject: Subject, refused: Sequence[Effect]) -> str:
    """Return the reason to ask the user if an action has an effect that the user has refused; otherwise empty."""
    if not refused:
        return ""
    paths = {real_path(path) for path in subject.paths}
    commands = {part.words for part in subject.parts if part.words}
    strings = [] if kind_of(subject.tool) == "edit" else list(_strings(subject.arguments))
    for effect in refused:
        if paths & effect.paths or commands & set(effect.commands) or any(_tells(text, effect) for text in strings):
            return f"does what was refused before: {effect.what}"
    return ""


def _tells(text: str, effect: Effect) -> bool:
    """Return whether a text names a path of the refused action, or the first words of one of its commands."""
    if any(re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-])", text) for name in effect.names):
        return True
    return any(
        all(word in text for word in words[:3]) and len("".join(words)) >= _SHORTEST for words in effect.commands
    )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)
