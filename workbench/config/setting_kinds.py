"""The kinds of value a setting can have, with their checks, and `setting`, which declares a setting in the table.

`ohw --help` reads the table and has to be fast, so this module does not import `dataclasses`, `typing` or a validation
library.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.suggest import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_URL = lazy_pattern(r"https?://[^/\s]")
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_SWITCH = {"yes": True, "no": False, "true": True, "false": False}


class Kind(ABC):
    """A kind of value. `check` takes a value from the file, the environment or a flag, and `parse` takes text from the
    form.
    """

    is_table = False
    """Whether the value is a table or a list, which only the settings file can contain."""
    choices: Sequence[tuple[str, str]] = ()
    """The allowed values, each with a short explanation; empty if the values are not listed."""
    labels: Mapping[str, str] = {}
    """The names that the interface shows for the allowed values, if they differ."""

    @abstractmethod
    def check(self, name: str, value: Any) -> Any:
        """Return the value converted to its type. Raises a UsageError that names the setting and what it expects."""

    def parse(self, name: str, text: str) -> Any:
        """Convert text typed into the form to a value for the file. Raises UsageError if it is invalid."""
        return self.check(name, text)

    def show(self, value: Any) -> str:
        """Return the value as text for the form."""
        return "" if value is None else str(value)

    def merge(self, value: Any, written: Any) -> Any:
        """Return the value that takes effect if a flag or variable gives `value`; the file gives `written`, or None."""
        return value

    def flag_text(self, value: Any) -> str:
        """Return what follows the flag that gives a value; the inverse of `merge` and `check`."""
        return str(value)


class Text(Kind):
    """One line of printable text, which may be empty unless it is `required`."""

    def __init__(self, *, required: bool = False) -> None:
        self._is_required = required

    def check(self, name: str, value: Any) -> Any:
        """Return the text without surrounding whitespace. Raises UsageError if it is not one line of printable text."""
        if value == "" and not self._is_required:
            return value
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise UsageError(f"{name} must be text in one line")
        return value.strip()


class Template(Text):
    """The template of the status line: text with fields in braces; empty for the default."""

    fields = ("directory", "branch", "context", "model", "cost", "mode")

    def check(self, name: str, value: Any) -> Any:
        """Return the template. Raises UsageError for an unknown field or a single brace."""
        template = super().check(name, value)
        for field in re.findall(r"\{([^{}]*)\}", template):
            if field not in self.fields:
                names = ", ".join(f"{{{each}}}" for each in self.fields)
                raise UsageError(f"{name} has no field {{{field}}}; known are {names}{near(field, self.fields)}")
        if re.search(r"[{}]", re.sub(r"\{[^{}]*\}", "", template)):
            raise UsageError(f"{name}: write a field as {{model}}, without other braces")
        return template


class RegularExpression(Text):
    """A regular expression."""

    def check(self, name: str, value: Any) -> Any:
        """Return the pattern. Raises UsageError, which says why, for one that cannot be compiled."""
        pattern = super().check(name, value)
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(f"{name} must be a regular expression, not {value!r}: {error}") from None
        return pattern


class Prose(Kind):
    """Text of any number of lines."""

    def check(self, name: str, value: Any) -> Any:
        """Return the text without surrounding whitespace. Raises UsageError if the value is not a string."""
        if not isinstance(value, str):
            raise UsageError(f"{name} must be text")
        return value.strip()


class Url(Text):
    """The URL of a server."""

    def check(self, name: str, value: Any) -> Any:
        """Return the URL. Raises UsageError if it is not http(s), which requests would report only after retries."""
        url = super().check(name, value)
        if url and not _URL.match(url):
            raise UsageError(f"{name} must be a URL such as http://localhost:8000/v1, not {url!r}")
        return url


class MemorySize(Text):
    """An amount of memory, such as `512m`; empty for no limit."""

    def check(self, name: str, value: Any) -> Any:
        """Return the amount. Raises UsageError for other text."""
        size = super().check(name, value)
        if size and not re.fullmatch(r"[1-9][0-9]*[kmg]", size):
            raise UsageError(f'{name} must be an amount such as "512m" or "4g", not {value!r}')
        return size


class VariableName(Text):
    """The name of an environment variable that holds a key."""

    def parse(self, name: str, text: str) -> Any:
        """Return the name. Raises UsageError for other text, without repeating it, because it may be the key itself."""
        if not _VARIABLE.fullmatch(text):
            raise UsageError(
                f"{name} must be the name of a variable, such as MY_KEY; the key itself does not belong here"
            )
        return text


class KeyringEntry(Text):
    """SERVICE/NAME of a password in the system's keyring."""

    def check(self, name: str, value: Any) -> Any:
        """Return the entry. Raises UsageError if one of its two parts is missing."""
        entry = super().check(name, value)
        service, _, user = (entry or "a/b").partition("/")
        if not service.strip() or not user.strip():
            raise UsageError(f"{name} must be SERVICE/NAME as in the system's keyring, not {value!r}")
        return entry


