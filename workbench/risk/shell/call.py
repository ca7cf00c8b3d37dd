"""One call of a program: its words as flags and operands, and the findings of its rule."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from workbench.protocol.risk import Risk, higher
from workbench.risk.assessment import ANY, Findings, Part, Spares, findings_of, loss_by, shortened, string_literals
from workbench.risk.followed_symlinks import followed
from workbench.risk.reason import (
    CHANGES_SOMEWHERE,
    READS_SOMEWHERE,
    RUNS_CODE,
    TOO_MUCH,
    Reason,
    Trait,
    traits_of,
    with_traits,
)
from workbench.risk.shell.control import MOVES_CALLER
from workbench.risk.shell.parser import TooMuch
from workbench.risk.shell.word_paths import rate_words_as_paths
from workbench.risk.word import UNKNOWN, Word

if TYPE_CHECKING:
    from workbench.risk.shell.scan import Scan

_MOST_OF = (("(", 200), ("[{", 400), (";", 300), ("'\"", 1_200), ("+-*/%&|^", 1_500))
"""The maximum counts of certain characters in code within a command line; with more, the analysis would take too
long.
"""

_MOST_FLAGS = 2_500
_PYTHON = 1
"""The number of commands that a piece of Python code counts as, towards the limit."""


def rated_python(scan: Scan, code: str, *, is_visible: bool) -> Findings:
    """Return the rating of Python code; unless `is_visible`, the code itself is one of the parts."""
    from workbench.risk.python.analysis import Surroundings, parts_of  # loaded only if there is Python to rate

    def rate(command: str) -> list[Part]:
        return list(scan.inner(command).parts)

    if any(sum(map(code.count, characters)) > most for characters, most in _MOST_OF):
        changes = (f"{scan.context.workspace}{ANY}",)
        whole = Part(shortened(code.strip()), "HIGH", TOO_MUCH, depth=scan.depth + 1, changes=changes, opaque="*")
        return Findings("HIGH", TOO_MUCH, (whole,))
    fed: list[Part] = []
    if not is_visible:
        directories = (scan.directory or scan.context.workspace,)
        whole = Part(
            shortened(code.strip()), "MEDIUM", RUNS_CODE, mentions=string_literals(code), directories=directories
        )
        fed.append(whole._replace(depth=scan.depth + 1))
    parts = parts_of(code, Surroundings(scan.context, scan.directory, rate, scan.depth))
    deeper = [part._replace(plain=False, is_literal=False, depth=max(part.depth, scan.depth + 1)) for part in parts]
    return findings_of(parts)._replace(parts=(*fed, *deeper))


Use = Literal["text", "list", "read", "deep", "follow", "write", "delete", "command"]
_SECRET_OUT = "exposes a secret"


class ParsedOption(NamedTuple):
    """A flag in the call, and its value if it has one."""

    flag: str
    value: Word | None = None


@dataclass(frozen=True)
class Spec:
    """The rule for a program or subcommand: its own risk, its flags, and how it uses its operands."""

    risk: Risk = "LOW"
    reason: str = ""
    operands: Use = "read"
    skip: int = 0
    """The number of leading operands that are not paths, such as a pattern or a script."""
    values: frozenset[str] = frozenset()
    """Flags whose value is the next word."""
    flags: Mapping[str, tuple[Risk, str]] = field(default_factory=dict)
    """Flags that raise the risk, with the reason; long ones may be abbreviated."""
    paths: Mapping[str, Use] = field(default_factory=dict)
    """Flags whose value is read, written or run."""
    keeps: bool = False
    """Whether the files that it writes keep their content."""
    unskip: frozenset[str] = frozenset()
    """Flags that supply the pattern themselves, so that no operand is skipped."""


class Programs(Protocol):
    """The interface of the rules for programs that the shell package requires; `programs.rate` implements it."""

    @property
    def ALARMING(self) -> Set[str]:
        """Names that make a command line HIGH if it cannot be read with certainty."""

    def judge(self, call: Call, name: Word) -> None:
        """Rate a call by its program's rule."""

    def recognizes(self, name: str) -> bool:
        """Return whether the name has a rule, or a meaning in the shell itself."""


