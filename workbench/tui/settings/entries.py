"""The rows of the Settings screen, made from the declared settings, the saved models, the tools and the keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from workbench.config.setting_kinds import NEXT_SESSION, NOW, REQUIRED, Setting, declared
from workbench.config.settings import Profile, Settings, TerminalSettings, read_profile
from workbench.config.table import TOOL_SETS
from workbench.text import visible
from workbench.tools.manifest import BUILTIN_TOOLS
from workbench.tui.keys import ANSWERS, all_bindings
from workbench.tui.settings.providers import new_profile, read_way, wrong_way
from workbench.view.wrapping import Line, Piece, pad

if TYPE_CHECKING:
    from workbench.files.toml_edit import KeyPath
    from workbench.tui.settings.settings_model import CurrentValue

ADD: Final = ("models",)
"""The path of the row that adds a model."""
_ADDS: Final = "Add a model: provider/model, then optionally a URL after a space. Set the rest in its rows."


def is_profile(path: KeyPath) -> bool:
    """Return whether a row is about a whole saved model, or adds one, rather than about a single setting."""
    return path[0] == "models" and len(path) < 3


def check_profile(path: KeyPath, text: str, names: Collection[str]) -> None:
    """Check the text that adds or renames a saved model. Raises ValueError or UsageError if it is not valid."""
    if path == ADD:
        if problem := wrong_way(read_way(text)):
            raise ValueError(problem)
    elif not text:
        raise ValueError("write a name; u in the list deletes the saved model")
    elif text != path[1]:
        read_profile(text, {"model": "provider/name"})
        if text in names:
            raise ValueError(f"there is a saved model {text} already")


def added(text: str, names: Collection[str]) -> tuple[str, dict[KeyPath, Any]]:
    """Return the name of a new saved model, and the changes that add it without making it the default model."""
    return new_profile(read_way(text), names)


def removed(name: str, raw: Mapping[str, Any]) -> dict[KeyPath, Any]:
    """Return the changes that delete a saved model, and remove its name from every setting that contains it."""
    is_last = set(raw.get("models", ())) <= {name}
    changes: dict[KeyPath, Any] = {ADD if is_last else ("models", name): None}
    changes |= {path: names or None for path, names in _fallbacks(name, (), raw)}
    return changes | ({("model",): None} if raw.get("model") == name else {})


def renamed(name: str, new: str, raw: Mapping[str, Any]) -> dict[KeyPath, Any]:
    """Return the changes that rename a saved model in every setting that contains its name."""
    changes: dict[KeyPath, Any] = dict(_fallbacks(name, (new,), raw))
    return changes | ({("model",): new} if raw.get("model") == name else {})


def _fallbacks(name: str, new: Sequence[str], raw: Mapping[str, Any]) -> Iterator[tuple[KeyPath, list[str]]]:
    """Yield the fallback models of other saved models with `new` in place of the name, where they have it."""
    for other, table in raw.get("models", {}).items():
        names = table.get("fallback_models") if isinstance(table, Mapping) else None
        if other != name and isinstance(names, list) and name in names:
            after = [part for each in names for part in (new if each == name else (each,))]
            yield ("models", other, "fallback_models"), after


_ON_OFF: Final = (("yes", "the agent has it"), ("no", "it does not"))
_SWITCH: Final = {"yes": True, "no": False, "true": True, "false": False}


def format_value(value: object) -> str:
    """Return the text that the form shows for a value without a declared setting, such as the state of a tool."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


@dataclass(frozen=True)
class SettingEntry:
    """One row of the form: its path in the file, its texts, and the values it accepts."""

    path: KeyPath
    group: str
    title: str
    about: str
    default: str
    """The default as the form shows it."""
    takes_effect: str = NEXT_SESSION
    choices: Sequence[tuple[str, str]] = ()
    """The allowed values, each with a short description; empty if the value is free text."""
    setting: Setting | None = None
    """The declaration of the setting; None for a tool, a key or a whole saved model."""

    @property
    def name(self) -> str:
        """The dotted name of the setting, such as `terminal.bell`."""
        return ".".join(self.path)

    @property
    def is_secret(self) -> bool:
        """Whether the value is a secret, which the form neither shows nor writes."""
        return self.setting is not None and self.setting.is_secret

    def show(self, value: object) -> str:
        """Return a value as the text that the form shows and reads."""
        return format_value(value) if self.setting is None or value is None else self.setting.kind.show(value)

    def explained(self, text: str) -> str:
        """Return a shown value with its unit, or with the meaning of an empty value or 0."""
        return _explained(text, self.setting) if self.setting is not None else text

    def label(self, text: str) -> str:
        """Return the name that the interface shows for a value."""
        return self.setting.kind.labels.get(text, text) if self.setting is not None else text

    def read(self, text: str) -> Any:
        """Parse the text of a value. Raises UsageError if the text is not valid."""
        return _SWITCH.get(text, text) if self.setting is None else self.setting.kind.parse(self.name, text)


