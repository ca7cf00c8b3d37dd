"""Reasons of ratings: the text is for the user, the traits are for code that makes decisions.

Rules, the choices of "always allow" and later steps of the analysis check traits and never parse the text, so the text
can be reworded.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import Final


class Trait(Flag):
    """The meaning of a reason for rules, for the choices of "always allow" and for the rest of the analysis."""

    NONE = 0
    RUNS = auto()
    """Code or programs run, now or later, that the words of the command do not show; checked only on HIGH parts."""
    UNREAD = auto()
    """The text could not be split into commands with certainty."""
    UNCERTAIN = auto()
    """Something is known only when it runs, so other paths may be concerned."""
    UNRECOGNIZED = auto()
    """The analysis does not know the program or its subcommand."""
    DOWNLOADS = auto()
    """Code may be downloaded and run; checked only on parts below HIGH."""
    PRINTS_VARIABLES = auto()
    """Environment variables, or lines typed earlier, are printed."""
    REPEATS = auto()
    """Something is repeated, as in a loop."""
    READS = auto()
    """Something is only read or entered, so the words of the command do not name files that it may change."""
    SELF_DESCRIBED = auto()
    """The reason relies on another agent's own description, which could be the same for something else."""
    PIPED = auto()
    """The code that runs comes from a pipe."""
    STARTS_AGENT = auto()
    """A program is started that acts on its own; a rule cannot say which program it is."""


class Reason(str):
    """The text of a reason together with its traits; a reason without traits is a plain string.

    The methods of strings return plain strings, so use `reworded` for another text with the same traits.
    """

    __slots__ = ("traits",)

    traits: Trait

    def __new__(cls, text: str, traits: Trait) -> Reason:
        """Return the text with these traits."""
        reason = super().__new__(cls, text)
        reason.traits = traits
        return reason

    def __getnewargs__(self) -> tuple[str, Trait]:  # type: ignore[override]
        """Return the arguments from which a copy is created."""
        return str(self), self.traits

    @property
    def cell(self) -> str:
        """The reason as a cell of a table: `TEXT [TRAIT TRAIT]`; `from_cell` parses it."""
        return f"{self} [{' '.join(str(trait.name) for trait in self.traits)}]"


def traits_of(reason: str) -> Trait:
    """Return the traits of a reason; NONE for a plain string."""
    return reason.traits if isinstance(reason, Reason) else Trait.NONE


def reworded(reason: str, text: str) -> str:
    """Return the reason with another text and the same traits."""
    return Reason(text, reason.traits) if isinstance(reason, Reason) else text


def with_traits(reason: str, traits: Trait) -> str:
    """Return the reason with further traits."""
    before = traits_of(reason)
    return reason if traits in before else Reason(reason, before | traits)


def from_cell(text: str) -> str:
    """Return the reason in a cell of a table: `TEXT`, or `TEXT [TRAIT TRAIT]`. Raises KeyError for an unknown trait."""
    text, opening, names = text.partition(" [")
    if not opening:
        return text
    traits = Trait.NONE
    for name in names.rstrip("]").split():
        traits |= Trait[name]
    return Reason(text, traits)


def failed(error: Exception) -> Reason:
    """Return the reason for rating something whose analysis raised an error."""
    return Reason(f"the analysis failed ({type(error).__name__})", Trait.RUNS)


def too_long(limit: int) -> Reason:
    """Return the reason for rating text of more than `limit` characters."""
    return Reason(f"longer than {limit:,} characters, so it was not analyzed", Trait.RUNS)


TOO_MUCH: Final = Reason("too long or too deeply nested to be analyzed", Trait.RUNS | Trait.UNREAD)
CANNOT_READ: Final = Reason("cannot be read with certainty", Trait.UNREAD)
UNKNOWN_COMMAND: Final = Reason("unknown command", Trait.UNCERTAIN | Trait.UNRECOGNIZED)

