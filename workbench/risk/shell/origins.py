"""Where values used in arithmetic come from.

Bash evaluates `a[$(command)]` when it computes with a value, so that a value from outside can run a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from workbench.risk.assessment import Part, shortened
from workbench.risk.shell.words import DIGITS, NUMBERS, ansi_text, without_counts
from workbench.risk.word import UNKNOWN, Word

FROM_OUTSIDE = "reckons with a value from outside, which may run as code"
NOT_KNOWN = "reckons with a value that is not known here, which may run as code"
ARGUMENTS = "@"
"""The name under which all arguments of functions and of the shell are kept."""

_ONE = r"[-+]?(?:0[xX][\da-fA-F]+|\d+(?:#\w+)?|\{-?\d+\.\.-?\d+(?:\.\.-?\d+)?\})"
_AROUND = r"[\s()\"']"
_NUMBER = re.compile(rf"{_AROUND}*(?:{_ONE}(?:{_AROUND}+{_ONE})*{_AROUND}*)?")
TEMPORARY = "/tmp/tmp.??????????"
_CREATED = re.compile(
    r"""\"?\$\(mktemp(?:\s+(?:-[dq]+|-t\s+[\w.-]+|--directory|/tmp/[\w.-]+|2>\s*/dev/null))*\s*\)\"?"""
)
"""What makes a new temporary file, or folder, and says its name."""
_KEYS = re.compile(r"\$\{!([A-Za-z_]\w*)\[[@*]\]\}")
_RUNS = re.compile(r"\$\((?!\()|`|[<>]\(")
_EXPANDED = re.compile(r"\$\{?[!#]?([A-Za-z_]\w*|\d+|[@*])")
_NAME = re.compile(r"(?<![\w#])(?:[A-Za-z_]\w*)|\$\{?!?(?:\d+|[@*])")
_ONLY_SET = re.compile(r"(?<![\w$\]])[A-Za-z_]\w*\s*=(?!=)")


class Sum(NamedTuple):
    """A value used in arithmetic, or a variable used as the name of another variable."""

    text: str
    names: frozenset[str]
    runs: bool
    """Whether it contains a command whose output is unknown."""
    unsure: bool
    """Whether one of the names had no number when it came to this."""
    is_name: bool = False


