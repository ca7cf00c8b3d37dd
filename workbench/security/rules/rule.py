"""One rule: its fields, and the one line it is written as in logs, questions and the screen; read by all of `rules`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from workbench.errors import UsageError
from workbench.near_names import nearest

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Source: TypeAlias = Literal["person", "folder", "session"]
VERDICTS: Final = ("allow", "ask", "deny")
SHELL: Final = "execute_bash"
_HOW = "write VERDICT [TOOL] [in PATH] [$ COMMAND], for example: allow $ pytest -q"


class RuleError(UsageError):
    """A rule that cannot be: one line that says what is wrong and what would be right."""


@dataclass(frozen=True)
class Rule:
    """What happens to the actions that fit; an empty field fits all. `number` counts in its file, from 1."""

    verdict: Verdict
    tool: str = ""
    """The name of a tool; `*` stands for any signs."""
    command: str = ""
    """A pattern for one command of a command line: `*` stands for anything, `\\*` for itself."""
    path: str = ""
    """A pattern for a path: `*` within a name, `**` across folders; relative ones begin at the workspace."""
    folder: str = ""
    """The folder in which it counts; everywhere when empty."""
    reason: str = ""
    """What the model is told when it denies."""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    source: Source = field(default="session", compare=False)
    number: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """The rule in one line, as `parse_rule` reads it (where it counts is not in it)."""
        tool = "" if self.command and self.tool == SHELL else self.tool
        path = f"in {shlex.quote(self.path) if ' ' in self.path else self.path}" if self.path else ""
        command = f"$ {self.command}" if self.command else ""
        return " ".join(part for part in (self.verdict, tool, path, command) if part)


def parse_rule(text: str, source: Source = "session") -> Rule:
    """The rule of one line, `VERDICT [TOOL] [in PATH] [$ COMMAND]`; raises RuleError."""
    front, dollar, command = f"{text.strip()} ".partition(" $ ")
    if dollar and not command.strip():
        raise RuleError(f"there is no command behind the $; {_HOW}")
    try:
        words = shlex.split(front)
    except ValueError as error:
        raise RuleError(f"a quote is not closed in {front.strip()!r}; {_HOW}") from error
    verdict, rest = (words[0] if words else ""), words[1:]
    if verdict not in VERDICTS:
        raise RuleError(f"a rule begins with allow, ask or deny, not with {verdict!r}{near(verdict, VERDICTS)}; {_HOW}")
    tool = rest.pop(0) if rest and rest[0] != "in" else ""
    path = rest[1] if len(rest) == 2 and rest[0] == "in" else ""
    if rest and not path:
        raise RuleError(f"{' '.join(rest)!r} is not understood; {_HOW}")
    if not (tool or path or command.strip()):
        raise RuleError(f"a rule names a tool, a path or a command; {_HOW}")
    return Rule(cast(Verdict, verdict), tool or (SHELL if dollar else ""), command.strip(), path, source=source)


def near(name: str, known: Iterable[str]) -> str:
    """A hint at the nearest known name; empty when none is near."""
    found = nearest(name, known, 0.5)
    return f" (did you mean {found!r}?)" if found else ""
