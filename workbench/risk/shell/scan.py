"""Interpret a command line within limits, and collect its parts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk
from workbench.risk.assessment import ANY, Assessment, Findings, Part, findings_of, one, shortened
from workbench.risk.followed_symlinks import following
from workbench.risk.paths import PathContext, Rating
from workbench.risk.protected_names import is_secret
from workbench.risk.reason import CANNOT_READ, TOO_MUCH
from workbench.risk.shell import endless, walk
from workbench.risk.shell.call import Call, Programs, Use
from workbench.risk.shell.control import as_if_not_gone, taken_over
from workbench.risk.shell.origins import Origins
from workbench.risk.shell.parser import (
    MOST_GUESSES,
    MOST_NODES,
    MOST_PATHS,
    TooMuch,
    apart,
    bare_words,
    is_too_dense,
    joined,
    lines_of_heredocs,
    misleads,
    parsed,
    passes_over,
)
from workbench.risk.shell.words import WordReader, spread
from workbench.risk.word import UNKNOWN, Word, literal

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 6
_MOST_PARTS = 32
"""The maximum number of commands in a line: each takes up to 0.15 ms, and a line is to be rated within 5 ms."""
_LONGEST_PATH, _MOST_UP = 4_096, 64
_OPEN = lazy_pattern(rf"[{UNKNOWN}*?\[{{]")
_PART_OF = lazy_pattern(r"\$\{(?:\w+|[@*])(?:\[[^]]*\])?:(?![-+=?])([^{}]*)\}")
_TELLING = (".env", ".ssh", ".aws", ".gnupg", ".git", ".ohw", ".netrc", ".npmrc", ".bashrc", "id_rsa", "id_ed25519")


def unread(reason: str, text: str, context: PathContext) -> Assessment:
    """Rate text that is not analyzed: HIGH, and as if it might overwrite any file in the workspace."""
    result = one("HIGH", reason, text)
    changes = (f"{context.workspace}{ANY}",)
    return result._replace(parts=tuple(part._replace(changes=changes, opaque="*") for part in result.parts))


class Scan:
    """The state of one command line during the analysis: working directory, known variables, parts found so far."""

    def __init__(self, context: PathContext, directory: str | None, depth: int = 0, *, programs: Programs) -> None:
        """`programs` are the rules for programs, passed in because the shell package does not know any."""
        self.programs = programs
        self.context, self.directory, self.depth = context, directory, depth
        self.initial = _initial_variables(context)  # known without an assignment, until a script is sourced
        self.values = dict(self.initial)
        self.origins = Origins()
        self.functions: set[str] = set()
        self.written: dict[str, str] = {}
        """The text that this line's commands have written to files, by path; under "" the code that it has compiled."""
        self.fetched: set[str] = set()
        """The directories into which this line has cloned repositories from elsewhere."""
        self.printed = ""
        """The output of the pipeline's commands so far, as far as it is known."""
        self.waiting: list[tuple[Node, bool]] = []
        """Nodes that follow a heredoc's delimiter on its line, each with whether it reads from a pipe."""
        self.parts: list[Part] = []
        self.reader = WordReader(b"", self.values, self.origins)
        self.piped = self.is_cut = False  # is_cut: whether a later command or a time limit ends the output
        self.behind: dict[int, list[Node]] = {}
        """Redirects that the parser attaches to a whole list, by the id of its last command, to which they belong."""
        self.budget = _MOST_PARTS
        self.steps, self.guesses = iter(range(MOST_PATHS)), iter(range(MOST_GUESSES))
        self.listed: list[str | None] = []  # paths that the shell itself lists, for the next part; None if not known
        self.volatile: set[str] = set()  # variables that may be set at any time, by a trap or under another name
        self.sets = False  # whether a variable is set or unset anywhere in the line
        self.stops = False  # whether the line ends if a command fails (`set -e`)
        self.unsure = False
        """Whether the last change of directory may have failed without preventing the next commands from running."""
        self.doubted = False  # whether anything was run while `unsure` was true
        self.fails: frozenset[int] = frozenset()
        """The numbers of the changes of directory that are assumed to fail."""
        self.moves = 0
        self.gone: str | None = None
        """The target of the last change of directory that is assumed to fail; "" if it is unknown."""
        self.stack: list[str | None] = []
        """Directories that `pushd` has left in this line, for `popd`."""
        self.movers: set[str] = set()
        """Functions defined in this line that change the directory of their caller."""
        self.setters: set[str] = set()  # functions defined in this line that may set variables

    def run(self, text: str) -> None:
        """Rate a whole command line: never LOW if it cannot be parsed, and HIGH if a limit is exceeded."""
        lines = apart(text)
        text = joined(text)
        outer, self.reader = self.reader, WordReader(text.encode(errors="replace"), self.values, self.origins)
        try:
            if "\0" in text or is_too_dense(text):
                raise TooMuch
            root = parsed(self.reader.source)
            if self.depth > _DEEPEST or root.descendant_count > MOST_NODES:
                raise TooMuch
            if root.has_error or misleads(text):
                self._unreadable(text)
            elif passes_over(root, text):
                self.parts.append(Part(shortened(text), "MEDIUM", CANNOT_READ))
            if lines:
                self.parts.append(Part(shortened(text), "MEDIUM", CANNOT_READ))
                self.rescan([lines])
            self.rescan(lines_of_heredocs(text))
            start, at = (self.directory, dict(self.values), dict(self.initial)), len(self.parts)
            walk.visit(self, root)
            endless.braces(self, text)
            if self.doubted:
                as_if_not_gone(self, root, start, at)
        except (TooMuch, RecursionError):
            self.parts += unread(TOO_MUCH, text, self.context).parts
        finally:
            self.reader = outer
        self.parts += self._listed_last(text)

    def visit(self, node: Node) -> None:
        """Rate a node of the syntax tree."""
        walk.visit(self, node)

    def arrive(self) -> None:
        """Record that a command runs now, in whatever directory the last change of directory led to."""
        self.doubted |= self.unsure
        self.gone = None

    def _unreadable(self, text: str) -> None:
        for match in _PART_OF.finditer(text):
            self.origins.add_arithmetic(match[1])
        words = bare_words(text)
        alarming = sorted(words & self.programs.ALARMING) or ("/dev/tcp" in text or "/dev/udp" in text)
        risk: Risk = "HIGH" if alarming else "MEDIUM"
        self.parts.append(Part(shortened(text), risk, CANNOT_READ))

    def rescan(self, lines: list[str]) -> None:
        """Rate lines that are commands only if the parser is wrong; only HIGH parts are kept."""
        for line in lines:
            inner = self.child()
            inner.run(line)
            self.parts += [part for part in inner.parts if part.risk == "HIGH"]

    def count(self, commands: int = 1) -> None:
        """Count further commands. Raises TooMuch if there are too many."""
        self.budget -= commands
        if self.budget < 0:
            raise TooMuch

    def refund(self, commands: int) -> None:
        """Reset the budget to `commands`, after commands that were only tried."""
        self.budget = commands

    def inner(self, text: str, *, lasts: bool = False) -> Findings:
        """Return the rating of a command line inside this one; with `lasts`, its change of directory lasts."""
        child = self.child()
        child.run(text)
        return self._taken(child, lasts=lasts)

    def inner_words(self, words: list[Word], *, lasts: bool = False) -> Findings:
        """Return the rating of words run as a command; with `lasts`, its change of directory lasts. Raises TooMuch."""
        self.count()
        child = self.child()
        child.piped = self.piped
        call = Call(child, words[0].text, words[1:], " ".join(word.raw for word in words))
        call.piped = self.piped
        if child.depth > _DEEPEST:
            raise TooMuch
        self.programs.judge(call, words[0])
        child.parts = [call.part(), *child.parts, *call.inner]
        return self._taken(child, lasts=lasts)

    @contextmanager
    def inside(self, word: Word | None) -> Iterator[None]:
        """Rate a command or line that runs in the directory `word`; None means the current one."""
        directory = self.directory
        if word is not None:
            self.directory = self.absolute(word)
        try:
            yield
        finally:
            self.directory = directory if word is not None else self.directory

    def perhaps(self, words: list[Word], *, is_line: bool) -> Findings:
        """Return the rating of words that may be a command (`is_line`: a line), empty unless HIGH. Raises TooMuch."""
        if next(self.guesses, None) is None:
            raise TooMuch
        findings = self.inner(words[0].text) if is_line else self.inner_words(words)
        return findings if findings.risk == "HIGH" else Findings()

    def child(self) -> Scan:
        """Return a scan for a command or line nested in this one."""
        child = Scan(self.context, self.directory, self.depth + 1, programs=self.programs)
        child.values, child.initial, child.origins = self.values, self.initial, self.origins
        child.volatile, child.is_cut = self.volatile, self.is_cut
        child.steps, child.guesses = self.steps, self.guesses
        child.reader, child.setters = self.reader, self.setters
        child.functions, child.movers, child.stack = self.functions, self.movers, list(self.stack)
        child.written, child.fetched = self.written, self.fetched
        child.budget = self.budget
        return child

    def _taken(self, child: Scan, *, lasts: bool) -> Findings:
        if lasts:
            taken_over(self, child)
        self.budget = child.budget
        self.sets |= child.sets
        return findings_of(child.parts)

    def absolute(self, word: Word) -> str | None:
        """Return the absolute path of a word, or None if unknown. Raises TooMuch if it would take too long."""
        if next(self.steps, None) is None:
            raise TooMuch
        text = word.text
        if len(text) > _LONGEST_PATH or text.count("..") > _MOST_UP:  # each part is looked up on disk
            raise TooMuch
        if text == "-":
            return "/dev/stdin"
        if UNKNOWN in text or (word.is_pattern and "{" in text):
            return None
        if word.is_pattern:
            text = "/".join(_telling(part) for part in text.split("/"))
        if text.startswith("/"):
            return self.context.by_own_name(os.path.normpath(text) if "/../" not in text else text)
        return None if self.directory is None else f"{self.directory}/{text}" if text else self.directory

    def paths_inside(self, word: Word) -> str:
        """Return a pattern for everything in the directory that begins a word, as far as known, or in the workspace."""
        prefix, slash, _ = _OPEN.split(word.text, maxsplit=1)[0].rpartition("/")
        directory = self.absolute(literal(prefix or slash)) if slash else None
        return f"{(directory or self.context.workspace).rstrip('/')}{ANY}"

    def names_secret(self, word: Word) -> bool:
        """Return whether the known part of a path leads to secrets, devices or processes."""
        return word.text.startswith(("/proc/", "/dev/", "/root/")) or is_secret(word.text.replace(UNKNOWN, "x"))

    def rating(self, path: str, use: Use) -> Rating:
        """Return the risk and reason of using a path."""
        if use == "follow":
            return following(self.context, path)
        context = self.context
        rate = {"write": context.writing, "delete": context.deleting, "list": context.listing}.get(use)
        return rate(path) if rate else context.reading(path, deep=use == "deep")

    def forget(self) -> None:
        """Forget the values of all variables except those known at the start."""
        self.values.clear()
        self.values.update(self.initial)

    def forget_all(self) -> None:
        """Forget all variables, even those known at the start, because unknown code may have set any of them."""
        self.initial.clear()
        self.values.clear()
        self.origins.certain.clear()

    def distrust(self, names: Iterable[str]) -> None:
        """Forget variables for the rest of the line, because the code that sets them does not show which ones."""
        self.volatile.update(names)
        for name in self.volatile:
            self.values.pop(name, None)

    def note_listed(self, words: Iterable[Word]) -> None:
        """Record that the shell lists the files that match a word, even if no command opens them."""
        globs = [word for word in words if word.matches]
        if globs:
            self.listed += [self.absolute(word) for word in spread(globs, self.reader.home().text) if word.matches]

    def _listed_last(self, text: str) -> list[Part]:
        """Return a part for the files that the shell lists without a command that follows."""
        if not self.listed:
            return []
        paths, is_unplaced = self.pop_listed()
        return [Part(shortened(text), "LOW", "", tuple(paths), unplaced=is_unplaced)]

    def pop_listed(self) -> tuple[list[str], bool]:
        """Return the recorded paths, which belong to the next part, and whether any is unknown; and clear them."""
        listed, self.listed = self.listed, []
        return [path for path in listed if path is not None], None in listed

    def keep_values(self, before: Mapping[str, str]) -> None:
        """Forget the values that differ from those in `before`, because the code that set them may not have run."""
        for name in [name for name, value in self.values.items() if before.get(name) != value]:
            del self.values[name]

    def return_to(self, directory: str | None, values: dict[str, str]) -> None:
        """Restore the working directory and the variables."""
        self.directory = directory
        self.values.clear()
        self.values.update(values)

    def call(self, name: Word, words: list[Word], node: Node) -> Call:
        """Return a call for a command in this line."""
        self.count()
        return Call(self, name.text, words, self.reader.raw(node))


def _initial_variables(context: PathContext) -> dict[str, str]:
    """Return the variables that are known at the start; setting them to anything else is HIGH."""
    return {"HOME": context.home, "TMPDIR": os.environ.get("TMPDIR") or tempfile.gettempdir()}


def _telling(part: str) -> str:
    """Return a secret or protected name that the pattern may match, or the pattern itself if there is none."""
    if not any(sign in part for sign in "*?[") or part.strip("*") == "" or part.startswith("*."):
        return part
    return next((name for name in _TELLING if fnmatchcase(name, part)), part)
