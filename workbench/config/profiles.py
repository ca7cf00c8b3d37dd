"""Named models: what a table `[models.NAME]` of the settings may hold, checked; used by `config` and the sessions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import UsageError
from workbench.suggest import near

CALLS = ("auto", "native", "text")
NO_MODEL = "none"
"""The name of the model of a session without one: commands of the person's own run in it, messages have to wait."""
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
PRICES = ("input", "output", "cached")
_KEY_SOURCES = ("api_key_env", "api_key_file", "api_key_keyring")
_HOTTEST = 2
_NAME = re.compile(r"[\w.:/@+-]{1,60}")


@dataclass(frozen=True)
class Profile:
    """A model with everything that belongs to it; one named as PROVIDER/NAME has only what the settings say of all."""

    name: str
    """What the person calls it."""
    model: str
    """The model's name as litellm writes it, or `scripted/…`."""
    api_base: str | None = None
    """The address of its server, where it is not the provider's own."""
    api_key_env: str | None = None
    """The environment variable that holds its key."""
    api_key_file: str | None = None
    """The file that holds its key."""
    api_key_keyring: str | None = None
    """Where the keyring of the system holds its key, as SERVICE/NAME."""
    temperature: float | None = None
    reasoning_effort: str | None = None
    max_output_tokens: int | None = None
    context_window: int | None = None
    """Tokens of its window; None for what is known of the model."""
    calls: str = "auto"
    """How tools are called: native, text, or auto."""
    price: Mapping[str, float] | None = None
    """US dollars for a million tokens: input, output, cached; None for what is known of the model."""


def read_profiles(tables: object) -> dict[str, Profile]:
    """The profiles of the table `models`; raises UsageError that names the key."""
    if not isinstance(tables, Mapping):
        raise UsageError("models must hold tables, such as [models.fast]")
    return {name: read_profile(name, table) for name, table in tables.items()}


def read_profile(name: str, table: object) -> Profile:
    """One profile; raises UsageError that names the key."""
    key = f"models.{name}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"models.{name!r}: a name is made of letters, digits and . _ - : / @ +")
    if not isinstance(table, Mapping):
        raise UsageError(f"{key} must be a table: [{key}]")
    for entry in table:
        if entry not in _CHECKS:
            raise UsageError(
                f"{key} has no entry {entry!r}; known are {', '.join(sorted(_CHECKS))}{near(str(entry), _CHECKS)}"
            )
    if "model" not in table:
        raise UsageError(f'{key}.model is missing: give the model as "PROVIDER/NAME"')
    if sum(source in table for source in _KEY_SOURCES) > 1:
        raise UsageError(f"{key}: give one of {', '.join(_KEY_SOURCES)}, not several")
    return Profile(name=name, **{entry: _CHECKS[entry](f"{key}.{entry}", value) for entry, value in table.items()})


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise UsageError(f"{key} must be text in one line")
    return value.strip()


def _keyring_entry(key: str, value: object) -> str:
    entry = _text(key, value)
    service, _, name = entry.partition("/")
    if not service.strip() or not name.strip():
        raise UsageError(f"{key} must be SERVICE/NAME, as the keyring of the system has it, not {value!r}")
    return entry


def checked_address(key: str, value: object) -> str:
    """The address of a server; raises UsageError for what is none, which tries alone would find out after a minute."""
    address = _text(key, value)
    if not re.match(r"https?://[^/\s]", address):
        raise UsageError(f"{key} must be an address such as http://localhost:8000/v1, not {address!r}")
    return address


def _one_of(allowed: tuple[str, ...]) -> Callable[[str, object], str]:
    def check(key: str, value: object) -> str:
        if value not in allowed:
            raise UsageError(f"{key} must be one of {', '.join(allowed)}, not {value!r}{near(str(value), allowed)}")
        return str(value)

    return check


def _tokens(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{key} must be a whole number from 1, not {value!r}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _temperature(key: str, value: Any) -> float:
    if not _is_number(value) or not 0 <= value <= _HOTTEST:
        raise UsageError(f"{key} must be a number from 0 to {_HOTTEST}, not {value!r}")
    return float(value)


def _price(key: str, value: object) -> dict[str, float]:
    if not isinstance(value, Mapping) or not {"input", "output"} <= set(value) <= set(PRICES):
        raise UsageError(f"{key} must be {{ input = …, output = … }}, perhaps with cached: dollars a million tokens")
    for name, dollars in value.items():
        if not _is_number(dollars) or not 0 <= dollars < float("inf"):
            raise UsageError(f"{key}.{name} must be a number of dollars from 0, not {dollars!r}")
    return {name: float(dollars) for name, dollars in value.items()}


_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "model": _text,
    "api_base": checked_address,
    "api_key_env": _text,
    "api_key_file": _text,
    "api_key_keyring": _keyring_entry,
    "temperature": _temperature,
    "reasoning_effort": _one_of(EFFORTS),
    "max_output_tokens": _tokens,
    "context_window": _tokens,
    "calls": _one_of(CALLS),
    "price": _price,
}