RUNS_PROGRAM: Final = Reason("runs another program", Trait.RUNS)
RUNS_UNSEEN: Final = Reason("runs a program unseen", Trait.RUNS)
RUNS_SHELL_COMMAND: Final = Reason("runs a shell command", Trait.RUNS)
RUNS_CODE: Final = Reason("runs code", Trait.RUNS)
RUNS_UNKNOWN_CODE: Final = Reason("runs code only known at run time", Trait.RUNS | Trait.UNCERTAIN)
RUNS_UNKNOWN_SCRIPT: Final = Reason("runs a script only known at run time", Trait.RUNS | Trait.UNCERTAIN)
RUNS_PIPED: Final = Reason("runs the code piped into it", Trait.RUNS | Trait.PIPED)
PIPES_DOWNLOAD: Final = Reason("pipes downloaded code into a shell", Trait.RUNS | Trait.PIPED)
RUNS_PROJECT: Final = Reason("runs code of the project", Trait.RUNS)
LOADS_CODE: Final = Reason("loads more code first", Trait.RUNS)
STARTS_SHELL: Final = Reason("starts a shell", Trait.RUNS)
STARTS_SHELL_UNSEEN: Final = Reason("starts a shell unseen", Trait.RUNS)
RUNS_OUTSIDE_SCRIPT: Final = Reason("runs a script from outside the workspace", Trait.RUNS)
RUNS_LATER: Final = Reason("runs a command later", Trait.RUNS)
CONNECTS_AND_RUNS: Final = Reason("connects to any host", Trait.RUNS)
"""For programs with options, settings or typed commands that run programs."""
MOUNTS: Final = Reason("changes what is mounted", Trait.RUNS)
BY_SERVICE: Final = Reason("has a service that runs already start programs", Trait.RUNS)
LEAVES_SANDBOX: Final = Reason("leaves its sandbox or container", Trait.RUNS)
SCHEDULES: Final = Reason("changes what runs on a schedule", Trait.RUNS)
OTHER_RIGHTS: Final = Reason("acts with the rights of another user", Trait.RUNS)

FOR_GIT: Final = Reason("changes what git runs and keeps", Trait.RUNS)
FOR_EDITOR: Final = Reason("changes what the editor runs", Trait.RUNS)
FOR_BUILD: Final = Reason("changes what the build runs", Trait.RUNS)
BY_SHELL: Final = Reason("is run by each shell", Trait.RUNS)
BY_INTERPRETER: Final = Reason("is run by each start of the interpreter", Trait.RUNS)
BY_PROGRAM: Final = Reason("runs what it names when a program starts", Trait.RUNS)
BY_EDITOR: Final = Reason("is run by the editor", Trait.RUNS)
BY_COMMIT: Final = Reason("is run by git at each commit", Trait.RUNS)
IN_DIRECTORY: Final = Reason("runs when the directory is entered", Trait.RUNS)

RUNS_URL: Final = Reason("runs code from a URL", Trait.RUNS | Trait.DOWNLOADS)
RUNS_PACKAGE: Final = Reason("runs a package that is not installed", Trait.RUNS | Trait.DOWNLOADS)
INSTALLS_URL: Final = Reason("installs code from a URL", Trait.RUNS | Trait.DOWNLOADS)
INSTALLS_ELSEWHERE: Final = Reason("installs from another source, or to another place", Trait.RUNS | Trait.DOWNLOADS)
CHANGES_SOURCES: Final = Reason("changes where packages come from", Trait.RUNS)

REPEATS_COMMAND: Final = Reason("runs a command again and again", Trait.RUNS | Trait.REPEATS)
PRINTS_SURROUNDINGS: Final = Reason("prints the environment variables, including secrets", Trait.PRINTS_VARIABLES)
PRINTS_VARIABLES: Final = Reason("prints all variables, including secrets", Trait.PRINTS_VARIABLES)

READS_SOMEWHERE: Final = Reason("reads a path only known at run time", Trait.UNCERTAIN | Trait.READS)
CHANGES_SOMEWHERE: Final = Reason("changes a path only known at run time", Trait.UNCERTAIN)
READS_OPTIONS: Final = Reason("reads options from a file", Trait.READS)
READS_SECRETS: Final = Reason("reads a file that may contain secrets", Trait.READS)
READS_PROCESS: Final = Reason("reads the memory or environment of a process", Trait.READS)
