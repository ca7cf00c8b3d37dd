"""The user's settings for the Settings screen: current values and their origin, checks, and saving."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.locations import Locations
from workbench.config.settings import (
    Settings,
    check_setting,
    fallback_problems,
    load_settings,
    origin_of,
    read_profile,
    written_settings,
)
from workbench.errors import UsageError, WorkbenchError
from workbench.tools.trust import refreshed
from workbench.tui.keys import check_key
from workbench.tui.settings.entries import (
    ADD,
    SettingEntry,
    added,
    check_profile,
    entries_of,
    format_value,
    is_profile,
    removed,
    renamed,
)
from workbench.tui.settings.model_in_use import InUse, in_use
from workbench.tui.settings.providers import Way, profile_changes, session_changes

if TYPE_CHECKING:
    from workbench.files.toml_edit import KeyPath

Listener = Callable[[Settings], None]


@dataclass(frozen=True)
class CurrentValue:
    """The value of a row as the form shows it, and its origin."""

    text: str
    source: str
    is_yours: bool = False
    """Whether the user's file sets it."""
    note: str = ""
    problem: str = ""
    """Why the file's entry is ignored."""
    is_masked: bool = False
    """Whether `text` omits a part of the value, or is not a value."""


class SettingsModel:
    """Reads and writes `settings.toml`; `settings` holds the settings in effect.

    The TOML editor is imported when something is saved, because loading tomlkit takes 50 ms.
    """

    def __init__(
        self,
        locations: Locations,
        settings: Settings,
        env: Mapping[str, str] = os.environ,
        listeners: Sequence[Listener] = (),
    ) -> None:
        """The `listeners` are called with the settings after each change."""
        self._locations = locations
        self._env = env
        self._listeners = list(listeners)
        self.settings = settings
        self._valid: Mapping[str, Any] = {}
        self._raw: Mapping[str, Any] = {}
        self._in_use = InUse()
        self.problems: Sequence[str] = ()

    @property
    def file(self) -> Path:
        """The user's settings file."""
        return self._locations.settings_file

    def subscribe(self, listener: Listener) -> None:
        """Call the listener with the settings after each change."""
        self._listeners.append(listener)

    def read(self, themes: Sequence[str]) -> list[SettingEntry]:
        """Read the file again and return every row."""
        self._read_file()
        self._in_use = in_use(self.settings, self._locations, self._env)
        return entries_of(self.settings, themes)

    def current(self, entry: SettingEntry) -> CurrentValue:
        """Return the value of a row."""
        text, source = self._in_use.of_row(entry.name)
        if text:
            is_written = self._source(entry)[1]
            return CurrentValue(_without_password(text), source, is_written, self._in_use.note, is_masked=True)
        if entry.is_secret:
            return CurrentValue("set, not shown" if self.settings.api_key else "not set", *self._source(entry))
        if is_profile(entry.path):
            name = entry.path[1] if entry.path != ADD else ""
            return CurrentValue(name or "Enter adds one", "your file" if name else "", bool(name), is_masked=not name)
        value = _at(_tables(self.settings), entry.path)
        text = "yes, with parameters" if isinstance(value, Mapping) else entry.show(value)
        safe, problem = _without_password(text), self._problem(entry)
        return CurrentValue(safe or entry.default, *self._source(entry), problem=problem, is_masked=safe != text)

    def check(self, entry: SettingEntry, text: str) -> str:
        """Return why a text is not valid for this row; empty if it can be saved."""
        try:
            self._value(entry, text)
        except (ValueError, WorkbenchError) as error:
            return str(error)
        return ""

    def save(self, entry: SettingEntry, text: str) -> str:
        """Save the text of a row; an empty text restores the default. Return the name of a saved model's row, else "".

        Raises UsageError if the text is not valid or the file cannot be written.
        """
        try:
            value = self._value(entry, text)
        except ValueError as error:
            raise UsageError(f"{entry.name}: {error}") from None
        if is_profile(entry.path):
            return self._save_profile(entry.path, text.strip())
        self.write({entry.path: value})
        return ""

    def remove(self, entry: SettingEntry) -> None:
        """Delete a whole saved model from the file. Raises UsageError if the file cannot be written."""
        self.write(removed(entry.path[1], self._raw))

    def _save_profile(self, path: KeyPath, text: str) -> str:
        from workbench.files.toml_edit import rename_table

        if path == ADD:
            text, changes = added(text, self._profiles())
            self.write(changes)
        elif text != path[1]:
            rename_table(self.file, "models", path[1], text, renamed(path[1], text, self._raw))
            self._reload()
        return text

    def _profiles(self) -> set[str]:
        """Return the names of all saved models, including invalid ones."""
        return {*self.settings.models, *(_at(self._raw, ("models",)) or ())}

    def write(self, changes: Mapping[KeyPath, Any]) -> None:
        """Write entries without checks and apply them. Raises UsageError if the file cannot be written."""
        from workbench.files.toml_edit import write_settings

        write_settings(self.file, changes)
        self._reload()

    def _reload(self) -> None:
        before = self.settings
        flags = {name: getattr(before, name) for name in before.from_flags}
        after = load_settings(self._locations, self._env, lenient=True, **flags)
        self._read_file()
        self._apply(replace(after, trusted=refreshed(self._locations, after.trusted), rules=before.rules))

    def _read_file(self) -> None:
        self._valid, self.problems = written_settings(self._locations)
        try:
            self._raw = tomllib.loads(self.file.read_text(encoding="utf-8")) if self.file.is_file() else {}
        except (OSError, ValueError):
            self._raw = {}

    def _problem(self, entry: SettingEntry) -> str:
        """Return why the file's entry for this row is ignored; empty if it is not."""
        raw = _at(self._raw, entry.path)
        if raw is None or _at(self._valid, entry.path) is not None:
            return ""
        return self.check(entry, format_value(raw)) or f"invalid value {format_value(raw)!r}"

    def save_model(self, way: Way) -> tuple[str, str]:
        """Use this model for new sessions; return the name of its saved model, and any error in writing it."""
        name, changes = profile_changes(way, self.settings.models)
        try:
            self.write(changes)
        except UsageError as error:
            table = {path[2]: value for path, value in changes.items() if path[0] == "models"}
            models = {**self.settings.models, name: table} if table else self.settings.models
            self._apply(replace(self.settings, model=name, models=models))
            return name, str(error)
        return name, ""

    def switch_tool(self, name: str, is_on: bool) -> None:
        """Switch a tool on or off for new sessions; its parameters stay. Raises UsageError."""
        has_parameters = isinstance(self.settings.tools.get(name), Mapping)
        self.write({("tools", name, "on") if has_parameters else ("tools", name): is_on})

    def save_for_session(self, way: Way, instead_of: Way) -> str:
        """Save what a session needs to use this model; return the model's name. Raises UsageError."""
        name, changes = session_changes(way, self.settings.models, instead_of)
        if changes:
            self.write(changes)
        return name

    def _apply(self, settings: Settings) -> None:
        self.settings = settings
        for listener in self._listeners:
            listener(settings)

    def _value(self, entry: SettingEntry, text: str) -> Any:
        """Return the value to write, or None for the default. Raises ValueError or UsageError."""
        if entry.is_secret:
            raise ValueError("Keys are not stored in settings. Set api_key_env, or api_key_file of a saved model.")
        text = text.strip()
        if is_profile(entry.path):
            return check_profile(entry.path, text, self._profiles())
        if not text:
            return self._check_default(entry)
        value = entry.read(text)
        self._check_value(entry.path, value, text)
        return value

    def _check_value(self, path: KeyPath, value: Any, text: str) -> None:
        """Check a value against the other settings. Raises WorkbenchError."""
        table, *rest = path
        if table == "models":
            profile = {**self.settings.models[rest[0]], rest[1]: value}
            read_profile(rest[0], profile)
            if problem := fallback_problems({**self.settings.models, rest[0]: profile}).get(rest[0]):
                raise UsageError(problem)
        elif table == "model":
            from workbench.llm.factory import check_provider

            check_provider(self.settings.profile(value), self.settings.models)
        elif table == "keys":
            check_key(rest[0], text, self.settings.keys)
        elif rest:
            check_setting(table, {rest[0]: value})

    def _check_default(self, entry: SettingEntry) -> None:
        """Check that a saved model is valid without this entry. Raises UsageError."""
        if entry.path[0] == "models":
            _, profile, field = entry.path
            rest = {name: value for name, value in self.settings.models[profile].items() if name != field}
            read_profile(profile, rest)

    def _source(self, entry: SettingEntry) -> tuple[str, bool, str]:
        """Return where the value comes from, whether the file sets it, and a note if something overrides the file."""
        is_written = _at(self._raw, entry.path) is not None
        if len(entry.path) > 1:
            return ("your file" if is_written else "default"), is_written, ""
        origin = origin_of(entry.path[0], self.settings, self._env, is_written=is_written)
        if origin in ("your file", "default"):
            return origin, is_written, ""
        source = "command line" if origin.startswith("--") else "environment"
        return source, is_written, f"{origin} overrides your file while it is set"


def _tables(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__dataclass_fields__}


def _at(values: Any, path: KeyPath) -> Any:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _without_password(text: str) -> str:
    # Imported on first use: nothing else in this module needs the package.
    from workbench.llm.errors import public_url

    return public_url(text) if "://" in text and "@" in text else text
