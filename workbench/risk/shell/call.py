"""One call of a program: its words as flags and operands, and what its rule finds; the rules are in `tools`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from workbench.protocol.risk import Risk, higher
from workbench.risk.assessment import ANY, Part, Spares, shortened
from workbench.risk.deletion import loss_by
from workbench.risk.shell.guarding import guard_words
from workbench.risk.shell.inner_python import rated_python
from workbench.risk.shell.moving import MOVES_CALLER
from workbench.risk.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from workbench.risk.shell.scan import Scan

Use = Literal["text", "read", "deep", "write", "delete", "command"]
_SECRET_OUT = "hands out a secret"


class Option(NamedTuple):
    """A flag that was given, and its value."""

    flag: str
    value: Word | None = None


@dataclass(frozen=True)
class Spec:
    """What is known of a program (or a subcommand): its own risk, its flags and what its operands are."""

    risk: Risk = "LOW"
    reason: str = ""
    operands: Use = "read"
    skip: int = 0
    """How many operands in front are no paths: a pattern, a script."""
    values: frozenset[str] = frozenset()
    """Flags whose value is the next word."""
    flags: Mapping[str, tuple[Risk, str]] = field(default_factory=dict)
    """Flags that make it worse; a long one also counts when it is shortened."""
    paths: Mapping[str, Use] = field(default_factory=dict)
    """Flags with a value that is read, written or run."""
    keeps: bool = False
    """Whether files that it writes hold afterwards what they held."""
    unskip: frozenset[str] = frozenset()
    """Flags that bring the pattern themselves, so that nothing is skipped."""


class Call:
    """A program with its words, under assessment; a rule raises its risk."""

    def __init__(self, scan: Scan, name: str, words: Sequence[Word], text: str) -> None:
        self.scan = scan
        self.name = name
        self.words = list(words)
        self.text = text
        self.said = (name, *(word.text for word in words))
        self._given = words
        self.plain = False
        self.is_unknown = False
        """Whether no rule is known for it."""
        self.unread = False
        """Whether its rule says that its words are texts."""
        self.is_proven = False
        """Whether its rule has itself found each of its words to be harmless."""
        self.in_usual_form: list[Word] = []
        """Its words as its grammar knows them, where it may be written otherwise."""
        self.piped = False
        """Whether something is piped into it."""
        self.stdin: str | None = None
        """What it reads from a heredoc or a here string, where that is known."""
        self.has_input = False
        self.redirects: tuple[str, ...] = ()
        """Its redirects as they are written."""
        self.risk: Risk = "LOW"
        self.reason = ""
        self.paths: list[str] = []
        self.deletes: list[str] = []
        self.changes: list[str] = []
        self.protected: list[str] = []
        self.spared: set[str] = set()
        """Protected paths that may be changed like others: what they hold is of no worth."""
        self.spares: Spares = ""
        self.unplaced = False
        self.opaque = self.program = ""
        """As in Part."""
        self.base: Word | None = None
        """The folder it works in, where a flag says so."""
        self.keeps = False
        """Whether files that it writes hold afterwards what they held: only their names, dates or rights change."""

    def raise_to(self, risk: Risk, reason: str) -> None:
        """The risk is at least this one; the reason of the highest is kept."""
        if not self.reason or higher(self.risk, risk) != self.risk:
            self.reason = reason if risk != "LOW" else self.reason
        self.risk = higher(self.risk, risk)

    def part(self) -> Part:
        """What was found."""
        guard_words(self)
        paths, deletes = tuple(dict.fromkeys(self.paths)), tuple(dict.fromkeys(self.deletes))
        changes = () if self.keeps else tuple(path for path in dict.fromkeys(self.changes) if path not in deletes)
        folder, base = self.scan.folder or self.scan.places.workspace, self.base.text if self.base else ""
        is_harmless = self.risk == "LOW" or self.keeps
        words = () if is_harmless else tuple(w.text if w.is_pattern else glob.escape(w.text) for w in self._given)
        return Part(
            shortened(self.text),
            self.risk,
            self.reason,
            paths,
            self.said,
            self.plain,
            self.scan.depth,
            deletes,
            changes,
            mentions=words,
            folders=(folder, f"{folder}/{base}") if base else (folder,),
            protected=tuple(self.protected),
            opaque=self.opaque,
            unplaced=self.unplaced,
            program=self.program,
            spares=self.spares,
        )

    def use(self, word: Word, use: Use) -> None:
        """A word as a path that is read, written or deleted, or as a command that is run."""
        if word.names_secret and use != "command":
            self.raise_to("HIGH", _SECRET_OUT)
        if use == "text":
            return
        if use == "command":
            self.run_text(word)
            return
        self._place(word, use)

    def _place(self, word: Word, use: Use) -> None:
        path = self.scan.absolute(word)
        if path is None:
            self.unplaced = True
            opaque = "a path that is not known before it runs"
            reads = use in {"read", "deep"} and not self.scan.names_secret(word)
            unsure: Risk = "MEDIUM" if reads else "HIGH"
            self.raise_to(unsure, f"{'reads' if use in {'read', 'deep'} else 'changes'} {opaque}")
            self._may_touch(self.scan.below(word), use)
            return
        self.paths.append(path)
        self._may_touch(path, use)
        if use in {"delete", "write"}:
            self.guard(path)
        risk, reason = self.scan.rating(path, use)
        if reason:
            self.raise_to(risk, reason)

    def guard(self, path: str, *, deep: bool = False) -> None:
        """It changes or deletes this path, which may be a protected one."""
        if self.scan.places.protects(path, deep=deep):
            self.protected.append(path)

    def _may_touch(self, path: str, use: Use) -> None:
        if use in {"delete", "write"}:
            (self.deletes if use == "delete" else self.changes).append(path)

    def takes_away(self, word: Word, *, all_of_it: bool = False) -> None:
        """What is at this path, or some or all of what is below it, is deleted; that is rated elsewhere."""
        path = self.scan.absolute(word)
        known = self.scan.below(word) if path is None else os.path.normpath(path)
        self.deletes.append(known if all_of_it or path is None else f"{known}{ANY}")

    def runs_code(self, code: str) -> None:
        """Code in whatever language, that may delete files or write over them; it is rated elsewhere."""
        use = loss_by(code)
        if use:
            self._may_touch(f"{self.scan.places.workspace}{ANY}", use)

    def runs_python(self, code: str) -> None:
        """Python code that stands in the words, or is fed in: what it does are parts of the line."""
        self.raise_to("MEDIUM", "runs code")
        self.raise_to(*rated_python(self.scan, code, is_shown=code in self.text))

    def writes_below(self, word: Word) -> None:
        """Files below this folder may be written over, which ones is not known here; that is rated elsewhere."""
        path = self.scan.absolute(word)
        self.changes.append(self.scan.below(word) if path is None else f"{os.path.normpath(path)}{ANY}")

    def writes_anywhere(self) -> None:
        """Any file of the workspace may be written over; that is rated elsewhere."""
        self._may_touch(f"{self.scan.places.workspace}{ANY}", "write")

    def run_text(self, word: Word) -> None:
        """A word that is itself a command line."""
        if UNKNOWN in word.text:
            self.raise_to("HIGH", "runs a command that is not known before")
            self.opaque = "*"
            self.runs_code(word.text)
        else:
            self.raise_to(*self.scan.inner(word.text, lasts=self.name in MOVES_CALLER))

    def run_words(self, words: Sequence[Word]) -> None:
        """The rest of the words as a command of its own."""
        if words:
            self.raise_to(*self.scan.inner_words(list(words), lasts=self.name in MOVES_CALLER))

    def options(self, spec: Spec) -> tuple[list[Option], list[Word]]:
        """The words as flags with their values, and operands."""
        options: list[Option] = []
        operands: list[Word] = []
        words = iter(self.words)
        for word in words:
            if word.text == "--":
                operands += words
                break
            if not word.text.startswith("-") or word.text == "-":
                operands.append(word)
            elif word.text.startswith("--"):
                options.append(_long(word, words, spec))
            else:
                options += _short(word, words, spec)
        return options, operands

    def apply(self, spec: Spec) -> None:
        """The rule that a table states."""
        self.raise_to(spec.risk, spec.reason)
        self.keeps |= spec.keeps
        self.unread = spec.operands == "text"
        options, operands = self.options(spec)
        for option in options:
            self._option(option, spec)
        skip = 0 if any(option.flag in spec.unskip for option in options) else spec.skip
        for word in operands[:skip]:
            self.use(word, "text")
        for word in operands[skip:]:
            self.use(word, spec.operands)

    def _option(self, option: Option, spec: Spec) -> None:
        flag = full_flag(option.flag, spec)
        if flag in spec.flags:
            self.raise_to(*spec.flags[flag])
        if flag in spec.paths and option.value is not None:
            self.use(option.value, spec.paths[flag])
        elif option.value is not None and option.value.names_secret:
            self.raise_to("HIGH", _SECRET_OUT)


def full_flag(flag: str, spec: Spec) -> str:
    """The flag that a shortened long flag stands for, the most dangerous where it could be several."""
    if not flag.startswith("--") or len(flag) < 4:
        return flag
    for known in (*spec.flags, *spec.paths):
        if known.startswith(flag):
            return known
    return flag


def _long(word: Word, words: Iterator[Word], spec: Spec) -> Option:
    flag, equals, value = word.text.partition("=")
    if equals:
        return Option(flag, Word(value, word.raw, word.is_pattern, word.runs))
    name = full_flag(flag, spec)
    takes = name in spec.values or name in spec.paths
    return Option(flag, next(words, None) if takes else None)


def _short(word: Word, words: Iterator[Word], spec: Spec) -> Iterator[Option]:
    text = word.text
    if text in spec.values or text in spec.paths or text in spec.flags:
        takes = text in spec.values or text in spec.paths
        yield Option(text, next(words, None) if takes else None)
        return
    for at, letter in enumerate(text[1:], 2):
        flag = f"-{letter}"
        if flag in spec.values or flag in spec.paths:
            rest = text[at:]
            yield Option(flag, Word(rest, word.raw, word.is_pattern, word.runs) if rest else next(words, None))
            return
        yield Option(flag)


def basename(text: str) -> str:
    """The name of a program without its folder."""
    return text.rpartition("/")[2]


def flags(risk: Risk, reason: str, names: str) -> dict[str, tuple[Risk, str]]:
    """A row of a table: flags that share a risk and a reason."""
    return dict.fromkeys(names.split(), (risk, reason))


def uses(use: Use, names: str) -> dict[str, Use]:
    """A row of a table: flags whose value is used in one way."""
    return dict.fromkeys(names.split(), use)