class OneOf(Kind):
    """One of a few names, each with a short explanation."""

    def __init__(
        self, *names: str, words: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None
    ) -> None:
        self.choices = list((words or dict.fromkeys(names, "")).items())
        self.labels = labels or {}

    def check(self, name: str, value: Any) -> Any:
        """Return the value. Raises UsageError, which suggests the nearest choice, if it is not one of the choices."""
        allowed = [choice for choice, _ in self.choices]
        if value not in allowed:
            raise UsageError(f"{name} must be one of {', '.join(allowed)}, not {value!r}{near(str(value), allowed)}")
        return value


class WholeNumber(Kind):
    """A whole number of at least `least`; the environment and flags give it as text."""

    def __init__(self, least: int) -> None:
        self._least = least

    def check(self, name: str, value: Any) -> Any:
        """Return the number, given as a number or as text. Raises UsageError if it is too small or not whole."""
        try:
            number = int(str(value))
        except ValueError:
            number = self._least - 1
        if isinstance(value, bool) or number < self._least:
            raise UsageError(f"{name} must be a whole number from {self._least}, not {value!r}")
        return number

    def parse(self, name: str, text: str) -> Any:
        """Return the number, which may have commas between thousands. Raises UsageError if it is invalid."""
        is_grouped = re.fullmatch(r"\d{1,3}(,\d{3})+", text)
        return self.check(name, text.replace(",", "") if is_grouped else text)


class Number(Kind):
    """A number from 0 to `most`, such as a temperature; `what` describes it in messages."""

    def __init__(self, most: float = float("inf"), *, what: str = "") -> None:
        self._most = most
        self._what = what or f"a number from 0 to {most}"

    def check(self, name: str, value: Any) -> Any:
        """Return the number. Raises UsageError if it is out of range, NaN or infinity."""
        try:
            number = float(str(value))
        except ValueError:
            number = -1.0
        if isinstance(value, bool) or not 0 <= number <= self._most or number == float("inf"):
            raise UsageError(f"{name} must be {self._what}, not {value!r}")
        return number

    def show(self, value: Any) -> str:
        """Return the number as text, without a fraction of 0."""
        return f"{value:g}" if isinstance(value, float) and value.is_integer() else super().show(value)


class Switch(Kind):
    """True or false. With `auto` also "auto", which decides by what the terminal is known to support."""

    def __init__(self, *, auto: bool = False) -> None:
        self._has_auto = auto
        self.choices = [*([("auto", "")] if auto else []), ("yes", ""), ("no", "")]

    def check(self, name: str, value: Any) -> Any:
        """Return the boolean, given as a boolean or as text, or "auto". Raises UsageError if it is something else."""
        word = str(value).lower()
        if word in ("true", "false"):
            return word == "true"
        if self._has_auto and value == "auto":
            return value
        allowed = 'true, false or "auto"' if self._has_auto else "true or false"
        raise UsageError(f"{name} must be {allowed}, not {value!r}")

    def parse(self, name: str, text: str) -> Any:
        """Return True or False for yes or no, as the form shows them, or "auto". Raises UsageError for other text."""
        if text not in _SWITCH and not (self._has_auto and text == "auto"):
            raise UsageError(f"{name} must be {'auto, yes or no' if self._has_auto else 'yes or no'}, not {text!r}")
        return _SWITCH.get(text, text)

    def show(self, value: Any) -> str:
        """Return yes or no for a boolean, else the text of the value."""
        return ("yes" if value else "no") if isinstance(value, bool) else super().show(value)


