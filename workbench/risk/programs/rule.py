"""The building blocks of rules: table rows, subcommands, and programs that wrap another command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import TypeAlias

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk
from workbench.risk.environment import rated_variable
from workbench.risk.paths import words as words
from workbench.risk.reason import Reason, Trait
from workbench.risk.shell.call import Call, ParsedOption, Spec
from workbench.risk.word import Word

Rule: TypeAlias = Spec | Callable[[Call], None]


def named(spec: Spec, names: str) -> dict[str, Rule]:
    """Return a table that gives several programs the same rule."""
    return dict.fromkeys(names.split(), spec)


def always(risk: Risk, reason: str, names: str) -> dict[str, Rule]:
    """Return rules for programs whose risk does not depend on their words."""
    return named(Spec(risk, reason, operands="text"), names)


_PASS_ON = {"cargo": words("run r test t bench"), "dotnet": words("run")}
"""Verbs with which programs pass all words after `--` to a program of the project."""


def own_words(program: str, original: list[Word]) -> list[Word]:
    """Return the words without those that are passed to a program of the project."""
    verb = next((word.text for word in original if not word.text.startswith(("-", "+"))), "")
    if verb not in _PASS_ON.get(program, frozenset()):
        return original
    return list(takewhile(lambda word: word.text != "--", original))


def flag_names(options: list[ParsedOption]) -> set[str]:
    """Return the names of the given flags."""
    return {option.flag for option in options}


def subcommands(table: Mapping[str, Spec], unknown: Spec, values: str = "") -> Callable[[Call], None]:
    """Return a rule that depends on the first operand, or on the first two, as in `remote add`.

    `unknown` is the rule for other operands, and `values` are flags before the operand whose value is the next word.
    """
    before = Spec(values=words(values))

    def rule(call: Call) -> None:
        """Rate the call by its subcommand."""
        rest = list(call.words)
        while rest and rest[0].text.startswith("-"):
            flag = rest.pop(0).text
            if flag in before.values and rest:
                rest.pop(0)
        verb = rest[0].text if rest else ""
        pair = f"{verb} {rest[1].text}" if len(rest) > 1 else ""
        call.words = rest[2:] if pair in table else rest[1:]
        call.apply((table.get(pair) if pair else None) or table.get(verb, unknown))

    return rule


_SETTING = lazy_pattern(r"[A-Za-z_]\w*=")


class Wrap(msgspec.Struct, frozen=True):
    """Describes the words between a wrapper and the command that it runs."""

    values: frozenset[str] = msgspec.field(default_factory=frozenset)
    """Flags whose value is the next word."""
    writes: frozenset[str] = msgspec.field(default_factory=frozenset)
    """Flags whose value is a file to be written."""
    commands: frozenset[str] = msgspec.field(default_factory=frozenset)
    """Flags whose value is a command line."""
    high: frozenset[str] = msgspec.field(default_factory=frozenset)
    high_reason: str = Reason("runs the value of an option", Trait.RUNS)
    skip: int = 0
    """How many operands precede the command."""
    risk: Risk = "LOW"
    reason: str = ""
    sets: bool = False
    """Whether NAME=VALUE may precede the command."""
    plain: frozenset[str] = msgspec.field(default_factory=frozenset)
    """Flags without a value that do not affect what is run; `-#` means `-` and a number."""
    dashes: bool = False
    """Whether the command must be preceded by `--`."""


def wrap(values: str = "", skip: int = 0, **more: object) -> Wrap:
    """Return a `Wrap`; sets of flags are given as strings, separated by spaces."""
    fields = {name: words(value) if isinstance(value, str) and name in _SETS else value for name, value in more.items()}
    return Wrap(words(values), skip=skip, **fields)  # type: ignore[arg-type]


_SPREADS = "has a word that may become several, so another command may be run"
_SETS = frozenset({"writes", "commands", "high", "plain"})


def wrapper(values: str = "", skip: int = 0, **more: object) -> Callable[[Call], None]:
    """Return a rule for a wrapper: flags (those in `values` take a word), then `skip` operands, and then a command."""
    spec = wrap(values, skip, **more)

    def rule(call: Call) -> None:
        """Rate the wrapped command."""
        run_wrapped(call, list(call.words), spec)

    return rule


def launcher(verbs: str, spec: Wrap, other: Rule, before: str = "") -> Callable[[Call], None]:
    """Return a rule for `PROGRAM run COMMAND`: a wrapper if one of the verbs is given, otherwise `other`.

    `before` are the flags before the verb whose value is the next word.
    """
    launching, taking = words(verbs, "|" if "|" in verbs else None), words(before)

    def rule(call: Call) -> None:
        """Rate the command that is run, or apply the other rule."""
        rest = list(call.words)
        while rest and rest[0].text.startswith("-"):
            flag = rest.pop(0).text
            if flag in taking and rest:
                rest.pop(0)
        for length in (2, 1):
            if " ".join(word.text for word in rest[:length]) in launching:
                run_wrapped(call, rest[length:], spec)
                return
        if callable(other):
            other(call)
        else:
            call.apply(other)

    return rule


def run_wrapped(call: Call, rest: list[Word], spec: Wrap) -> None:
    """Rate the command after the wrapper's flags and operands, and the commands given in its flags."""
    call.raise_to(spec.risk, spec.reason)
    call.is_proven = True
    if spec.dashes and (at := next((at for at, word in enumerate(rest) if word.text == "--"), -1)) >= 0:
        before, rest = rest[:at], rest[at + 1 :]
        while before:
            _flag(call, before, spec)
        call.run_words(rest)
        return
    rest = _behind(call, rest, spec)
    if len(rest) == 1 and " " in rest[0].text:
        call.run_text(rest[0])
    elif not spec.dashes:
        call.run_words(rest)


