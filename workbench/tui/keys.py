"""The user's own keys: finds the bindings of the workbench, and checks the table `[keys]` of the settings."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_NAME_REPLACEMENTS, Keys
from textual.screen import Screen

from workbench.config.toml_file import line_of
from workbench.suggest import near

ANSWERS: Final = frozenset(
    (
        *("approval.approve", "approval.reject", "approval.always", "approval.all", "approval.later"),
        *("approval.all-of-these", "always.save"),
    )
)
"""Bindings that answer a question; their keys cannot be changed, so a key meant for something else never answers."""
_KEY_NAMES: Final = frozenset(key.value.split("+")[-1] for key in Keys) | {"space", *KEY_NAME_REPLACEMENTS.values()}
_HELD: Final = frozenset(("ctrl", "alt", "shift", "super", "meta", "hyper"))


@dataclass(frozen=True)
class Bound:
    """A binding and the workbench class that declares it."""

    owner: type[DOMNode]
    binding: Binding

    @property
    def id(self) -> str:
        """The binding's name in the settings."""
        return self.binding.id or ""

    @property
    def context(self) -> str:
        """The id up to its last dot; bindings with the same context are active at the same time."""
        return self.id.rpartition(".")[0]


@dataclass(frozen=True)
class Keymap:
    """The checked table `[keys]`: the usable entries, and one line about each of the others."""

    usable: Mapping[str, str]
    problems: tuple[str, ...]


def all_bindings() -> list[Bound]:
    """Import all screens and widgets, and return the bindings of the workbench's own classes."""
    for package in ("screens", "widgets"):
        for module in iter_modules([str(Path(__file__).parent / package)]):
            import_module(f"workbench.tui.{package}.{module.name}")
    owners: dict[Binding, type[DOMNode]] = {}
    for each in dict.fromkeys(_ours(DOMNode)):
        for binding in vars(each).get("BINDINGS", ()):
            if isinstance(binding, Binding):
                owners.setdefault(binding, each)  # two apps may share bindings
    return [Bound(owner, binding) for binding, owner in owners.items()]


def read_keymap(keys: Mapping[str, str], file: Path | None = None) -> Keymap:
    """Check the table `[keys]`; with a readable `file`, each problem starts with its path and line."""
    bound = {each.id: each for each in all_bindings() if each.id} if keys else {}
    text = _text_of(file)
    problems: dict[str, str] = {}
    for name, spec in keys.items():
        problem = _unusable(name, spec, bound) or _clash(name, spec, bound, keys)
        if problem:
            prefix = f"{file}:{line_of(name, text, 'keys')}: " if file is not None and text else ""
            problems[name] = f"{prefix}{problem}"
    return Keymap({name: key for name, key in keys.items() if name not in problems}, tuple(problems.values()))


def check_key(name: str, text: str, keys: Mapping[str, str]) -> None:
    """Check `text` as the new keys of the binding `name`, beside the other entries of `[keys]`.

    Raises ValueError with a one-line message if they cannot be used.
    """
    others = {each: key for each, key in keys.items() if each != name}
    keymap = read_keymap({**others, name: text})
    if name not in keymap.usable:
        mine = (name, "there is no key binding")
        raise ValueError(next(problem for problem in keymap.problems if problem.startswith(mine)))


def _ours(base: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("workbench."):
            yield each
        yield from _ours(each)


def _text_of(file: Path | None) -> str:
    try:
        return file.read_text(encoding="utf-8") if file is not None else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _unusable(name: str, spec: str, bound: Mapping[str, Bound]) -> str:
    if name not in bound:
        return f"there is no key binding {name!r}{near(name, bound)}"
    if name in ANSWERS:
        return f"{name} cannot be rebound (approval keys are fixed)"
    for key in _split(spec):
        *held, last = key.split("+") if len(key) > 1 else [key]
        if not (last in _KEY_NAMES or len(last) == 1 or _is_sign(last)) or not set(held) <= _HELD:
            return f"{name}: there is no key {key!r}{near(key, _KEY_NAMES)}"
        if len(key) == 1 and not bound[name].context:
            return f"{name}: {key!r} is needed for typing; use e.g. f7 or ctrl+n"
    return "" if _split(spec) else f"{name}: no key is named; write one such as f7"


def _clash(name: str, spec: str, bound: Mapping[str, Bound], keys: Mapping[str, str]) -> str:
    """Return a message if another binding that is active at the same time has one of the keys, else an empty string."""
    for other in bound.values():
        if other.id == name or not _together(bound[name], other):
            continue
        taken = _split(keys.get(other.id, other.binding.key))
        # A key that both have by default is not a clash: the binding nearer to the focus gets it.
        meant = {*_split(bound[name].binding.key)} & {*_split(other.binding.key)}
        both = next((key for key in _split(spec) if key in taken and key not in meant), None)
        if both is not None:
            return f"{name}: {both} is the key of {other.id} ({other.binding.description})"
    return ""


def _together(one: Bound, other: Bound) -> bool:
    if issubclass(one.owner, App) or issubclass(other.owner, App):
        return True
    if one.context != other.context:
        return False
    if issubclass(one.owner, other.owner) or issubclass(other.owner, one.owner):
        return True
    return issubclass(one.owner, Screen) or issubclass(other.owner, Screen)


def _is_sign(name: str) -> bool:
    """Return whether this is the name of a character, such as `full_stop`."""
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return False
    return True


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]