class Call:
    """A call of a program while it is being rated; rules raise its risk and record its effects."""

    def __init__(self, scan: Scan, name: str, words: Sequence[Word], text: str) -> None:
        self.scan = scan
        self.name = name
        self.words = list(words)
        self.text = text
        self.argv = (name, *(word.text for word in words))
        self._original = words
        self.plain = False
        self.is_unknown = False  # whether the program has no rule
        self.unread = False
        """Whether the rule treats the words as plain text."""
        self.is_proven = False
        """Whether the rule has proven each word harmless."""
        self.in_usual_form: list[Word] = []
        """The words in the form that the grammar requires, if they were written in another form."""
        self.piped = self.has_input = False
        """Whether it reads from a pipe; `has_input`: whether it reads from a file, a heredoc or a here string."""
        self.stdin: str | None = None
        """The content of its heredoc or here string, or None if unknown."""
        self.is_code_read = False  # whether it runs its input as code
        self.redirects: tuple[str, ...] = ()
        """The source text of its redirects."""
        self.risk: Risk = "LOW"
        self.reason = ""
        self.inner: list[Part] = []
        """The parts found in the commands and code that it runs."""
        self.paths: list[str] = []
        self.deletes: list[str] = []
        self.changes: list[str] = []
        self.protected: list[str] = []
        self.spared: set[str] = set()
        """Protected paths that may be changed like any other, because their content does not matter."""
        self.spares: Spares = ""
        self.unplaced = False
        self.opaque = self.program = ""
        self.base: Word | None = None
        """The directory in which it works, and runs commands, if a flag sets it."""
        self.keeps = False
        """Whether the files that it writes keep their content: only names, dates or permissions change."""

    def raise_to(self, risk: Risk, reason: str) -> None:
        """Raise the risk to at least `risk`, keeping the first reason for the highest risk; the trait RUNS is kept from
        any reason.
        """
        if not self.reason or higher(self.risk, risk) != self.risk:
            self.reason = reason if risk != "LOW" else self.reason
        elif risk == self.risk == "HIGH":
            self.reason = with_traits(self.reason, traits_of(reason) & Trait.RUNS)
        self.risk = higher(self.risk, risk)

    def includes(self, findings: Findings) -> None:
        """Include the rating of something that the call runs."""
        self.raise_to(findings.risk, findings.reason)
        self.inner += findings.parts

    def part(self, *, is_literal: bool = False, redirects: tuple[str, ...] = (), is_piped: bool = False) -> Part:
        """Return the finished rating of this call as a part; the arguments are the attributes of the part."""
        rate_words_as_paths(self)
        listed, is_unplaced = self.scan.pop_listed() if self.scan.listed else ((), False)
        paths, deletes = tuple(dict.fromkeys((*self.paths, *listed))), tuple(dict.fromkeys(self.deletes))
        changes = () if self.keeps else tuple(path for path in dict.fromkeys(self.changes) if path not in deletes)
        directory, base = self.scan.directory or self.scan.context.workspace, self.base.text if self.base else ""
        is_harmless = self.risk == "LOW" or self.keeps
        words = () if is_harmless else tuple(word.pattern for word in self._original)
        return Part(
            shortened(self.text),
            self.risk,
            self.reason,
            paths,
            self.argv,
            self.plain,
            self.scan.depth,
            deletes,
            changes,
            mentions=words,
            directories=(directory, _joined(directory, base)) if base and UNKNOWN not in base else (directory,),
            is_lost=self.scan.directory is None or UNKNOWN in base,
            protected=tuple(self.protected),
            opaque=self.opaque,
            unplaced=self.unplaced or is_unplaced,
            program=self.program,
            spares=self.spares,
            input=(self.stdin or "") if self.is_code_read or self.risk == "HIGH" else "",
            is_literal=is_literal,
            redirects=redirects,
            is_piped=is_piped,
        )

    def use(self, word: Word, use: Use) -> None:
        """Rate the use of a word as a path to read, write or delete, or as a command to run."""
        if word.names_secret and use != "command":
            self.raise_to("HIGH", _SECRET_OUT)
        if use == "text":
            if word.matches:
                self.scan.note_listed([word])
            return
        if use == "command":
            self.run_text(word)
            return
        self._use_path(word, use)

    def _use_path(self, word: Word, use: Use) -> None:
        path = self.scan.absolute(word)
        if path is None:
            self.unplaced = True
            reads = use not in {"write", "delete"}
            unsure: Risk = "MEDIUM" if reads and not self.scan.names_secret(word) else "HIGH"
            self.raise_to(unsure, READS_SOMEWHERE if reads else CHANGES_SOMEWHERE)
            self._may_touch(self.scan.paths_inside(word), use)
            return
        self.paths += [path, *(followed(self.scan.context, path) if use == "follow" else ())]
        self._may_touch(path, use)
        if use in {"delete", "write"}:
            self.guard(path)
        if use == "write" and self.scan.context.shares(path):
            self.protected.append(path)
        risk, reason = self.scan.rating(path, use)
        if reason:
            self.raise_to(risk, reason)

    def guard(self, path: str, *, deep: bool = False) -> None:
        """Record that the call changes or deletes the path, if the path is protected."""
        if self.scan.context.protects(path, deep=deep):
            self.protected.append(path)

    def _may_touch(self, path: str, use: Use) -> None:
        if use in {"delete", "write"}:
            (self.deletes if use == "delete" else self.changes).append(path)

    def takes_away(self, word: Word, *, all_of_it: bool = False) -> None:
        """Record that the call deletes files below the path that a word names and, with `all_of_it`, the path itself.

        The risk is rated elsewhere.
        """
        path = self.scan.absolute(word)
        target = self.scan.paths_inside(word) if path is None else os.path.normpath(path)
        self.deletes.append(target if all_of_it or path is None else f"{target}{ANY}")

    def runs_code(self, code: str) -> None:
        """Record which files code in any language may delete or overwrite; the risk is rated elsewhere."""
        use = loss_by(code)
        if use:
            self._may_touch(f"{self.scan.context.workspace}{ANY}", use)

    def runs_python(self, code: str) -> None:
        """Rate Python code from the arguments or the input; its effects become parts of the line."""
        self.raise_to("MEDIUM", RUNS_CODE)
        self.scan.count(_PYTHON)
        self.includes(rated_python(self.scan, code, is_visible=code in self.text))

    def writes_inside(self, word: Word) -> None:
        """Record that any file below the directory `word` may be overwritten; the risk is rated elsewhere."""
        path = self.scan.absolute(word)
        self.changes.append(self.scan.paths_inside(word) if path is None else f"{os.path.normpath(path)}{ANY}")

    def writes_anywhere(self) -> None:
        """Record that any file in the workspace may be overwritten; the risk is rated elsewhere."""
        self._may_touch(f"{self.scan.context.workspace}{ANY}", "write")

    def run_text(self, word: Word) -> None:
        """Rate a word that is a command line."""
        if UNKNOWN in word.text:
            self.raise_to("HIGH", Reason("runs a command only known at run time", Trait.RUNS | Trait.UNCERTAIN))
            self.opaque = "*"
            self.runs_code(word.text)
            return
        with self.scan.inside(self.base):
            findings = self.scan.inner(word.text, lasts=self.name in MOVES_CALLER)
        self.includes(findings)

    def run_words(self, words: Sequence[Word]) -> None:
        """Rate the remaining words as a command."""
        if not words:
            return
        with self.scan.inside(self.base):
            findings = self.scan.inner_words(list(words), lasts=self.name in MOVES_CALLER)
        self.includes(findings)

    def options(self, spec: Spec) -> tuple[list[ParsedOption], list[Word]]:
        """Split the words into flags with their values, and operands. Raises TooMuch if there are too many flags."""
        options: list[ParsedOption] = []
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
            if len(options) > _MOST_FLAGS:
                raise TooMuch
        return options, operands

    def apply(self, spec: Spec) -> None:
        """Apply the rule in a table row."""
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

    def _option(self, option: ParsedOption, spec: Spec) -> None:
        flag = full_flag(option.flag, spec)
        if flag in spec.flags:
            self.raise_to(*spec.flags[flag])
        if flag in spec.paths and option.value is not None:
            self.use(option.value, spec.paths[flag])
        elif option.value is not None and option.value.names_secret:
            self.raise_to("HIGH", _SECRET_OUT)


