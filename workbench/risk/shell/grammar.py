"""Grammars of programs: which options and operands are harmless. Anything else is rated at least MEDIUM.

A row is `NAMES | OPTIONS | OPERANDS | REASON`; lines that start with a space continue the previous row.

NAMES: programs separated by commas, `a/b` for alternatives, a verb after a space (`git log/show`).
OPTIONS, separated by spaces: `--long`, `-x`, `-[abc]` for several; `-#` is a number, and a lone `*` allows any option.
  After the option: `=` takes a value (`=r`: of that kind, `=tr`: two values), `?` takes one in the same word only.
  Then: `!` is HIGH, `^` replaces the first operand, `~` reads directories with everything below them, `&` also what
  the links there lead to, `@` is not harmless (MEDIUM) and rated by the program's own rule.
OPERANDS: one kind for each position; `*` repeats the last.
  Kinds: t text, a anything (even an unknown option), c code (likewise, but never the name of a file), r a file to read,
  d the same with everything below it, n a path of which only names, sizes and dates are read, o a file to read, or
  `@FILE` with options in it, w a file to write, l a file that names files to read, `;` words up to `;` or `+`, `>` a
  verb with a row of its own, `!` HIGH, `{REGEX}` a word that matches it.
REASON: why an option or operand with `!` is HIGH; if empty, the reason is that another program is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.reason import READS_OPTIONS, RUNS_PROGRAM, Reason, Trait, from_cell
from workbench.risk.word import UNKNOWN, Word, literal

if TYPE_CHECKING:
    from workbench.risk.shell.call import Call, Use

_OPTION: Final = lazy_pattern(r"(?P<flag>[-+](?:\[[^]]+\]|[^=?!~^@&]+))(?P<takes>\?|=[a-z;]*)?(?P<marks>[!~^@&]*)\Z")
_COLUMNS: Final = lazy_pattern(r"(?<!\S)\|(?!\S)")
_NUMBER: Final = lazy_pattern(r"-\d+\Z")
_NEGATIVE: Final = lazy_pattern(r"-[\d.]")
_BRACKET: Final = lazy_pattern(r"\[[!^]?\]?(?:\[:\w+:\]|[^]])*\]")
_ANY_NAME: Final = lazy_pattern(r"\*|\?.*\?")
_QUOTABLE: Final = lazy_pattern(r"-[\w-]{1,30}\Z", re.ASCII)
_PATHS: Final[Mapping[str, Use]] = {"r": "read", "d": "deep", "w": "write", "l": "read", "o": "read", "n": "list"}
_ALWAYS: Final = ("--help", "--version")
_UNKNOWN_WORD: Final = Reason("has a word only known at run time, which may be an option", Trait.UNCERTAIN)
_SEVERAL_WORDS: Final = "has a word that may become several, in places where they mean something else"


class OptionRule(NamedTuple):
    """The rule for one option in a grammar."""

    kinds: str = ""
    """The kinds of the values that it takes, one letter for each."""
    attached: bool = False
    """Whether its value may be in the same word."""
    high: bool = False
    unskips: bool = False
    deep: bool = False
    doubtful: bool = False
    follows: bool = False

    @property
    def powerful(self) -> bool:
        """Whether the option would do harm if it came from the value of a variable or from a file name."""
        return self.high or self.doubtful or not {*self.kinds} <= {"t"}

    @property
    def acts(self) -> bool:
        """Whether the option runs a command, writes a file or changes something else."""
        return self.high or self.doubtful or not {"w", ";"}.isdisjoint(self.kinds)


@dataclass(frozen=True)
class Grammar:
    """The options and operands of a program, or of one of its verbs."""

    options: Mapping[str, OptionRule]
    operands: tuple[str, ...]
    any_option: bool
    reason: str

    @cached_property
    def reads_text(self) -> bool:
        """Whether all operands are plain text."""
        kinds = {self.kind(position)[:1] for position in range(len(self.operands))}
        return bool(kinds) and kinds <= {"t", "{"}

    @cached_property
    def harmful(self) -> tuple[str, ...]:
        """The options that do harm if the shell expands a word, such as a glob, to one of them."""
        return tuple(flag for flag, option in self.options.items() if option.acts)

    def may_add_option(self, word: Word) -> bool:
        """Return whether the word, as a glob, may expand to a file name that would be parsed as a harmful option."""
        if not self.harmful or not may_be_option(word):
            return False
        return any(len(flag) == 2 or flag.startswith("--") or fnmatchcase(flag, word.text) for flag in self.harmful)

    def kinds_from(self, position: int) -> list[str]:
        """Return the kinds of the operands from a position on, up to the one that repeats."""
        last = max(position, len(self.operands)) + 1
        return list(dict.fromkeys(self.kind(each) for each in range(position, last)))

    def kind(self, position: int) -> str:
        """Return the kind of the operand at a position; empty if no operand is allowed there."""
        if position < len(self.operands):
            return self.operands[position].removesuffix("*")
        last = self.operands[-1] if self.operands else ""
        return last.removesuffix("*") if last.endswith("*") else ""


def rows(table: str) -> dict[str, str]:
    """Return the rows of a table of grammars by program and verb (`git log`); `parsed_row` parses a row."""
    result: dict[str, str] = {}
    for line in table.strip().replace("\n ", " ").splitlines():
        names, _, rest = line.partition("|")
        for name in names.split(","):
            for each in product(*(word.split("/") for word in name.split())):
                result[" ".join(each)] = rest
    return result


@cache
def parsed_row(row: str) -> Grammar:
    """Return the grammar that a row describes. Raises ValueError if the row is invalid."""
    options, operands, reason = (*(part.strip() for part in _COLUMNS.split(row)), "", "")[:3]
    names = options.split()
    options_by_flag = {flag: option for name in names if name != "*" for flag, option in _options(name)}
    options_by_flag |= {flag: OptionRule() for flag in _ALWAYS if flag not in options_by_flag}
    return Grammar(
        options_by_flag, tuple(operands.split()), "*" in names, from_cell(reason) if reason else RUNS_PROGRAM
    )


def _options(text: str) -> Iterator[tuple[str, OptionRule]]:
    result = _OPTION.match(text)
    if not result:
        raise ValueError(f"not an option of a grammar: {text}")
    flag, takes, marks = result["flag"], result["takes"] or "", result["marks"]
    kinds = (takes[1:] or "t") if takes.startswith("=") else ""
    option = OptionRule(kinds, takes == "?" or len(kinds) == 1, *(mark in marks for mark in "!^~@&"))
    if flag.startswith("-["):
        yield from ((f"-{letter}", option) for letter in flag[2:-1])
    else:
        yield flag, option


def prove(call: Call, words: list[Word], table: Mapping[str, str]) -> None:
    """Rate all words of a call by the program's grammar; a word that the grammar does not allow is at least MEDIUM."""
    row = table.get(call.name)
    if row is None:
        call.raise_to("MEDIUM", Reason("these arguments are not known to be harmless", Trait.UNCERTAIN))
    else:
        _Proof(call, table, parsed_row(row)).run(words)