class Strings(Kind):
    """A list of strings; `what` describes it in messages, with an example; `of` parses each string typed
    into the form.
    """

    is_table = True

    def __init__(self, what: str, *, of: Kind | None = None) -> None:
        self._what = what
        self._of = of or Text(required=True)

    def check(self, name: str, value: Any) -> Any:
        """Return the strings as a tuple. Raises UsageError if the value is not a list of strings."""
        if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
            raise UsageError(f"{name} must be a list of {self._what}")
        return tuple(value)

    def parse(self, name: str, text: str) -> Any:
        """Return the list of strings that the text contains, separated by commas."""
        return [self._of.parse(name, part.strip()) for part in text.split(",") if part.strip()]

    def show(self, value: Any) -> str:
        """Return the strings separated by commas."""
        return ", ".join(map(str, value))


class Table(Kind):
    """A table of the settings file, checked by the function `check`; the form shows its entries, not the table."""

    is_table = True

    def __init__(self, check: Callable[[str, Any], object]) -> None:
        self._check = check

    def check(self, name: str, value: Any) -> Any:
        """Return the table unchanged. Raises UsageError if its check fails."""
        self._check(name, value)
        return value


NOW, NEXT_SESSION, NEXT_START = "immediately", "in the next session", "at the next start"
"""When a changed setting takes effect."""
REQUIRED = object()
"""The default of a setting that must be given."""
_tables: dict[type, dict[str, Setting]] = {}


class Setting:
    """One setting: its name, default and kind of value, its flag and variable, and texts for the user."""

    def __init__(
        self,
        default: Any,
        kind: Kind,
        title: str,
        about: str,
        *,
        group: str = "",
        takes_effect: str = NEXT_SESSION,
        unit: str = "",
        unset: str = "",
        flag: str = "",
        is_secret: bool = False,
    ) -> None:
        """Declare a setting.

        `about` describes it in a sentence or two. `unset` says what it means to have no value or 0, such as "no limit".
        `flag` is the placeholder for the value in the flag's help; without it the setting has no flag.
        """
        self.name = ""
        self.default = default
        self.kind = kind
        self.title = title
        self.about = about
        self.group = group
        self.takes_effect = takes_effect
        self.unit = unit
        self.unset = unset
        self.metavar = flag
        self.is_secret = is_secret

    def __set_name__(self, table: type, name: str) -> None:
        self.name = name
        _tables.setdefault(table, {})[name] = self

    @property
    def flag(self) -> str:
        """The command line flag, or an empty string if there is none."""
        return f"--{self.name.replace('_', '-')}" if self.metavar else ""

    @property
    def variable(self) -> str:
        """The environment variable; an empty string for tables and lists, which no variable can contain."""
        return "" if self.kind.is_table else f"OHW_{self.name.upper()}"

    @property
    def reference(self) -> str:
        """The description, followed by the values and their meaning if the interface shows other names for them."""
        if not self.kind.labels:
            return self.about
        values = "; ".join(f"{value} ({words})" for value, words in self.kind.choices)
        return f"{self.about.removesuffix('.')}: {values}."

    @property
    def on_form(self) -> bool:
        """Whether the setting is a row of the Settings screen; a table is not, but its entries are."""
        return not isinstance(self.kind, Table)


def setting(default: Any, kind: Kind, title: str, about: str, **options: Any) -> Any:
    """Declare a setting as an attribute of a table's class; see `Setting` for the options."""
    return Setting(default, kind, title, about, **options)


def declared(table: type) -> Mapping[str, Setting]:
    """Return the settings of a table by name, in the order of their declaration."""
    return _tables[table]


def checked_table(table: type, key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked entries of a table. Raises a UsageError that names an invalid key."""
    entries = declared(table)
    for name in values:
        if name not in entries:
            names = ", ".join(sorted(entries))
            raise UsageError(f"{key} has no entry {name!r}; known are {names}{near(str(name), entries)}")
    return {name: entries[name].kind.check(f"{key}.{name}", value) for name, value in values.items()}
