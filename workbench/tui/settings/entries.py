"""Values as a person reads and writes them on the settings form: yes and no, units, and what 0 stands for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from workbench.config.check import MODE_NAMES
from workbench.config.edit import Place
from workbench.config.load import Settings
from workbench.config.model import (
    NEXT_SESSION,
    NOW,
    ProfileModel,
    SettingsModel,
    TerminalModel,
    fields_of,
    measured,
    told,
)
from workbench.config.profiles import read_profile
from workbench.text import visible
from workbench.tools.builtin import BUILTIN_TOOLS
from workbench.tui.keys import ANSWERS, all_bindings
from workbench.tui.settings.providers import kept, read_way, wrong_way
from workbench.view.formatting.wrapping import Line, Piece, pad

if TYPE_CHECKING:
    from workbench.tui.settings.book import Held

SWITCH: Final = {"yes": True, "no": False, "true": True, "false": False}
"""The words for on and off; the first two are those that are shown."""


def shown(value: object) -> str:
    """A value as it is written in the form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


def explained(text: str, info: FieldInfo | None) -> str:
    """The same with its unit, and with what nothing or 0 means."""
    unit, none = measured(info) if info is not None else ("", "")
    number = _number(text) if unit else None
    if not text or (number == 0 and none):
        return " · ".join(part for part in (text, none) if part)
    if number is None:
        return text
    if unit == "$":
        return f"${number:,.2f}" if round(number, 2) == number else f"${text}"
    return f"{number:,.0f} {unit.removesuffix('s') if number == 1 else unit}"


def plain_number(text: str, info: FieldInfo) -> str:
    """Without the commas that part the thousands, where whole things are counted."""
    unit, _ = measured(info)
    is_parted = unit and unit != "$" and re.fullmatch(r"\d{1,3}(,\d{3})+", text)
    return text.replace(",", "") if is_parted else text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


ADD: Final = ("models",)
"""The place of the row that adds one."""


def is_profile(place: Place) -> bool:
    """Whether a row is about a whole profile, not about an entry of it."""
    return place[0] == "models" and len(place) < 3


def check_profile(place: Place, text: str, taken: Collection[str]) -> None:
    """What is written for a new profile, or as the new name of one; raises ValueError or UsageError."""
    if place == ADD:
        if wrong := wrong_way(read_way(text)):
            raise ValueError(wrong)
    elif not text:
        raise ValueError("write a name; u in the list removes the profile")
    elif text != place[1]:
        read_profile(text, {"model": "provider/name"})
        if text in taken:
            raise ValueError(f"there is a profile {text} already")


def added(text: str, taken: Collection[str]) -> tuple[str, dict[Place, Any]]:
    """The name of a new profile and what is to be written; sessions begin with what they began with."""
    name, changes = kept(read_way(text), taken)
    return name, {place: value for place, value in changes.items() if place != ("model",)}


def removed(name: str, raw: Mapping[str, Any]) -> dict[Place, Any]:
    """What to write so that a profile is gone, and no session begins with it."""
    is_last = set(raw.get("models", ())) <= {name}
    changes: dict[Place, Any] = {ADD if is_last else ("models", name): None}
    return changes | ({("model",): None} if raw.get("model") == name else {})


_ADDS: Final = "A profile: write PROVIDER/NAME, and behind a blank http://… of a server of your own."
SECRET: Final = ("api_key",)
_WORDS: Final = {
    "int_parsing": "write a whole number",
    "int_from_float": "write a whole number",
    "float_parsing": "write a number such as 0.5",
    "greater_than_equal": "from {ge:g} on",
    "less_than_equal": "{le:g} at most",
    "string_pattern_mismatch": "write the name of a variable, such as MY_KEY; the key itself does not belong here",
    "string_too_short": "write something, or nothing at all for the usual value",
    "literal_error": "write one of {expected}",
    "finite_number": "write a number",
    "bool_parsing": "write yes or no",
}


@dataclass(frozen=True)
class Entry:
    """One setting: where it stands in the file, what is said of it, and what it may be."""

    place: Place
    group: str
    title: str
    words: str
    usual: str
    """What holds when nothing is set."""
    when: str = NEXT_SESSION
    choices: Sequence[tuple[str, str]] = ()
    """Values with a word on each; empty where any text can be written."""
    info: FieldInfo | None = None

    @property
    def name(self) -> str:
        """As one would say it: `terminal.bell`."""
        return ".".join(self.place)

    @property
    def is_secret(self) -> bool:
        """Whether its value is neither shown nor written."""
        return self.place == SECRET

    def explained(self, text: str) -> str:
        """A value with its unit, and with what nothing or 0 means."""
        return explained(text, self.info)

    def read(self, text: str) -> Any:
        """The value that a text stands for; raises ValueError in words for the person."""
        if self.info is None:
            return SWITCH.get(text, text)
        is_list = self.place in (("trusted",), ("pass_env",))
        parts = [part.strip() for part in text.split(",") if part.strip()]
        value: Any = parts if is_list else plain_number(text, self.info)
        try:
            read = TypeAdapter(_checked_type(self.info)).validate_python(value)
        except ValidationError as error:
            found = error.errors()[-1]
            said = _WORDS.get(found["type"], found["msg"])
            raise ValueError(said.format_map(found.get("ctx", {}))) from None
        return list(read) if isinstance(read, tuple) else read