class Origins:
    """Variables set in one command line, and values used in its arithmetic."""

    def __init__(self, distrusted: frozenset[str] = frozenset()) -> None:
        self.certain: dict[str, str] = {}
        """Patterns for the values of variables that hold a number or the name of a file, as far as it has come."""
        self.relied: set[str] = set()
        """Variables that were read as such a pattern."""
        self._distrusted = distrusted
        self.integers: set[str] = set()
        """Integer variables (`declare -i`)."""
        self.maps: set[str] = set()
        """Associative arrays (`declare -A`)."""
        self._kinds: dict[str, set[str]] = {}
        self._outside: set[str] = set()
        self._texts: set[str] = set()
        self._flows: dict[str, set[str]] = {}
        self._sums: dict[Sum, None] = {}

    def number(self, name: str) -> None:
        """The variable holds the outcome of a sum."""
        self._becomes(name, DIGITS)

    def outside(self, name: str, pattern: str = "") -> None:
        """The value comes from a file, a command or the user, or is the name of a file that fits the pattern."""
        name = name.partition("[")[0]
        self._becomes(name, pattern)
        self._outside.add(name)
        if name in self.integers:
            self.reckon(name)

    def assign(self, name: str, raw: str, *, lasts: bool = True) -> None:
        """Assign a value in source form; `lasts` when it is set for more than one command."""
        adds = name.endswith(("+", "]"))
        name = name.partition("[")[0].removesuffix("+")
        if name in self.integers:
            self.reckon(raw)
        text = without_counts(raw)
        if adds or not lasts:
            self._kinds.setdefault(name, set()).add("added")
        if self._is_number(name, text):
            if lasts and not adds:
                self._becomes(name, DIGITS)
            return
        is_fresh = _CREATED.fullmatch(raw) is not None and lasts and not adds
        self._becomes(name, TEMPORARY if is_fresh else "")
        self._texts.add(name)
        if _RUNS.search(text) and not is_fresh:
            self._outside.add(name)
        if "$" in text and not is_fresh:
            self._flows.setdefault(name, set()).update(_plain(result) for result in _EXPANDED.findall(text))

    def _becomes(self, name: str, kind: str) -> None:
        self._kinds.setdefault(name, set()).add(kind)
        if kind and name not in self._distrusted:
            self.certain[name] = kind
        else:
            self.certain.pop(name, None)

    def _is_number(self, name: str, text: str) -> bool:
        keys = _KEYS.fullmatch(text.strip('"'))
        if keys and keys[1] in self._kinds:
            return keys[1] not in self.maps
        return bool(_NUMBER.fullmatch(text))

    def pattern(self, name: str, *, quoted: bool) -> str:
        """A pattern for the value of a variable, as one word; empty where it is not known."""
        kind = self.certain.get(name, "")
        if kind not in {DIGITS, TEMPORARY} and not quoted:
            return ""
        self.relied |= {name} if kind else set()
        return kind

    def keep_only(self, before: Mapping[str, str]) -> None:
        """Certain is what was so before, where it is still."""
        self.certain = {name: kind for name, kind in self.certain.items() if name in before}

    def doubtful(self) -> frozenset[str]:
        """Variables that were relied upon, though they get other values too."""
        return frozenset(name for name in self.relied if len(self._kinds.get(name, ())) > 1)

    def reckon(self, raw: str) -> None:
        """Register an arithmetic expression in source form."""
        text = without_counts(raw, sums=False)
        names = frozenset(_plain(result) for result in _NAME.findall(_ONLY_SET.sub(" ", text))) - NUMBERS
        runs = bool(_RUNS.search(text))
        if names or runs:
            unsure = any(self.certain.get(name) != DIGITS for name in names)
            self._sums[Sum(shortened(raw), names, runs, unsure)] = None

    def refer(self, raw: str, name: str) -> None:
        """The value of a variable is taken for the name of another, which may have a subscript."""
        self._sums[Sum(shortened(raw), frozenset({_plain(name)}), False, False, True)] = None

    def parts(self) -> list[Part]:
        """What is to be said of the sums, when all that is set is known."""
        if not self._sums:
            return []
        outside, open_ended = self._reached(self._outside), self._reached(self._unset())
        result = []
        for each in self._sums:
            if each.runs or each.names & outside:
                result.append(Part(each.text, "HIGH", FROM_OUTSIDE))
            elif each.names & (open_ended if each.is_name else self._texts) or each.unsure:
                result.append(Part(each.text, "MEDIUM", NOT_KNOWN))
        return result

    def _unset(self) -> set[str]:
        named = {name for each in self._sums for name in each.names}
        return (named | {name for names in self._flows.values() for name in names}) - self._kinds.keys()

    def _reached(self, names: set[str]) -> set[str]:
        """The names, and those that get their value from one of them."""
        reached, before = set(names), -1
        while len(reached) != before:
            before = len(reached)
            reached |= {name for name, sources in self._flows.items() if sources & reached}
        return reached


def _plain(name: str) -> str:
    name = name.lstrip("${!")
    return ARGUMENTS if name[:1] in {"@", "*"} or name.isdigit() else name


RUNS = "runs a command in a subscript"
_NO_QUOTES = str.maketrans("", "", "'\"\\")
_INSIDE = re.compile(r"\[.*(?:\$\(|`|\$\{)", re.DOTALL)
_SECOND_HALF = re.compile(rf"(?:\A|{UNKNOWN})\(.*\)\s*\]", re.DOTALL)
_QUOTED = re.compile(r"\$?'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_LITERAL_IN_DOUBLE = re.compile(r"\[.*\\(?:\$\(|\$\{|`)", re.DOTALL)
_LITERAL_LINES = re.compile(r"<<-?\s*['\"\\].*", re.DOTALL)


def holds_command(text: str) -> bool:
    """Whether a text, its quotes removed, is a subscript with a command, or the second half of one."""
    return ("[" in text or "(" in text) and bool(_INSIDE.search(text) or _SECOND_HALF.search(text))


def any_holds_command(words: Iterable[Word]) -> bool:
    """Whether one of the words does."""
    return any(holds_command(word.text) for word in words)


def quotes_command(raw: str) -> bool:
    """Whether such a text is quoted somewhere in the source, in one piece or in several."""
    if "[" not in raw:
        return False
    bare = raw.translate(_NO_QUOTES)
    if bare.count("$(") > raw.count("$(") and _INSIDE.search(bare):
        return True
    return any(_is_live(match[0]) for match in _QUOTED.finditer(raw)) or any(
        _INSIDE.search(match[0]) for match in _LITERAL_LINES.finditer(raw)
    )


def _is_live(quoted: str) -> bool:
    if quoted.startswith("$"):
        return bool(_INSIDE.search(ansi_text(quoted[2:-1])))
    return bool((_LITERAL_IN_DOUBLE if quoted.startswith('"') else _INSIDE).search(quoted))