class _Proof:
    """Checks the words of one call against a grammar."""

    def __init__(self, call: Call, table: Mapping[str, str], grammar: Grammar) -> None:
        self._call = call
        self._table = table
        self._grammar = grammar
        self._name = call.name
        self._operands: list[Word] = []
        self._skips = False
        self._deep = self._follows = False
        self._names: list[Word] = []
        """Words after `--`, which are not options whatever they expand to."""

    def run(self, words: list[Word]) -> None:
        rest = iter(words)
        for word in rest:
            if word.text == "--":
                self._names = list(rest)
            elif word.text in self._grammar.options or (word.text.startswith("-") and len(word.text) > 1):
                self._flag(word, rest)
            elif self._grammar.operands[:1] == (">",):
                if not self._verb(word):
                    return
            else:
                self._operands.append(word)
        self._rate_operands()

    def _verb(self, word: Word) -> bool:
        """Continue with the grammar of the verb; return False if there is none."""
        self._name = f"{self._name} {word.text}"
        row = self._table.get(self._name)
        if row is None or not word.is_literal:
            self._call.raise_to("MEDIUM", Reason("this subcommand is not known to be harmless", Trait.UNCERTAIN))
            return False
        self._grammar = parsed_row(row)
        return True

    def _flag(self, word: Word, rest: Iterator[Word]) -> None:
        text, options = word.text, self._grammar.options
        if word.splits:
            self._call.raise_to("MEDIUM", _SEVERAL_WORDS)
        if text in options:
            self._apply(options[text], None, rest)
        elif _NUMBER.match(text) and "-#" in options:
            return
        elif text.startswith("--"):
            self._long(word, rest)
        else:
            self._short(word, rest)

    def _long(self, word: Word, rest: Iterator[Word]) -> None:
        flag, equals, value = word.text.partition("=")
        attached = word._replace(text=value) if equals else None
        option = self._grammar.options.get(flag)
        if option is None:
            self._not_listed(flag, attached, rest)
        elif attached is not None and not option.attached:
            self._not_allowed(flag)
        else:
            self._apply(option, attached, rest)

    def _not_listed(self, flag: str, attached: Word | None, rest: Iterator[Word]) -> None:
        """Rate an option that is not in the table; if it may abbreviate listed options, rate it as the most dangerous
        of them.
        """
        if self._grammar.any_option:
            return
        self._not_allowed(flag)
        listed = self._grammar.options
        short = [listed[name] for name in listed if len(flag) > 2 and name.startswith(flag) and listed[name].powerful]
        for option in sorted(short, key=lambda each: each.high)[-1:]:
            self._apply(option, attached, rest)

    def _short(self, word: Word, rest: Iterator[Word]) -> None:
        """Rate letters after one dash; the text after a letter that takes a value is its value."""
        for at, letter in enumerate(word.text[1:], 2):
            option = self._grammar.options.get(f"-{letter}")
            if option is None:
                if not self._grammar.any_option:
                    self._not_allowed(word.text)
                return
            value = word._replace(text=word.text[at:]) if word.text[at:] and option.attached else None
            self._apply(option, value, rest)
            if value is not None or option.kinds:
                return

    def _apply(self, option: OptionRule, attached: Word | None, rest: Iterator[Word]) -> None:
        call = self._call
        if option.high:
            call.raise_to("HIGH", self._grammar.reason)
        elif option.doubtful:
            call.raise_to("MEDIUM", Reason(f"an option of {self._name} is not known to be harmless", Trait.UNCERTAIN))
        self._skips |= option.unskips
        self._deep |= option.deep
        self._follows |= option.follows
        if option.kinds == ";":
            next((word for word in rest if word.text in {";", "+"}), None)
            return
        for kind in option.kinds if attached is None else option.kinds[:1]:
            value = attached if attached is not None else next(rest, None)
            if value is not None:
                self._value(kind, value, is_own=attached is None and not option.unskips)
                if attached is None:
                    self._overflows(value)
        if attached is not None and not option.kinds:
            call.use(attached, "text")

    def _value(self, kind: str, word: Word, *, is_own: bool) -> None:
        """Rate the value of an option; `is_own`: it is a separate word, which is suspect if it starts with a dash."""
        if is_own and word.text.startswith("-") and len(word.text) > 1 and not _NEGATIVE.match(word.text):
            self._not_allowed(word.text)
        self._used(kind, word)

    def _overflows(self, word: Word) -> None:
        """Rate the further words to which the shell may expand an option's value: they are operands or options."""
        if word.splits:
            self._call.raise_to("MEDIUM", _SEVERAL_WORDS)
        elif word.matches:
            if self._grammar.may_add_option(word):
                self._call.raise_to("MEDIUM", _UNKNOWN_WORD)
            self._positions(0, word)

    def _used(self, kind: str, word: Word) -> None:
        if kind not in _PATHS:
            self._call.use(word, "text")
            return
        if kind == "o" and word.text.startswith("@"):
            word = word._replace(text=word.text[1:])
            self._call.raise_to("MEDIUM", READS_OPTIONS)
        if kind == "l":
            self._call.raise_to("MEDIUM", Reason("reads the files that a file names", Trait.READS))
        if "://" in word.text:
            self._call.raise_to("MEDIUM", "asks another machine")
        deeper: Mapping[str, Use] = {"r": "deep", "n": "read"} if self._deep else {}
        deeper = dict.fromkeys("rdn", "follow") if self._follows else deeper
        self._call.use(word, deeper.get(kind, _PATHS[kind]))

    def _not_allowed(self, flag: str) -> None:
        what = flag.partition("=")[0]
        option = what if _QUOTABLE.match(what) else "an option"
        self._call.raise_to("MEDIUM", Reason(f"{option} of {self._name} is not known to be harmless", Trait.UNCERTAIN))

    def _rate_operands(self) -> None:
        grammar, call = self._grammar, self._call
        call.unread |= grammar.reads_text
        if self._follows and len(self._operands) + len(self._names) + self._skips < len(grammar.operands):
            self._operands.append(literal("."))
        for position, word in enumerate((*self._operands, *self._names), 1 if self._skips else 0):
            if position - self._skips < len(self._operands):
                self._slips_in(grammar.kind(position), word)
            if word.spreads:
                self._positions(position, word)
            else:
                self._operand(grammar.kind(position), word)

    def _positions(self, position: int, word: Word) -> None:
        """Rate a word that may become several, once for each operand position that these may have."""
        for at, kind in enumerate(self._grammar.kinds_from(position)):
            if at and (not kind or kind == "!" or (kind == "w" and word.splits)):
                self._call.raise_to("MEDIUM", _SEVERAL_WORDS)
            else:
                self._operand(kind, word)

    def _operand(self, kind: str, word: Word) -> None:
        call = self._call
        if kind in {"a", "c"}:
            if kind == "c" and (word.splits or (word.matches and _ANY_NAME.search(word.text))):
                call.raise_to(
                    "MEDIUM", Reason("runs a command named by a file or by an unknown value", Trait.UNCERTAIN)
                )
            call.use(word, "text")
        elif not kind:
            call.raise_to("MEDIUM", f"{self._name} has a word too many to be harmless")
        elif kind == "!":
            call.raise_to("HIGH", self._grammar.reason)
        elif kind.startswith("{"):
            if UNKNOWN in word.text or not re.fullmatch(kind[1:-1], word.text):
                call.raise_to(
                    "MEDIUM", Reason(f"{self._name} has a word that is not known to be harmless", Trait.UNCERTAIN)
                )
            call.use(word, "text")
        else:
            self._used(kind, word)

    def _slips_in(self, kind: str, word: Word) -> None:
        """Rate a word that may become an option when the shell expands it."""
        is_open = UNKNOWN in word.text and (word.text.startswith(UNKNOWN) or word.splits)
        if (is_open and kind == "t") or self._grammar.may_add_option(word):
            self._call.raise_to("MEDIUM", _UNKNOWN_WORD)


def may_be_option(word: Word) -> bool:
    """Return whether the name of a file that fits the pattern may begin with a dash."""
    text = word.text
    if not word.is_pattern:
        return False
    if text[:1] in {"*", "?"} or word.splits:
        return True
    bracket = _BRACKET.match(text)
    if bracket is None:
        return text.startswith("[")
    return "[:" in bracket[0] or fnmatchcase("-", bracket[0].replace("[^", "[!", 1))
