"""Track where values used in arithmetic come from.

Bash evaluates `a[$(command)]` when it computes with a value, so a value from outside can run a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part, shortened
from workbench.risk.reason import Reason, Trait
from workbench.risk.shell.words import DIGITS, NUMBERS, ansi_text, without_counts
from workbench.risk.word import UNKNOWN, Word

FROM_OUTSIDE = Reason("calculates with a value from outside, which may run as code", Trait.RUNS)
UNKNOWN_VALUE = Reason("does arithmetic with an unknown value, which may run as code", Trait.UNCERTAIN)
ARGUMENTS = "@"
"""The name that stands for all arguments of functions and of the shell."""

_ONE = r"[-+]?(?:0[xX][\da-fA-F]+|\d+(?:#\w+)?|\{-?\d+\.\.-?\d+(?:\.\.-?\d+)?\})"
_AROUND = r"[\s()\"']"
_NUMBER = lazy_pattern(rf"{_AROUND}*(?:{_ONE}(?:{_AROUND}+{_ONE})*{_AROUND}*)?")
TEMPORARY = "/tmp/tmp.??????????"
_CREATED = lazy_pattern(
    r"""\"?\$\(mktemp(?:\s+(?:-[dq]+|-t\s+[\w.-]+|--directory|/tmp/[\w.-]+|2>\s*/dev/null))*\s*\)\"?"""
)
"""Matches a substitution that creates a temporary file or directory and prints its name."""
_KEYS = lazy_pattern(r"\$\{!([A-Za-z_]\w*)\[[@*]\]\}")
_RUNS = lazy_pattern(r"\$\((?!\()|`|[<>]\(")
_EXPANDED = lazy_pattern(r"\$\{?[!#]?([A-Za-z_]\w*|\d+|[@*])")
_NAME = lazy_pattern(r"(?<![\w#])(?:[A-Za-z_]\w*)|\$\{?!?(?:\d+|[@*])")
_ONLY_SET = lazy_pattern(r"(?<![\w$\]])[A-Za-z_]\w*\s*=(?!=)")


class Sum(NamedTuple):
    """A value used in arithmetic (with its source), or a variable used as the name of another variable."""

    text: str
    names: frozenset[str]
    runs: bool
    """Whether it contains a command whose output is unknown."""
    unsure: bool
    """Whether any of the names was not certain to be a number at this point of the line."""
    is_name: bool = False


