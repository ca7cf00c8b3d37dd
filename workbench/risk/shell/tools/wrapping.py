"""How a program that runs another one is read: its own flags and words first, and behind them the command; for
`wrappers` and `launchers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.protocol.risk import Risk
from workbench.risk.shell.call import Call
from workbench.risk.shell.tools.rule import Rule, words
from workbench.risk.shell.variables import rated_variable
from workbench.risk.shell.words import Word

_SETTING = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class Wrap:
    """What stands between the program and the command it runs."""

    values: frozenset[str] = field(default_factory=frozenset)
    """Flags whose value is the next word."""
    writes: frozenset[str] = field(default_factory=frozenset)
    """Flags whose value is a file that is written."""
    texts: frozenset[str] = field(default_factory=frozenset)
    """Flags whose value is a command line."""
    high: frozenset[str] = field(default_factory=frozenset)
    high_reason: str = "runs what stands in a flag"
    skip: int = 0
    """Words in front of the command that are something else."""
    risk: Risk = "LOW"
    reason: str = ""
    sets: bool = False
    """Whether NAME=VALUE may stand in front of the command."""
    plain: frozenset[str] = field(default_factory=frozenset)
    """Flags without a value that change nothing of what is run; `-#` is a number."""
    dashes: bool = False
    """Whether the command stands behind `--` alone."""


def wrap(values: str = "", skip: int = 0, **more: object) -> Wrap:
    """A row of a table; flags are given as words with blanks between."""
    given = {name: words(value) if isinstance(value, str) and name in _SETS else value for name, value in more.items()}
    return Wrap(words(values), skip=skip, **given)  # type: ignore[arg-type]


_SETS = frozenset({"writes", "texts", "high", "plain"})


def wrapper(values: str = "", skip: int = 0, **more: object) -> Callable[[Call], None]:
    """A rule: flags (`values` take a word), `skip` operands, and then a command."""
    made = wrap(values, skip, **more)

    def rule(call: Call) -> None:
        """Rate the wrapped command."""
        run_wrapped(call, list(call.words), made)

    return rule


def launcher(verbs: str, made: Wrap, other: Rule, before: str = "") -> Callable[[Call], None]:
    """A rule for `PROGRAM run COMMAND`: with one of the verbs as a wrapper, else as the other rule says."""
    known, taking = words(verbs, "|" if "|" in verbs else None), words(before)

    def rule(call: Call) -> None:
        """Rate what is run, or what else the program does."""
        rest = list(call.words)
        while rest and rest[0].text.startswith("-"):
            flag = rest.pop(0).text
            if flag in taking and rest:
                rest.pop(0)
        for length in (2, 1):
            if " ".join(word.text for word in rest[:length]) in known:
                run_wrapped(call, rest[length:], made)
                return
        if callable(other):
            other(call)
        else:
            call.apply(other)

    return rule


def run_wrapped(call: Call, rest: list[Word], made: Wrap) -> None:
    """Rate the command behind the flags and words of the wrapper, and those that stand in flags."""
    call.raise_to(made.risk, made.reason)
    call.is_proven = True
    if made.dashes and (at := next((at for at, word in enumerate(rest) if word.text == "--"), -1)) >= 0:
        before, rest = rest[:at], rest[at + 1 :]
        while before:
            _flag(call, before, made)
        call.run_words(rest)
        return
    rest = _behind(call, rest, made)
    if len(rest) == 1 and " " in rest[0].text:
        call.run_text(rest[0])
    elif not made.dashes:
        call.run_words(rest)


def _behind(call: Call, rest: list[Word], made: Wrap) -> list[Word]:
    """The words behind what belongs to the wrapper itself."""
    left = made.skip
    while rest and rest[0].text != "--":
        if rest[0].text.startswith("-") and rest[0].text != "-":
            _flag(call, rest, made)
        elif made.sets and _SETTING.match(rest[0].text):
            _setting(call, rest.pop(0))
        elif left:
            left -= 1
            rest.pop(0)
        else:
            break
    return rest[1 + left :] if rest and rest[0].text == "--" else rest


def _flag(call: Call, rest: list[Word], made: Wrap) -> None:
    """Take one flag with its value from the front."""
    word = rest.pop(0)
    flag, equals, value = _parted(word.text, made)
    takes = _takes(flag, made)
    given = Word(value, word.raw, word.is_pattern, word.runs) if equals else None
    if not takes and flag not in made.high:
        _plain_flag(call, word, rest, made)
    if takes and given is None and rest:
        given = rest.pop(0)
    if flag in made.high:
        call.raise_to("HIGH", made.high_reason)
    if given is not None and flag in made.writes:
        call.use(given, "write")
    elif given is not None and flag in made.texts:
        call.run_text(given)


def _parted(text: str, made: Wrap) -> tuple[str, str, str]:
    """A flag, a sign that it has a value in its own word, and the value: `--signal=KILL`, `-n19`."""
    if text[1:2] != "-" and len(text) > 2 and text not in made.plain and _takes(text[:2], made):
        return text[:2], "=", text[2:]
    return text.partition("=")


def _takes(flag: str, made: Wrap) -> bool:
    return any(flag in names for names in (made.values, made.writes, made.texts))


def _plain_flag(call: Call, word: Word, rest: list[Word], made: Wrap) -> None:
    """A flag without a value; one that is not known may have one, and then the command is one of the next words."""
    letters = {f"-{letter}" for letter in word.text[1:]}
    is_number = "-#" in made.plain and word.text[1:].isdecimal()
    if word.text in made.plain or is_number or (word.text[1:2] != "-" and letters <= made.plain):
        return
    call.raise_to("MEDIUM", "has an option that is not known to be harmless")
    for words_left in (rest[at:] for at in range(1, min(3, len(rest)))):
        if found := call.scan.perhaps(words_left, is_line=False):
            call.raise_to("HIGH", found)


def _setting(call: Call, word: Word) -> None:
    name, _, value = word.text.partition("=")
    call.raise_to(*rated_variable(name, value))