def _joined(directory: str, path: str) -> str:
    return path if path.startswith("/") else f"{directory}/{path}"


def full_flag(flag: str, spec: Spec) -> str:
    """Return the full form of an abbreviated long flag, preferring a flag that raises the risk."""
    if not flag.startswith("--") or len(flag) < 4:
        return flag
    for listed in (*spec.flags, *spec.paths):
        if listed.startswith(flag):
            return listed
    return flag


def _long(word: Word, words: Iterator[Word], spec: Spec) -> ParsedOption:
    flag, equals, value = word.text.partition("=")
    if equals:
        return ParsedOption(flag, Word(value, word.raw, word.is_pattern, word.runs))
    name = full_flag(flag, spec)
    takes = name in spec.values or name in spec.paths
    return ParsedOption(flag, next(words, None) if takes else None)


def _short(word: Word, words: Iterator[Word], spec: Spec) -> Iterator[ParsedOption]:
    text = word.text
    if text in spec.values or text in spec.paths or text in spec.flags:
        takes = text in spec.values or text in spec.paths
        yield ParsedOption(text, next(words, None) if takes else None)
        return
    # Repeated letters say nothing new, and a value in `-DNAME=…` contains no flags.
    for letter in dict.fromkeys(text[1:].partition("=")[0]):
        flag, at = f"-{letter}", text.index(letter, 1) + 1
        if flag in spec.values or flag in spec.paths:
            rest = text[at:]
            yield ParsedOption(flag, Word(rest, word.raw, word.is_pattern, word.runs) if rest else next(words, None))
            return
        yield ParsedOption(flag)


def basename(text: str) -> str:
    """Return the name of a program without its directory."""
    return text.rpartition("/")[2]


def flags(risk: Risk, reason: str, names: str) -> dict[str, tuple[Risk, str]]:
    """Return a table of flags that share a risk and a reason."""
    return dict.fromkeys(names.split(), (risk, reason))


def uses(use: Use, names: str) -> dict[str, Use]:
    """Return a table of flags whose values are used in the same way."""
    return dict.fromkeys(names.split(), use)
