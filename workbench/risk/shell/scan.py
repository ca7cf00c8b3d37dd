"""Walks the syntax tree of a command line and rates each command, redirect and substitution in it."""

from __future__ import annotations

import os
import re
import tempfile
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from workbench.protocol.risk import Risk
from workbench.risk.assessment import ANY, Assessment, Part, not_plain, one, shortened, summed, with_hidden
from workbench.risk.hidden import hides
from workbench.risk.paths import Places, Rating, is_secret
from workbench.risk.shell import walk
from workbench.risk.shell.call import Call, Use
from workbench.risk.shell.chains import as_if_not_gone
from workbench.risk.shell.downloads import runs_downloads
from workbench.risk.shell.moving import taken_over
from workbench.risk.shell.origins import Origins
from workbench.risk.shell.source import (
    LONGEST,
    MOST_NODES,
    MOST_PATHS,
    apart,
    bare_words,
    is_too_dense,
    joined,
    lines_of_heredocs,
    misleads,
    parsed,
    passes_over,
)
from workbench.risk.shell.tools import ALARMING, judge
from workbench.risk.shell.words import UNKNOWN, Reader, Word, literal

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 6
_UNCERTAIN = "cannot be read with certainty"
_TOO_MUCH = "too long or too deeply nested to be analysed"
_NOT_READ = (_UNCERTAIN, _TOO_MUCH)
_MOST_PARTS = 150
_LONGEST_PATH, _MOST_UP = 4_096, 64
_OPEN = re.compile(rf"[{UNKNOWN}*?\[{{]")
_PART_OF = re.compile(r"\$\{(?:\w+|[@*])(?:\[[^]]*\])?:(?![-+=?])([^{}]*)\}")
_TELLING = (".env", ".ssh", ".aws", ".gnupg", ".git", ".ohw", ".netrc", ".npmrc", ".bashrc", "id_rsa", "id_ed25519")


class TooMuch(Exception):
    """A cap is met; the rest is not looked at."""


def assess_command(text: str, places: Places, folder: str | None = None) -> Assessment:
    """The rating of a command line that starts in `folder` (the workspace); it never raises."""
    try:
        return _assessed(text, places, folder or places.workspace)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not let a command through
        return _unread(f"the analysis failed ({type(error).__name__})", str(text), places)


def _assessed(text: str, places: Places, folder: str) -> Assessment:
    if len(text) > LONGEST:
        return _unread(f"longer than {LONGEST:,} characters, so it was not analysed", text, places)
    hidden = hides(text)
    parts = _parts(text, places, folder)
    if not hidden:
        return summed(parts)
    if not parts or any(part.reason in _NOT_READ for part in parts):
        return _unread(hidden, text, places)
    return with_hidden(hidden, text, summed(not_plain(parts)))


def _parts(text: str, places: Places, folder: str) -> list[Part]:
    scan = Scan(places.remembering(), folder)
    scan.run(text)
    doubtful = scan.origins.doubtful()
    if doubtful:
        scan = Scan(scan.places, folder)
        scan.origins = Origins(doubtful)
        scan.run(text)
    scan.parts += scan.origins.parts()
    return list(runs_downloads(not_plain(scan.parts) if scan.sets else scan.parts))


def _unread(reason: str, text: str, places: Places) -> Assessment:
    """What is not analysed is HIGH, and may write over anything in the workspace."""
    found = one("HIGH", reason, text)
    return found._replace(parts=tuple(part._replace(changes=(f"{places.workspace}{ANY}",)) for part in found.parts))