def entries_of(settings: Settings, themes: Sequence[str]) -> list[Entry]:
    """Everything there is to set."""
    return [
        *_of_model(SettingsModel, (), {"theme": [(name, "") for name in themes]}),
        *_of_model(TerminalModel, ("terminal",), {}),
        *_tools(),
        Entry(ADD, "Models", "Add a model", f"{_ADDS} What else it has is set in its rows.", ""),
        *(entry for name in settings.models for entry in _profile(name)),
        *_keys(),
    ]


def _of_model(model: type[BaseModel], table: Place, more: Mapping[str, Any]) -> Iterator[Entry]:
    for name, info in fields_of(model):
        group, when = told(info)
        choices = more.get(name) or _choices(info.annotation, MODE_NAMES if name == "mode" else {})
        usual = shown(info.default)
        yield Entry((*table, name), group, info.title or name, info.description or "", usual, when, choices, info)


def _profile(profile: str) -> Iterator[Entry]:
    yield Entry(("models", profile), f"Profile {profile}", "Name", "What you call it; u removes the whole profile.", "")
    for name, info in fields_of(ProfileModel):
        place, usual = ("models", profile, name), "" if info.is_required() else shown(info.default)
        title, words = info.title or name, info.description or ""
        choices = _choices(info.annotation, {})
        yield Entry(place, f"Profile {profile}", title, words, usual, NEXT_SESSION, choices, info)


def _tools() -> Iterator[Entry]:
    sets = [("code", "all that read and write"), ("plan", "only those that read, and the task list")]
    words = "Which tools the agent has, where nothing else is said."
    yield Entry(("tools", "set"), "Tools", "Set", words, "code", choices=sets)
    words = "Whether the agent has this tool; its parameters stand in the file."
    on_off = [("yes", "the agent has it"), ("no", "it does not")]
    for name in BUILTIN_TOOLS:
        yield Entry(("tools", name), "Tools", name, words, "as the set says", choices=on_off)


def _keys() -> Iterator[Entry]:
    bound = {each.id: each.binding for each in all_bindings() if each.id and each.id not in ANSWERS}
    for name, binding in bound.items():
        words = f"The keys of “{binding.description}”: such as f7 or ctrl+n, several with commas between."
        yield Entry(("keys", name), "Keys", name, words, binding.key, NOW)


def _choices(annotation: Any, words: Mapping[str, str]) -> list[tuple[str, str]]:
    """The values of a type that has few of them."""
    found: list[str] = []
    for part in _parts(annotation):
        if part is bool:
            found += ["yes", "no"]
        elif get_origin(part) is Literal:
            found += [str(each) for each in get_args(part)]
        elif part is not type(None):
            return []
    return [(each, words.get(each, "")) for each in found]


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    is_union = get_origin(annotation) is not None and get_origin(annotation) not in (Literal, tuple)
    return get_args(annotation) if is_union else (annotation,)


def _checked_type(info: FieldInfo) -> Any:
    """The type of a field with its limits, for one value alone."""
    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


_GROUP, _TITLE, _SOURCE = 15, 22, 13
_WIDE: Final = 84


@dataclass(frozen=True)
class SettingRow:
    """A setting and what holds of it."""

    entry: Entry
    held: Held


def setting_row(row: SettingRow, width: int, *, with_group: bool) -> Line:
    """One row, exactly `width` cells."""
    entry, held = row.entry, row.held
    scale = 0 if width >= _WIDE else 4
    group = pad(visible(entry.group, lines=False) if with_group else "", _GROUP - scale)
    title = pad(visible(entry.title, lines=False), _TITLE - scale)
    room = max(0, width - len(group) - len(title) - _SOURCE - 4)
    value = visible(held.problem or entry.explained(held.text), lines=False)
    style = "failed" if held.problem else "bold" if held.is_yours else ""
    return [
        Piece(group, "heading"),
        Piece(f"{title}  "),
        Piece(pad(f"✗ {value}" if held.problem else value or "–", room), style),
        Piece("  "),
        Piece(pad(held.source, _SOURCE), "accent" if held.source != "usual" else "dim"),
    ]


def fitting(rows: Sequence[SettingRow], query: str) -> list[SettingRow]:
    """Those in which all the words stand, in a name, a title, a value or what is said of it."""
    words = query.lower().split()
    return [row for row in rows if all(word in _text(row) for word in words)]


def about(row: SettingRow) -> list[Line]:
    """What it means, its name in the file, the usual value, from when it counts, and what else is in force."""
    entry, held = row.entry, row.held
    usual = f" · usual: {visible(entry.explained(entry.usual), lines=False)}" if entry.usual else ""
    lines = [
        [Piece(visible(entry.words, lines=False))],
        [Piece(visible(entry.name, lines=False), "bold"), Piece(f"{usual} · counts {entry.when}", "dim")],
    ]
    lines += [[Piece(f"✗ {visible(held.problem, lines=False)}", "failed")]] if held.problem else []
    lines += [[Piece(visible(held.note, lines=False), "waiting")]] if held.note else []
    return lines


def _text(row: SettingRow) -> str:
    entry, value = row.entry, row.entry.explained(row.held.text)
    return f"{entry.name} {entry.group} {entry.title} {entry.words} {value} {row.held.source}".lower()
