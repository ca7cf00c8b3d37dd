"""What the local analysis says: parts with their own risk, made into one rating; used by everything in `security`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from workbench.protocol.risk import Risk, higher

LONGEST_TEXT = 200
"""Characters of a command that one part quotes."""
MOST_REASONS = 6
ANY = "/**"
"""Behind a folder: files below it, and only the program that runs will know which."""


Spares: TypeAlias = Literal["", "-", "x", "X", "m"]


class Part(NamedTuple):
    """One command, redirect or substitution of a command line: its risk, why, and the paths it touches."""

    text: str
    risk: Risk
    reason: str = ""
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """The command's words without their quotes; empty for what is no command."""
    plain: bool = False
    """Whether the words are all there is to it: no redirect, pipe, variable, substitution or pattern, and inside the
    workspace."""
    depth: int = 0
    """How deep inside other commands it is run."""
    deletes: tuple[str, ...] = ()
    """Paths it deletes, with all that is below them; with ANY at its end some files below a folder."""
    changes: tuple[str, ...] = ()
    """Paths whose content it may write over; ANY as above."""

    mentions: tuple[str, ...] = ()
    """Its words as patterns, or the texts of its code: files of these names it may write over too, for all that is
    known of it."""
    folders: tuple[str, ...] = ()
    """Where it runs, as far as that is known: what the names begin at."""
    protected: tuple[str, ...] = ()
    """Protected paths that it changes or deletes."""
    opaque: str = ""
    """The program that it may run besides what its words say, which only running it will show; "*" for any."""
    unplaced: bool = False
    """Whether it names a path that is not known before it runs."""
    program: str = ""
    """The name of the program that a link in its first word leads to, where that is another one."""
    spares: Spares = ""
    """What it leaves there, by the flag of `git clean`: with `x` what git keeps, with `-` what git ignores too, and
    with `X` all that git does not ignore; with `m` what is as it was committed."""


class Assessment(NamedTuple):
    """The local rating of one action."""

    risk: Risk
    reasons: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    server_tool: str = ""
    """For a tool of a server, `SERVER/TOOL` as the server names it; rules that allow it have to name it so."""


def one(risk: Risk, reason: str = "", text: str = "", paths: tuple[str, ...] = ()) -> Assessment:
    """An assessment with one reason, and a part when there is something to quote."""
    parts = (Part(shortened(text), risk, reason, paths),) if text else ()
    return Assessment(risk, (reason,) if reason and risk != "LOW" else (), parts)


def summed(parts: Iterable[Part]) -> Assessment:
    """The highest risk of the parts with the reasons for that height; no parts are LOW."""
    kept = tuple(parts)
    risk: Risk = "LOW"
    for part in kept:
        risk = higher(risk, part.risk)
    reasons = dict.fromkeys(part.reason for part in kept if part.risk == risk and part.reason)
    return Assessment(risk, () if risk == "LOW" else tuple(reasons)[:MOST_REASONS], kept)


def with_hidden(hidden: str, text: str, found: Assessment) -> Assessment:
    """The same for a text that hides something: HIGH for that first, and all that is known of its parts behind it.

    What is below HIGH is among the reasons too: what the text does is no less for what it hides.
    """
    whole = Part(shortened(text), "HIGH", hidden)
    return Assessment("HIGH", (hidden, *found.reasons)[:MOST_REASONS], (whole, *found.parts))


def not_plain(parts: Iterable[Part]) -> list[Part]:
    """The parts, none of which a rule may allow by its words alone."""
    return [part._replace(plain=False) for part in parts]


def shortened(text: str) -> str:
    """At most LONGEST_TEXT characters of a text; a cut is marked."""
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
