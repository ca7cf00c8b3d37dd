"""The person's settings as the form sees them: what holds, where it comes from, what may be written, and saving it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.load import Locations, Settings, check_setting, load_settings, written_settings
from workbench.config.profiles import read_profile
from workbench.errors import UsageError
from workbench.tui.settings.entries import ADD, added, check_profile, is_profile, removed

if TYPE_CHECKING:  # pydantic is not needed before a form is opened
    from workbench.config.edit import Place
    from workbench.tui.settings.entries import Entry
    from workbench.tui.settings.providers import Way

Taken = Callable[[Settings], None]


@dataclass(frozen=True)
class Held:
    """What holds now: as it is written, and where it comes from."""

    text: str
    source: str
    is_yours: bool = False
    """Whether it stands in the person's file."""
    note: str = ""
    problem: str = ""
    """Why what stands in the file does not count."""
    is_masked: bool = False
    """Whether a part of it is not shown."""


class SettingsBook:
    """Reads and writes `settings.toml`; `settings` is what counts now."""

    def __init__(
        self,
        locations: Locations,
        settings: Settings,
        env: Mapping[str, str] = os.environ,
        taken: Sequence[Taken] = (),
    ) -> None:
        """`taken` are told of what counts after a change."""
        self._locations = locations
        self._env = env
        self._taken = list(taken)
        self.settings = settings
        self._written: Mapping[str, Any] = {}
        self._raw: Mapping[str, Any] = {}
        self.problems: Sequence[str] = ()

    @property
    def file(self) -> Path:
        """The person's file."""
        return self._locations.settings_file

    def tell(self, taken: Taken) -> None:
        """Somebody more who wants to know what counts."""
        self._taken.append(taken)

    def read(self, themes: Sequence[str]) -> list[Entry]:
        """All there is to set, and what the file says of it now."""
        from workbench.tui.settings.entries import entries_of

        self._look()
        return entries_of(self.settings, themes)

    def held(self, entry: Entry) -> Held:
        """What holds of an entry."""
        from workbench.tui.settings.entries import shown

        if entry.is_secret:
            return Held("set, not shown" if self.settings.api_key else "not set", *self._source(entry))
        if is_profile(entry.place):
            name = entry.place[1] if entry.place != ADD else ""
            return Held(name or "enter adds one", "your file" if name else "", bool(name), is_masked=not name)
        value = _at(_tables(self.settings), entry.place)
        text = "yes, with parameters" if isinstance(value, Mapping) else shown(value)
        safe, problem = _without_password(text), self._problem(entry)
        return Held(safe or entry.usual, *self._source(entry), problem=problem, is_masked=safe != text)

    def check(self, entry: Entry, text: str) -> str:
        """What is wrong with a text for this entry; nothing when it can be saved."""
        try:
            self._value(entry, text)
        except (ValueError, UsageError) as error:
            return str(error)
        return ""

    def save(self, entry: Entry, text: str) -> str:
        """Write one entry, an empty text for the usual value; the profile it made, if any. Raises UsageError."""
        try:
            value = self._value(entry, text)
        except ValueError as error:
            raise UsageError(f"{entry.name}: {error}") from None
        if is_profile(entry.place):
            return self._save_profile(entry.place, text.strip())
        self.write({entry.place: value})
        return ""

    def remove(self, entry: Entry) -> None:
        """Take a whole profile out of the file. Raises UsageError."""
        self.write(removed(entry.place[1], self._raw))

    def _save_profile(self, place: Place, text: str) -> str:
        from workbench.config.edit import rename_table

        if place == ADD:
            text, changes = added(text, self._profiles())
            self.write(changes)
        elif text != place[1]:
            begins: dict[Place, Any] = {("model",): text} if self._raw.get("model") == place[1] else {}
            rename_table(self.file, "models", place[1], text, begins)
            self._go_on()
        return text

    def _profiles(self) -> set[str]:
        """All names, also of those that do not count."""
        return {*self.settings.models, *(_at(self._raw, ADD) or ())}

    def write(self, changes: Mapping[Place, Any]) -> None:
        """Write entries as they are, and go on with what counts then. Raises UsageError."""
        from workbench.config.edit import write_settings

        write_settings(self.file, changes)
        self._go_on()

    def _go_on(self) -> None:
        before = self.settings
        given = {name: getattr(before, name) for name in before.given}
        after = load_settings(self._locations, self._env, lenient=True, **given)
        agreed = [each for each in before.trusted if each not in after.trusted and each.startswith("sha256:")]
        self._look()
        self._count(replace(after, trusted=(*after.trusted, *agreed), rules=before.rules))

    def _look(self) -> None:
        self._written, self.problems = written_settings(self._locations)
        try:
            self._raw = tomllib.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._raw = {}

    def _problem(self, entry: Entry) -> str:
        """What is wrong with what the file says of it."""
        from workbench.tui.settings.entries import shown

        raw = _at(self._raw, entry.place)
        if raw is None or _at(self._written, entry.place) is not None:
            return ""
        return f"{shown(raw)!r} does not count: {self.check(entry, shown(raw)) or 'it is of another kind'}"

    def keep(self, way: Way) -> tuple[str, str]:
        """Begin sessions with this model from now on: the name of its profile, and why it could not be written."""
        from workbench.tui.settings.providers import kept

        name, changes = kept(way, self.settings.models)
        try:
            self.write(changes)
        except UsageError as error:
            table = {place[2]: value for place, value in changes.items() if place[0] == "models"}
            models = {**self.settings.models, name: table} if table else self.settings.models
            self._count(replace(self.settings, model=name, models=models))
            return name, str(error)
        return name, ""

    def _count(self, settings: Settings) -> None:
        self.settings = settings
        for taken in self._taken:
            taken(settings)

    def _value(self, entry: Entry, text: str) -> Any:
        """None for the usual value."""
        if entry.is_secret:
            raise ValueError("a key is not written here: name its variable (api_key_env) or its file (api_key_file)")
        text = text.strip()
        if is_profile(entry.place):
            return check_profile(entry.place, text, self._profiles())
        if not text:
            return self._nothing(entry)
        value = entry.read(text)
        table, *rest = entry.place
        if table == "models":
            read_profile(rest[0], {**self.settings.models[rest[0]], rest[1]: value})
        elif table == "keys":
            _check_key(rest[0], text, self.settings.keys)
        elif rest:
            check_setting(table, {rest[0]: value})
        else:
            check_setting(table, value)
        return value

    def _nothing(self, entry: Entry) -> None:
        """A profile must do without it."""
        table, profile, *field = (*entry.place, "", "")
        if table == "models":
            left = {name: value for name, value in self.settings.models[profile].items() if name != field[0]}
            read_profile(profile, left)

    def _source(self, entry: Entry) -> tuple[str, bool, str]:
        """Where it comes from, whether it stands in the file, and what is to be said of that."""
        name, is_written = entry.place[0], _at(self._raw, entry.place) is not None
        wins = f"wins over your file; {'what stands there' if is_written else 'what you save'} counts without it"
        if name in self.settings.given:
            return "command line", is_written, f"--{name.replace('_', '-')} {wins}"
        if len(entry.place) == 1 and name not in ("trusted", "pass_env") and self._env.get(f"OHW_{name.upper()}"):
            return "environment", is_written, f"OHW_{name.upper()} {wins}"
        return ("your file" if is_written else "usual"), is_written, ""


def _tables(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__dataclass_fields__}


def _at(values: Any, place: Place) -> Any:
    for name in place:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _check_key(name: str, text: str, keys: Mapping[str, str]) -> None:
    from workbench.tui.keys import read_keymap

    others = {each: key for each, key in keys.items() if each != name}
    found = read_keymap({**others, name: text})
    if name not in found.usable:
        raise ValueError(next(said for said in found.problems if said.startswith((name, "there is no key binding"))))


def _without_password(text: str) -> str:
    from workbench.llm.faults import shown_address

    return shown_address(text) if "://" in text and "@" in text else text