def _explained(text: str, setting: Setting) -> str:
    text = setting.kind.labels.get(text, text)
    number = _number(text) if setting.unit else None
    if not text or (number == 0 and setting.unset):
        return " · ".join(part for part in (text, setting.unset) if part)
    if number is None:
        return text
    if setting.unit == "$":
        return f"${number:,.2f}" if round(number, 2) == number else f"${text}"
    if setting.unit.startswith("%"):
        return f"{number:,.0f}{setting.unit}"
    return f"{number:,.0f} {setting.unit.removesuffix('s') if number == 1 else setting.unit}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def entries_of(settings: Settings, themes: Sequence[str]) -> list[SettingEntry]:
    """Return every row of the form."""
    return [
        *_of_table(Settings, (), "", {"theme": [(name, "") for name in themes]}),
        *_of_table(TerminalSettings, ("terminal",), "Terminal", {}),
        *_tools(),
        SettingEntry(ADD, "Models", "Add a model", _ADDS, ""),
        *(entry for name in settings.models for entry in _profile(name)),
        *_keys(),
    ]


def _of_table(
    table: type, path: KeyPath, group: str, choices: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[SettingEntry]:
    for name, each in declared(table).items():
        if each.on_form:
            default = "" if each.default is REQUIRED or each.default is None else each.kind.show(each.default)
            yield SettingEntry(
                (*path, name),
                each.group or group,
                each.title,
                each.about,
                default,
                each.takes_effect,
                choices.get(name) or each.kind.choices,
                each,
            )


def _profile(name: str) -> Iterator[SettingEntry]:
    group = f"Saved model {name}"
    yield SettingEntry(("models", name), group, "Name", "What you call it; u deletes the whole saved model.", "")
    yield from _of_table(Profile, ("models", name), group, {})


def _tools() -> Iterator[SettingEntry]:
    # Only the names are used: importing the tools loads pydantic, which would delay the screen's first paint.
    about = "Which tools the agent has, unless a row below overrides it."
    yield SettingEntry(("tools", "set"), "Tools", "Tool preset", about, "code", choices=list(TOOL_SETS.items()))
    about = "Whether the agent has this tool; its parameters are in the file."
    for name in BUILTIN_TOOLS:
        yield SettingEntry(("tools", name), "Tools", name, about, "from preset", choices=_ON_OFF)


def _keys() -> Iterator[SettingEntry]:
    bound = {each.id: each.binding for each in all_bindings() if each.id and each.id not in ANSWERS}
    for name, binding in bound.items():
        about = f"The keys of “{binding.description}”, such as f7 or ctrl+n; separate several with commas."
        yield SettingEntry(("keys", name), "Keys", name, about, binding.key, NOW)


_TITLE, _SOURCE = 24, 13
_WIDE: Final = 84
_VALUE: Final = 72
"""The widest column of values: a source further away could not be assigned to its row."""


@dataclass(frozen=True)
class SettingRow:
    """A setting and its current value."""

    entry: SettingEntry
    value: CurrentValue


def section(group: str) -> Line:
    """Return the heading above the settings of a group."""
    return [Piece(visible(group, lines=False), "heading")]


def setting_row(row: SettingRow, width: int) -> Line:
    """Return one row, exactly `width` cells wide; a value that is not the default is bright and has a dot.

    A row that adds something has a plus sign.
    """
    entry, current = row.entry, row.value
    title = pad(visible(entry.title, lines=False), _TITLE if width >= _WIDE else _TITLE - 4)
    free = max(0, width - len(title) - _SOURCE - 6)
    value_width = min(_VALUE, free)
    value = visible(current.problem or entry.explained(current.text), lines=False)
    is_changed = bool(current.problem) or current.source not in ("default", "")
    sign = "+ " if entry.path == ADD else "● " if is_changed else "  "
    style = "failed" if current.problem else "bold" if is_changed else "dim"
    return [
        Piece(sign, "failed" if current.problem else "accent"),
        Piece(f"{title}  ", "" if sign.strip() else "dim"),
        Piece(pad(f"✗ {value}" if current.problem else value or "–", value_width), style),
        Piece("  "),
        Piece(pad(current.source, _SOURCE + free - value_width), "accent" if current.source != "default" else "dim"),
    ]


def fitting(rows: Sequence[SettingRow], query: str) -> list[SettingRow]:
    """Return the rows that contain every word of the query in their name, title, value or description."""
    words = query.lower().split()
    return [row for row in rows if all(word in _text(row) for word in words)]


def first_named(rows: Sequence[SettingRow], query: str) -> int:
    """Return the index of the first row with every word of the query in its name or title, or else 0."""
    words = query.lower().split()
    titles = [f"{row.entry.title} {row.entry.name}".lower() for row in rows]
    return next((index for index, title in enumerate(titles) if all(word in title for word in words)), 0)


def about(row: SettingRow) -> list[Line]:
    """Return the description of a row: meaning, name in the file, default, when it takes effect, problem, override."""
    entry, current = row.entry, row.value
    default = f" · default: {visible(entry.explained(entry.default), lines=False)}" if entry.default else ""
    lines = [
        [Piece(visible(entry.about, lines=False))],
        [
            Piece(visible(entry.name, lines=False), "bold"),
            Piece(f"{default} · takes effect {entry.takes_effect}", "dim"),
        ],
    ]
    lines += [[Piece(f"✗ {visible(current.problem, lines=False)}", "failed")]] if current.problem else []
    lines += [[Piece(visible(current.note, lines=False), "waiting")]] if current.note else []
    return lines


def _text(row: SettingRow) -> str:
    entry, value = row.entry, row.entry.explained(row.value.text)
    about = entry.setting.reference if entry.setting is not None else entry.about
    return f"{entry.name} {entry.group} {entry.title} {about} {value} {row.value.source}".lower()