class Origins:
    """The variables set in one command line, and the values used in its arithmetic."""

    def __init__(self, distrusted: frozenset[str] = frozenset()) -> None:
        self.certain: dict[str, str] = {}
        """Glob patterns, by variable, for values known to be a number or a file name at this point of the line."""
        self.relied: set[str] = set()
        """Variables whose pattern in `certain` was used."""
        self._distrusted = distrusted
        self.integers: set[str] = set()
        """Integer variables (`declare -i`)."""
        self.maps: set[str] = set()
        """Associative arrays (`declare -A`)."""
        self._kinds: dict[str, set[str]] = {}
        self._outside: set[str] = set()
        self._strings: set[str] = set()
        self._flows: dict[str, set[str]] = {}
        self._sums: dict[Sum, None] = {}

    def number(self, name: str) -> None:
        """Record that the variable holds a number."""
        self._becomes(name, DIGITS)

    def outside(self, name: str, pattern: str = "") -> None:
        """Record that the value comes from outside, or is the name of a file that matches the pattern."""
        name = name.partition("[")[0]
        self._becomes(name, pattern)
        self._outside.add(name)
        if name in self.integers:
            self.add_arithmetic(name)

    def assign(self, name: str, raw: str, *, lasts: bool = True) -> None:
        """Record an assigned value, given as source; `lasts` says that it is set for more than one command."""
        adds = name.endswith(("+", "]"))
        name = name.partition("[")[0].removesuffix("+")
        if name in self.integers:
            self.add_arithmetic(raw)
        text = without_counts(raw)
        if adds or not lasts:
            self._kinds.setdefault(name, set()).add("added")
        if self._is_number(name, text):
            if lasts and not adds:
                self._becomes(name, DIGITS)
            return
        is_fresh = _CREATED.fullmatch(raw) is not None and lasts and not adds
        self._becomes(name, TEMPORARY if is_fresh else "")
        self._strings.add(name)
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
        """Return a glob pattern for the value of a variable as one word; empty if unknown."""
        kind = self.certain.get(name, "")
        if kind not in {DIGITS, TEMPORARY} and not quoted:
            return ""
        self.relied |= {name} if kind else set()
        return kind

    def keep_only(self, before: Mapping[str, str]) -> None:
        """Keep as certain only the variables that are also in `before`."""
        self.certain = {name: kind for name, kind in self.certain.items() if name in before}

    def doubtful(self) -> frozenset[str]:
        """Return the variables whose pattern was used although they also get values that it does not match."""
        return frozenset(name for name in self.relied if len(self._kinds.get(name, ())) > 1)

    def add_arithmetic(self, raw: str) -> None:
        """Record an arithmetic expression, given as source."""
        text = without_counts(raw, sums=False)
        names = frozenset(_plain(result) for result in _NAME.findall(_ONLY_SET.sub(" ", text))) - NUMBERS
        runs = bool(_RUNS.search(text))
        if names or runs:
            unsure = any(self.certain.get(name) != DIGITS for name in names)
            self._sums[Sum(shortened(raw), names, runs, unsure)] = None

    def refer(self, raw: str, name: str) -> None:
        """Record that a variable's value is used as the name of another variable, which may have a subscript."""
        self._sums[Sum(shortened(raw), frozenset({_plain(name)}), False, False, True)] = None

    def parts(self) -> list[Part]:
        """Return the parts for all recorded arithmetic; call this after the whole line has been interpreted."""
        if not self._sums:
            return []
        outside, open_ended = self._reached(self._outside), self._reached(self._unset())
        result = []
        for each in self._sums:
            if each.runs or each.names & outside:
                result.append(Part(each.text, "HIGH", FROM_OUTSIDE))
            elif each.names & (open_ended if each.is_name else self._strings) or each.unsure:
                result.append(Part(each.text, "MEDIUM", UNKNOWN_VALUE))
        return result

    def _unset(self) -> set[str]:
        named = {name for each in self._sums for name in each.names}
        return (named | {name for names in self._flows.values() for name in names}) - self._kinds.keys()

    def _reached(self, names: set[str]) -> set[str]:
        """Return the names, and all variables whose values come from any of them."""
        reached, before = set(names), -1
        while len(reached) != before:
            before = len(reached)
            reached |= {name for name, sources in self._flows.items() if sources & reached}
        return reached


def _plain(name: str) -> str:
    name = name.lstrip("${!")
    return ARGUMENTS if name[:1] in {"@", "*"} or name.isdigit() else name


RUNS = Reason("runs a command in a subscript", Trait.RUNS)
_NO_QUOTES = str.maketrans("", "", "'\"\\")
_INSIDE = lazy_pattern(r"\[.*(?:\$\(|`|\$\{)", re.DOTALL)
_SECOND_HALF = lazy_pattern(rf"(?:\A|{UNKNOWN})\(.*\)\s*\]", re.DOTALL)
_QUOTED = lazy_pattern(r"\$?'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_LITERAL_IN_DOUBLE = lazy_pattern(r"\[.*\\(?:\$\(|\$\{|`)", re.DOTALL)
_LITERAL_LINES = lazy_pattern(r"<<-?\s*['\"\\].*", re.DOTALL)


def holds_command(text: str) -> bool:
    """Return whether an unquoted text contains a subscript with a command, or the second half of one."""
    return ("[" in text or "(" in text) and bool(_INSIDE.search(text) or _SECOND_HALF.search(text))


def any_holds_command(words: Iterable[Word]) -> bool:
    """Return whether any of the words contains a subscript with a command."""
    return any(holds_command(word.text) for word in words)


def quotes_command(raw: str) -> bool:
    """Return whether the source quotes a subscript with a command, in one piece or in several."""
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
