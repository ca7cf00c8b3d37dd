"""The result of the local rating: parts with their own risk, combined into one assessment.

Also what every rating needs: whether a text hides something, and which paths the words of a part may stand for.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from workbench.protocol.risk import Risk, higher

LONGEST_TEXT = 200
"""Characters of a command that one part quotes."""
MOST_REASONS = 6
NOT_COMPARED = "…"
"""The path that stands among the files an action executes where there are more than are compared."""
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
    """Paths whose content it may overwrite; ANY as above."""

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


class Findings(NamedTuple):
    """What was found in something that a command runs: the highest risk with its reason, and the parts."""

    risk: Risk = "LOW"
    reason: str = ""
    parts: tuple[Part, ...] = ()


def findings_of(parts: Iterable[Part]) -> Findings:
    """The parts with the highest risk among them."""
    assessment = summed(parts)
    return Findings(assessment.risk, assessment.reasons[0] if assessment.reasons else "", assessment.parts)


def one(risk: Risk, reason: str = "", text: str = "", paths: tuple[str, ...] = ()) -> Assessment:
    """An assessment with one reason, and a part when there is something to quote."""
    parts = (Part(shortened(text), risk, reason, paths),) if text else ()
    return Assessment(risk, (reason,) if reason and risk != "LOW" else (), parts)


def summed(parts: Iterable[Part]) -> Assessment:
    """The highest risk of the parts with the reasons for that height; no parts are LOW."""
    selected = tuple(parts)
    risk: Risk = "LOW"
    for part in selected:
        risk = higher(risk, part.risk)
    reasons = dict.fromkeys(part.reason for part in selected if part.risk == risk and part.reason)
    return Assessment(risk, () if risk == "LOW" else tuple(reasons)[:MOST_REASONS], selected)


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


_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}\ud800-\udfff]")
_JOINER = re.compile("(?<![\U0001f000-\U0001faff\u2600-\u27bf\ufe0f])\u200d")
_DRAWN_OVER = re.compile(
    "(?<=\\w)[\u0334-\u0338\u0488\u0489\u20d2-\u20d4\u20e5\u20e6\u20ea\u20eb]|(?<=[^\\W\\d]|[./_-])[\ufe0e\ufe0f]"
)
"""Strokes through a letter or digit, and behind one a choice of how it is drawn, of which there is none."""
_COLOURS = re.compile(r"\x1b\[(?:0|1|2|3|4|22|23|24|39|49|[34]\d|9\d|10\d|[34]8;[\d;]+)?(?:;\d+)*m")
_CONCEALED = re.compile(r"\x1b\[(?:[\d;]*;)?0*8(?:;[\d;]*)?m")
_MARKUP = re.compile(r"\[@\w+\s*=")
_PADDING = (" " * 80, "\n" * 20, "\t" * 20)


def hides(text: str, *, colours: bool = False) -> str:
    """What is hidden in a text, in a few words, or nothing; with `colours` plain colour codes may be in it."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return _padded(text)
    if colours and not _CONCEALED.search(text):
        text = _COLOURS.sub("", text)
    if _HIDDEN.search(text) or _JOINER.search(text):
        return "holds control codes or invisible signs"
    if _DRAWN_OVER.search(text):
        return "holds signs that are drawn over letters"
    return _padded(text)


def _padded(text: str) -> str:
    return "blanks push text out of view" if any(blanks in text for blanks in _PADDING) else ""


def has_markup_action(text: str) -> bool:
    """Whether a text would become something to click where markup is read."""
    return bool(_MARKUP.search(text))


_TEXT = re.compile(r"""(["'])((?:(?!\1)[^\\\n]){1,300})\1""")
_QUERY = re.compile(r"/*(?:\[?[?]|#|\Z)")
_UNKNOWN = "\0"
"""Stands in a word for what is not known before it runs."""
_MOST, _LONGEST = 60, 300


def mentioned(part: Part) -> list[str]:
    """Absolute paths that its words may stand for, but for those that it only reads; patterns of the shell as such."""
    bases = [directory.rstrip("/") for directory in part.folders]
    names = list(dict.fromkeys(name for word in part.mentions[:_MOST] for name in _names(word)))[:_MOST]
    paths = dict.fromkeys(name if name.startswith("/") else f"{base}/{name}" for base in bases for name in names)
    return [path for path in paths if path not in part.paths]


def texts_of(code: str) -> tuple[str, ...]:
    """The texts of code, each a pattern that fits only itself."""
    return tuple(glob.escape(match[2]) for match in _TEXT.finditer(code))[:_MOST]


def _names(word: str) -> Iterator[str]:
    """What in one word may be the name of a file: all of it, the value of a flag, a text of code, the end of a URL."""
    for piece in _pieces(word):
        name = piece.strip("<>+ ")  # as Perl opens it
        if name and len(name) <= _LONGEST and _UNKNOWN not in name and "\n" not in name:
            yield _QUERY.split(name, maxsplit=1)[0].rpartition("/")[2] if "://" in name else name


def _pieces(word: str) -> Iterator[str]:
    if not word.startswith("-"):
        yield word
    elif len(word) > 2 and word[1] != "-":
        yield word[2:]
    if "=" in word:
        yield word.partition("=")[2]
    if "'" in word or '"' in word:
        yield from (match[2] for match in _TEXT.finditer(word))


_DELETES = re.compile(
    r"rmtree|removedirs|\bunlink\w*|\brmdir\w*|\brmSync|\brm_rf?\b|\bos\.remove|\bimport\b[^\n]*\bremove\b|"
    r"\bFile\.delete|\bFileUtils\.|\bfs\.rm\b|\bremove_(?:file|dir|tree)\b|\brm\b|\bshred\b|\bgit\s+clean\b|-delete\b"
)
_WRITES = re.compile(
    r"\btruncate\b|\bwrite_(?:text|bytes)\b|writeFile\w*|\bshutil\.(?:move|copy\w*|unpack_archive)|\bos\.(?:rename|replace)|"
    r"\bFile\.(?:rename|write)|\bextractall\b|\bmv\b|\bcp\b|open\s*\([^)]*[\"'][rbt]*[wx+]"
)


def loss_by(code: str) -> Literal["delete", "write", ""]:
    """What the code may do to files; empty where no word of it speaks of that."""
    if _DELETES.search(code):
        return "delete"
    return "write" if _WRITES.search(code) else ""


def losing(part: Part, code: str, workspace: str) -> Part:
    """The part with the files of the workspace that its code may delete or write over: any, or those it names."""
    use, everything = loss_by(code), (f"{workspace}{ANY}",)
    if use == "delete":
        return part._replace(deletes=everything)
    return part._replace(changes=everything) if use else part._replace(mentions=texts_of(code), folders=(workspace,))