def _behind(call: Call, rest: list[Word], spec: Wrap) -> list[Word]:
    """Rate the wrapper's own flags and operands, and return the words after them."""
    remaining = spec.skip
    while rest and rest[0].text != "--":
        if rest[0].text.startswith("-") and rest[0].text != "-":
            _flag(call, rest, spec)
        elif spec.sets and _SETTING.match(rest[0].text):
            _setting(call, rest.pop(0))
        elif remaining:
            remaining -= 1
            stays_one(call, rest.pop(0))
        else:
            break
    return rest[1 + remaining :] if rest and rest[0].text == "--" else rest


def _flag(call: Call, rest: list[Word], spec: Wrap) -> None:
    """Rate the first flag, and remove it and its value from `rest`."""
    word = rest.pop(0)
    stays_one(call, word, attached=True)
    flag, equals, value = _parted(word.text, spec)
    takes = _takes(flag, spec)
    value_word = Word(value, word.raw, word.is_pattern, word.runs) if equals else None
    if not takes and flag not in spec.high:
        _plain_flag(call, word, rest, spec)
    if takes and value_word is None and rest:
        value_word = rest.pop(0)
        stays_one(call, value_word)
    if flag in spec.high:
        call.raise_to("HIGH", spec.high_reason)
    if value_word is not None and flag in spec.writes:
        call.use(value_word, "write")
    elif value_word is not None and flag in spec.commands:
        call.run_text(value_word)


def stays_one(call: Call, word: Word, *, attached: bool = False) -> None:
    """Rate a word before the command; if it may expand to several words, the command may be among them."""
    if word.splits or (word.matches and not attached):
        call.raise_to("MEDIUM", _SPREADS)


def _parted(text: str, spec: Wrap) -> tuple[str, str, str]:
    """Split a word into the flag, `=` if a value is attached, and that value: `--signal=KILL`, `-n19`."""
    if text[1:2] != "-" and len(text) > 2 and text not in spec.plain and _takes(text[:2], spec):
        return text[:2], "=", text[2:]
    return text.partition("=")


def _takes(flag: str, spec: Wrap) -> bool:
    return any(flag in names for names in (spec.values, spec.writes, spec.commands))


def _plain_flag(call: Call, word: Word, rest: list[Word], spec: Wrap) -> None:
    """Rate a flag without a value; an unknown flag may take one, so the command may start at a later word."""
    letters = {f"-{letter}" for letter in word.text[1:]}
    is_number = "-#" in spec.plain and word.text[1:].isdecimal()
    if word.text in spec.plain or is_number or (word.text[1:2] != "-" and letters <= spec.plain):
        return
    call.raise_to("MEDIUM", Reason("has an option that is not known to be harmless", Trait.UNCERTAIN))
    for rest_words in (rest[at:] for at in range(1, min(3, len(rest)))):
        call.includes(call.scan.perhaps(rest_words, is_line=False))


def _setting(call: Call, word: Word) -> None:
    stays_one(call, word)
    name, _, value = word.text.partition("=")
    call.raise_to(*rated_variable(name, value))