class Scan:
    """One command line under analysis: the folder it has got to, the variables it knows, the parts it found."""

    def __init__(self, places: Places, folder: str | None, depth: int = 0) -> None:
        self.places = places
        self.folder = folder
        self.depth = depth
        self.values = _known_variables(places)
        self.origins = Origins()
        self.functions: set[str] = set()
        self.written: dict[str, str] = {}
        """What commands of this line have written into files, by path; by the empty path what it has compiled."""
        self.printed = ""
        """What the commands of the pipe so far print, as far as it is known."""
        self.waiting: list[tuple[Node, bool]] = []
        """What follows the mark of a heredoc on its line, and whether it is piped into."""
        self.parts: list[Part] = []
        self.reader = Reader(b"", self.values, self.origins)
        self.piped = False
        self.behind: dict[int, list[Node]] = {}
        """Redirects that the parser gives to a whole list, by the last command of it, whose they are."""
        self.room = _MOST_PARTS
        self.steps = iter(range(MOST_PATHS))
        self.sets = False
        """Whether a variable is set or taken away anywhere in it."""
        self.stops = False
        """Whether it ends where a command fails (`set -e`)."""
        self.unsure = False
        """Whether the last change of folder may have failed, and what follows runs all the same."""
        self.doubted = False
        """Whether something was run while that was so."""
        self.fails: frozenset[int] = frozenset()
        """Which changes of folder are taken to fail, by their number."""
        self.moves = 0
        self.gone: str | None = None
        """Where the one before would have led, had it not failed."""
        self.stack: list[str | None] = []
        """Directories that `pushd` has left in this line, for `popd`."""
        self.movers: set[str] = set()
        """Functions of this line that change the directory of their caller."""

    def run(self, text: str) -> None:
        """Rate all of a command line; what cannot be read is never LOW, and a cap is HIGH."""
        lines = apart(text)
        text = joined(text)
        outer, self.reader = self.reader, Reader(text.encode(errors="replace"), self.values, self.origins)
        try:
            if is_too_dense(text):
                raise TooMuch
            root = parsed(self.reader.source)
            if self.depth > _DEEPEST or root.descendant_count > MOST_NODES:
                raise TooMuch
            if root.has_error or misleads(text):
                self._unreadable(text)
            elif passes_over(root, text):
                self.parts.append(Part(shortened(text), "MEDIUM", _UNCERTAIN))
            if lines:
                self.parts.append(Part(shortened(text), "MEDIUM", _UNCERTAIN))
                self.rescan([lines])
            self.rescan(lines_of_heredocs(text))
            start, at = (self.folder, dict(self.values)), len(self.parts)
            walk.visit(self, root)
            if self.doubted:
                as_if_not_gone(self, root, start, at)
        except (TooMuch, RecursionError):
            self.parts += _unread(_TOO_MUCH, text, self.places).parts
        finally:
            self.reader = outer

    def visit(self, node: Node) -> None:
        """Rate what a node holds."""
        walk.visit(self, node)

    def arrive(self) -> None:
        """Something runs now, wherever the last change of folder led."""
        self.doubted |= self.unsure
        self.gone = None

    def _unreadable(self, text: str) -> None:
        for found in _PART_OF.finditer(text):
            self.origins.reckon(found[1])
        words = bare_words(text)
        alarming = sorted(words & ALARMING) or ("/dev/tcp" in text or "/dev/udp" in text)
        risk: Risk = "HIGH" if alarming else "MEDIUM"
        self.parts.append(Part(shortened(text), risk, _UNCERTAIN))

    def rescan(self, lines: list[str]) -> None:
        """Lines that are commands only where the parser is wrong: what is dangerous in them counts."""
        for line in lines:
            inner = self.child()
            inner.run(line)
            self.parts += [part for part in inner.parts if part.risk == "HIGH"]

    def count(self) -> None:
        """One more command; raises TooMuch when there are too many."""
        self.room -= 1
        if self.room < 0:
            raise TooMuch

    def refund(self, commands: int) -> None:
        """Commands that were only tried do not count: there may again be as many as before."""
        self.room = commands

    def inner(self, text: str, *, lasts: bool = False) -> Rating:
        """The rating of a command line inside this one; its parts stay, and with `lasts` its change of directory."""
        self.count()
        child = self.child()
        child.run(text)
        return self._taken(child, lasts=lasts)

    def inner_words(self, words: list[Word], *, lasts: bool = False) -> Rating:
        """The rating of words that are run as a command; `lasts` as above."""
        self.count()
        child = self.child()
        child.piped = self.piped
        call = Call(child, words[0].text, words[1:], " ".join(word.raw for word in words))
        call.piped = self.piped
        if child.depth > _DEEPEST:
            raise TooMuch
        judge(call, words[0])
        child.parts.insert(0, call.part())
        return self._taken(child, lasts=lasts)

    def perhaps(self, words: list[Word], *, is_line: bool) -> str:
        """Why words that may be run, as a command or as a whole line, would be HIGH; empty when they would not."""
        at = len(self.parts)
        risk, reason = self.inner(words[0].text) if is_line else self.inner_words(words)
        if risk != "HIGH":
            del self.parts[at:]
        return reason if risk == "HIGH" else ""

    def child(self) -> Scan:
        """A scan of something inside of this one."""
        child = Scan(self.places, self.folder, self.depth + 1)
        child.values = self.values
        child.origins = self.origins
        child.steps = self.steps
        child.reader = self.reader
        child.functions, child.movers, child.stack = self.functions, self.movers, list(self.stack)
        child.written = self.written
        child.room = self.room
        return child

    def _taken(self, child: Scan, *, lasts: bool) -> Rating:
        self.parts += child.parts
        if lasts:
            taken_over(self, child)
        self.room = child.room
        self.sets |= child.sets
        assessment = summed(child.parts)
        return assessment.risk, assessment.reasons[0] if assessment.reasons else ""

    def absolute(self, word: Word) -> str | None:
        """The path of a word; None when it is not known."""
        if next(self.steps, None) is None:
            raise TooMuch
        text = word.text
        if len(text) > _LONGEST_PATH or text.count("..") > _MOST_UP:  # each part is looked up on the disk
            raise TooMuch
        if text == "-":
            return "/dev/stdin"
        if UNKNOWN in text or (word.is_pattern and "{" in text):
            return None
        if word.is_pattern:
            text = "/".join(_telling(part) for part in text.split("/"))
        if text.startswith("/"):
            return os.path.normpath(text) if "/../" not in text else text
        return None if self.folder is None else f"{self.folder}/{text}" if text else self.folder

    def below(self, word: Word) -> str:
        """Where the files lie that a word names, which only the shell will know: the folder it begins with, or all."""
        known, slash, _ = _OPEN.split(word.text, maxsplit=1)[0].rpartition("/")
        folder = self.absolute(literal(known or slash)) if slash else None
        return f"{(folder or self.places.workspace).rstrip('/')}{ANY}"

    def names_secret(self, word: Word) -> bool:
        """Whether a path that is not known as a whole leads, by what is known of it, to secrets or to processes."""
        return word.text.startswith(("/proc/", "/dev/", "/root/")) or is_secret(word.text.replace(UNKNOWN, "x"))

    def rating(self, path: str, use: Use) -> Rating:
        """The risk of using a path."""
        if use == "write":
            return self.places.writing(path)
        if use == "delete":
            return self.places.deleting(path)
        return self.places.reading(path, deep=use == "deep")

    def forget(self) -> None:
        """No variable is known any more."""
        self.values.clear()
        self.values.update(_known_variables(self.places))

    def return_to(self, folder: str | None, values: dict[str, str]) -> None:
        """The surroundings are again what they were."""
        self.folder = folder
        self.values.clear()
        self.values.update(values)

    def call(self, name: Word, words: list[Word], node: Node) -> Call:
        """A command of this line."""
        self.count()
        return Call(self, name.text, words, self.reader.raw(node))


def _known_variables(places: Places) -> dict[str, str]:
    """What the shell starts with, and what no line may change unseen: to set these otherwise is HIGH."""
    return {"HOME": places.home, "TMPDIR": os.environ.get("TMPDIR") or tempfile.gettempdir()}


def _telling(part: str) -> str:
    """The name with secrets or power that a pattern may stand for; the pattern itself when there is none."""
    if not any(sign in part for sign in "*?[") or part.strip("*") == "" or part.startswith("*."):
        return part
    return next((name for name in _TELLING if fnmatchcase(name, part)), part)
