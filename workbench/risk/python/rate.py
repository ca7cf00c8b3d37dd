"""Collect the parts of a piece of Python, and rate its requests to other machines."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk, higher
from workbench.risk.actions import assess_url
from workbench.risk.assessment import ANY, ENTRY, Part, shortened
from workbench.risk.paths import PathContext, is_regenerable, within
from workbench.risk.protected_names import is_secret
from workbench.risk.python.model import home_of
from workbench.risk.python.resolver import Reading
from workbench.risk.python.source import Lines
from workbench.risk.python.table import Kind
from workbench.risk.python.values import CONTENT, PLAIN, UNKNOWN, Items, Values, strings
from workbench.risk.reason import (
    CHANGES_SOMEWHERE,
    READS_SOMEWHERE,
    RUNS_OUTSIDE_SCRIPT,
    RUNS_SHELL_COMMAND,
    RUNS_UNKNOWN_CODE,
    Reason,
    Trait,
)

_MOST_PARTS: Final = 60
_MOST_COMMANDS: Final = 40
_TELLING: Final = (
    ".env",
    ".ssh",
    ".aws",
    ".gnupg",
    ".git",
    ".ohw",
    ".netrc",
    ".npmrc",
    ".bashrc",
    "id_rsa",
    "id_ed25519",
)
_OPEN: Final = lazy_pattern(f"[{UNKNOWN}{CONTENT}]")
_DOES: Final[dict[Kind, str]] = {
    "read": "reads",
    "deep": "reads",
    "link": "reads",
    "delete": "deletes",
    "rmtree": "deletes",
}
RunsCommand: TypeAlias = Callable[[str], Sequence[Part]]


@dataclass(frozen=True)
class Surroundings:
    """Where a piece of code would run (directory, nesting), and the functions that rate the commands it starts."""

    context: PathContext
    directory: str | None
    rate: RunsCommand
    depth: int = 0
    """How deeply the code is nested in other code."""
    magic: Callable[[str, str], Sequence[Part]] | None = None
    """Rates `get_ipython().NAME(text)`; None outside IPython."""


class Judge:
    """Collects the parts found in one piece of code."""

    def __init__(self, reading: Reading, lines: Lines, around: Surroundings) -> None:
        self.reading = reading
        self.around = around
        self.parts: list[Part] = []
        self.used: set[str] = set()
        """Strings that have already been rated by their use."""
        self._commands: dict[str, Sequence[Part]] = {}
        self._lines = lines
        self._directories: list[str | None] = [around.directory]

    def enters(self, directories: Sequence[str]) -> None:
        """Record that the code changes to one of these directories at some point."""
        self._directories += [path for text in directories for path in self.paths_of(text)]

    def report(self, node: ast.expr | ast.stmt, risk: Risk, reason: str, **more: tuple[str, ...]) -> None:
        """Add a part for a node of the code; beyond _MOST_PARTS, only HIGH parts are added."""
        if len(self.parts) < _MOST_PARTS or risk == "HIGH":
            self.parts.append(Part(shortened(self._lines.of(node)), risk, reason, **more))  # type: ignore[arg-type]

    def paths_of(self, text: str) -> list[str | None]:
        """Return the absolute paths that a string may name, one for each possible directory; None if it is unknown."""
        if text.startswith((UNKNOWN, CONTENT)):
            return [None]
        text = home_of(self.reading, _telling(text))
        for sign in (UNKNOWN, CONTENT, PLAIN):
            text = text.replace(sign, ENTRY)
        if text.startswith("/"):
            return [self.around.context.by_own_name(_tidy(text))]
        return [None if directory is None else _tidy(f"{directory}/{text}") for directory in self._directories]

    def uses(self, node: ast.expr, values: Values, kind: Kind) -> None:
        """Rate reading, writing, moving or deleting the files that the values name."""
        for text in strings(values):
            self.used.add(text)
            for path in self.paths_of(text):
                if path is None:
                    self._unresolved(node, kind)
                else:
                    self._use(node, path, kind, is_open=bool(_OPEN.search(text)), is_listed=PLAIN in text)

    def _unresolved(self, node: ast.expr, kind: Kind) -> None:
        does = _DOES.get(kind, "changes")
        everything = (f"{self.around.context.workspace}{ANY}",)
        if does == "reads":
            self.report(node, "MEDIUM", READS_SOMEWHERE)
        elif does == "deletes":
            self.report(
                node, "HIGH", Reason("deletes a path only known at run time", Trait.UNCERTAIN), deletes=everything
            )
        else:
            lost = () if kind == "keep" else everything
            self.report(node, "HIGH", CHANGES_SOMEWHERE, changes=lost)

    def _use(self, node: ast.expr, path: str, kind: Kind, *, is_open: bool, is_listed: bool) -> None:
        context = self.around.context
        if kind in {"read", "deep", "link"}:
            risk, reason = context.reading(path, deep=kind == "deep")
            if kind == "link" and not within(context.resolved(path), context.workspace):
                risk, reason = "HIGH", "creates a link that leads out of the workspace"
            self.report(node, higher(risk, "MEDIUM") if is_open else risk, reason, paths=(path,))
            return
        inner = f"{path.rstrip('/')}/{ENTRY}" if kind == "below" else path
        deletes = kind in {"delete", "rmtree"}
        risk, reason = context.deleting(path, deep=kind == "rmtree") if deletes else context.writing(inner)
        some = is_open or is_listed
        if (
            deletes
            and some
            and risk == "MEDIUM"
            and within(context.resolved(path), context.workspace)
            and not is_regenerable(path.replace(ENTRY, "x"))
        ):
            risk, reason = "HIGH", Reason("deletes files only known at run time", Trait.UNCERTAIN)
        shares = kind == "write" and context.shares(path)
        lost = f"{path.rpartition('/')[0] if some else path}{ANY if some or kind == 'below' else ''}"
        self.report(
            node,
            risk,
            reason,
            paths=(path,),
            deletes=(lost,) if deletes else (),
            changes=(lost,) if kind in {"write", "below"} else (),
            protected=(path,) if context.protects(path, deep=deletes) or context.protects(inner) or shares else (),
        )

    def runs(self, node: ast.expr, text: str, reason: str = RUNS_SHELL_COMMAND) -> None:
        """Rate running a command line; `text` may contain placeholders for unknown content."""
        self.used.add(text)
        text = text.replace(PLAIN, "1")
        if _OPEN.search(text):
            self.report(
                node,
                "HIGH",
                Reason("runs a command that contains values only known at run time", Trait.RUNS | Trait.UNCERTAIN),
            )
            if re.search(r"\brm\b|\bmv\b|\bcp\b|\bgit\b", text):
                everything = f"{self.around.context.workspace}{ANY}"
                self.parts[-1] = self.parts[-1]._replace(deletes=(everything,))
            return
        again = text in self._commands
        if not again and len(self._commands) >= _MOST_COMMANDS:
            self.report(node, "HIGH", Reason("runs more commands than are looked at", Trait.RUNS))
            return
        inner = self._commands[text] if again else self._rated(text)
        risk: Risk = "MEDIUM"
        for part in inner:
            risk = higher(risk, part.risk)
        why = next((part.reason for part in inner if part.risk == risk and part.reason), "")
        self.report(node, risk, why or reason)
        self.parts += [] if again else inner

    def _rated(self, text: str) -> Sequence[Part]:
        self._commands[text] = result = self.around.rate(text)
        return result

    def runs_words(self, node: ast.expr, words: Sequence[Values]) -> None:
        """Rate running a command that is given word by word."""
        self.used.update(text for word in words for text in strings(word))
        self.runs(node, line_of(words[:60]) or UNKNOWN, Reason("runs a program", Trait.RUNS))

    def runs_any(self, node: ast.expr, values: Values, *, is_line: bool) -> None:
        """Rate running a command that is given as a list of words or, with `is_line`, as a command line."""
        for value in values:
            if isinstance(value, Items):
                self.runs_words(node, value.items)
            elif isinstance(value, str):
                self.runs(node, value if is_line or " " in value or _OPEN.search(value) else _word(value))
            else:
                self.runs(node, UNKNOWN)

    def loads(self, node: ast.expr, values: Values) -> None:
        """Rate running the code in a file: MEDIUM in the project, HIGH from elsewhere."""
        for text in strings(values):
            self.used.add(text)
            for path in self.paths_of(text):
                risk: Risk = "HIGH"
                reason: str = RUNS_UNKNOWN_CODE
                if path is not None and not _OPEN.search(text):
                    risk, reason = self.around.context.reading(path)
                    if risk == "MEDIUM" or path.startswith(("/tmp/", "/dev/", "/var/tmp/")):
                        risk, reason = "HIGH", RUNS_OUTSIDE_SCRIPT
                    elif risk == "LOW":
                        risk, reason = "MEDIUM", "runs a script of the project"
                self.report(node, risk, reason, paths=(path,) if path else ())


def _tidy(path: str) -> str:
    """Return the path without `.` components; a path with `..` is unchanged, because it depends on links."""
    return path if "/../" in path else os.path.normpath(path)


def line_of(words: Sequence[Values]) -> str:
    """Return the command line of a command that is given word by word."""
    return " ".join(_word(each[0]) if len(each := strings(word)) == 1 else _word(UNKNOWN) for word in words)


def _word(text: str) -> str:
    """Return a word quoted for the shell, with a variable in place of unknown content."""
    text = text.replace(PLAIN, "1")
    if not _OPEN.search(text):
        return shlex.quote(text)
    return '"' + _OPEN.sub("$not_known", re.sub(r'([\\"`$])', r"\\\1", text)) + '"'


def _telling(text: str) -> str:
    """Return the path with a secret or protected name in place of a pattern that may match it."""
    directory, slash, name = text.rpartition("/")
    if PLAIN not in name or not name.strip(PLAIN) or name.startswith(f"{PLAIN}."):
        return text
    pattern = name.replace(PLAIN, "*")
    return next((f"{directory}{slash}{each}" for each in _TELLING if fnmatchcase(each, pattern)), text)


def names_secret(text: str) -> bool:
    """Return whether a string in code is the path of a secret."""
    return ("/" in text or text.startswith((".", "~", "id_"))) and " " not in text and is_secret(text)


_HERE: Final = lazy_pattern(r"https?://(?:localhost|127(?:\.\d+){1,3}|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?#]|\Z)", re.I)
_CARRIES: Final = frozenset({"params", "headers", "cookies", "auth", "json", "data", "files"})


def asks(judge: Judge, call: ast.Call, urls: Values) -> None:
    """Rate reading a URL."""
    for text in strings(urls) or [UNKNOWN]:
        judge.used.add(text)
        if CONTENT in text or _carries_content(judge, call):
            judge.report(call, "HIGH", "sends what it read to another machine")
        elif text.startswith(UNKNOWN):
            judge.report(
                call, "MEDIUM", Reason("reads from a URL only known at run time", Trait.UNCERTAIN | Trait.READS)
            )
        elif text.startswith("file:"):
            judge.uses(call, (re.sub(r"\Afile:/*", "/", text),), "read")
        elif not re.match(r"[a-z+]+:", text, re.I):
            judge.uses(call, (text,), "read")
        elif not _HERE.match(text):
            rated = assess_url(re.sub(f"[{UNKNOWN}{PLAIN}]", "x", text))
            for part in rated.parts:
                judge.report(call, part.risk, part.reason, paths=part.paths)
        else:
            judge.report(call, "MEDIUM", "asks a program on this machine")


def _carries_content(judge: Judge, call: ast.Call) -> bool:
    """Return whether the request carries content that the code has read."""
    bodies = [each.value for each in call.keywords if each.arg in _CARRIES]
    return any(_holds_content(judge.reading.values(value)) for value in bodies)


def _holds_content(value: object) -> bool:
    return CONTENT in repr(value).replace("\\x01", CONTENT)


def sends(judge: Judge, call: ast.Call, urls: Values) -> None:
    """Rate sending data to a URL."""
    for text in strings(urls) or [UNKNOWN]:
        judge.used.add(text)
        if _HERE.match(text):
            judge.report(call, "MEDIUM", "sends data to this machine")
        else:
            judge.report(call, "HIGH", "sends data to another machine")
