"""The result of the local rating: parts with their own risk, combined into one assessment.

Also contains helpers for all ratings: whether a text hides something, and which paths the words of a part may name.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk, higher
from workbench.risk.reason import Trait, traits_of

LONGEST_TEXT = 200
"""The maximum number of characters of a command that a part quotes."""
MOST_REASONS = 6
NOT_COMPARED = "…"
"""Placeholder among the files that an action executes: there are more files, which are not compared."""
ANY = "/**"
"""Suffix of a directory's path; the whole stands for some files below it, which only the program that will run
knows.
"""

ENTRY = "found-file"
"""A name in a path that stands for any file or directory there, known only when the command runs."""

Spares: TypeAlias = Literal["", "-", "x", "X", "m"]


class Part(NamedTuple):
    """One command, redirect or substitution of a command line: its risk, the reason, and the paths it touches."""

    text: str
    risk: Risk
    reason: str = ""
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """The command's words without quotes; empty if the part is not a command."""
    plain: bool = False
    """Whether the words describe the command completely.

    It has no redirect, pipe, variable, substitution or pattern, and concerns nothing outside the workspace.
    """
    depth: int = 0
    """How deeply the command is nested inside other commands; 0 at the top."""
    deletes: tuple[str, ...] = ()
    """The paths that it deletes, with everything below them; one that ends in ANY means some files below that
    directory.
    """
    changes: tuple[str, ...] = ()
    """Paths whose content it may overwrite; ANY has the same meaning as in `deletes`."""

    mentions: tuple[str, ...] = ()
    """The command's words as glob patterns, or the string literals of its code.

    It may overwrite files with these names too, because nothing known about it rules that out.
    """
    directories: tuple[str, ...] = ()
    """The directories in which it may run, as far as they are known; relative names in `mentions` are relative to
    these.
    """
    is_lost: bool = False
    """Whether the directory in which it runs is unknown; `directories` then contains the workspace."""
    protected: tuple[str, ...] = ()
    """The protected paths that it changes or deletes."""
    opaque: str = ""
    """A program that it may run in addition to those in its words, if only known at run time; "*" means any program."""
    unplaced: bool = False
    """Whether it uses a path that is unknown until it runs."""
    program: str = ""
    """The name of the program to which its first word links, if that differs from the word."""
    spares: Spares = ""
    """The files that it does not delete, named after the flags of `git clean`.

    `x` spares tracked files, `-` tracked and ignored files, and `X` all files that git does not ignore. `m` spares
    files that are unchanged since they were committed.
    """
    input: str = ""
    """The text that it reads as input, if that is known and is run as code, or if the command is dangerous."""
    is_literal: bool = False
    """Whether the words would be `plain` without its `redirects` and, if `is_piped`, its input from a pipe."""
    redirects: tuple[str, ...] = ()
    """Its redirects to files, each as OPERATOR and quoted path, except those to descriptors and `/dev/null`."""
    is_piped: bool = False
    is_redirect: bool = False
    """Whether it is a redirect to or from a file; it belongs to the command before it."""
    is_substituted: bool = False
    """Whether the shell runs it to expand a word of another command."""

    @property
    def traits(self) -> Trait:
        """The traits of the reason. Rules and offers use these and never read the reason's text."""
        return traits_of(self.reason)


class Assessment(NamedTuple):
    """The local rating of one action."""

    risk: Risk
    reasons: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    server_tool: str = ""
    """For a tool of an MCP server, `SERVER/TOOL` with the server's own names; a rule must use this name to allow it."""


class Findings(NamedTuple):
    """The rating of something that a command runs: the highest risk with its reason, and the parts."""

    risk: Risk = "LOW"
    reason: str = ""
    parts: tuple[Part, ...] = ()


def findings_of(parts: Iterable[Part]) -> Findings:
    """Return the parts together with the highest risk among them and the first reason for it."""
    assessment = summed(parts)
    return Findings(assessment.risk, assessment.reasons[0] if assessment.reasons else "", assessment.parts)


def one(risk: Risk, reason: str = "", text: str = "", paths: tuple[str, ...] = ()) -> Assessment:
    """Return an assessment with one reason, and with one part if `text` is not empty."""
    parts = (Part(shortened(text), risk, reason, paths),) if text else ()
    return Assessment(risk, (reason,) if reason and risk != "LOW" else (), parts)


def summed(parts: Iterable[Part]) -> Assessment:
    """Return an assessment with the parts' highest risk and the reasons for it; LOW if there are no parts."""
    selected = tuple(parts)
    risk: Risk = "LOW"
    for part in selected:
        risk = higher(risk, part.risk)
    reasons = dict.fromkeys(part.reason for part in selected if part.risk == risk and part.reason)
    return Assessment(risk, () if risk == "LOW" else tuple(reasons)[:MOST_REASONS], selected)


def with_hidden(hidden: str, text: str, assessment: Assessment) -> Assessment:
    """Return the assessment of a text that hides something: HIGH for that reason, followed by the other reasons.

    The other reasons are kept, even if they are below HIGH, because what the text does matters as much as what it
    hides.
    """
    whole = Part(shortened(text), "HIGH", hidden)
    return Assessment("HIGH", (hidden, *assessment.reasons)[:MOST_REASONS], (whole, *assessment.parts))


def not_plain(parts: Iterable[Part]) -> list[Part]:
    """Return the parts marked as not plain, so that no rule can allow one by its words alone."""
    return [part._replace(plain=False, is_literal=False) for part in parts]


def shortened(text: str) -> str:
    """Return the text, cut to LONGEST_TEXT characters; a shortened text ends with `…`."""
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_HIDDEN = lazy_pattern(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}\ud800-\udfff]")
_JOINER = lazy_pattern("(?<![\U0001f000-\U0001faff\u2600-\u27bf\ufe0f])\u200d")
_STROKES = "\u0334-\u0338\u0488\u0489\u20d2-\u20d4\u20e5\u20e6\u20ea\u20eb"
_DRAWN_OVER = lazy_pattern(f"(?<=\\w)[{_STROKES}]|(?<=[^\\W\\d]|[./_-])[\ufe0e\ufe0f]")
"""Strokes drawn through a letter or digit, and variation selectors after a character that has no variants."""
_DEPENDS = lazy_pattern(f"[\u200d{_STROKES}\ufe0e\ufe0f]")
"""Characters that `_JOINER` and `_DRAWN_OVER` judge by the preceding character."""
_COLORS = lazy_pattern(r"\x1b\[(?:0|1|2|3|4|22|23|24|39|49|[34]\d|9\d|10\d|[34]8;[\d;]+)?(?:;\d+)*m")
_CONCEALED = lazy_pattern(r"\x1b\[(?:[\d;]*;)?0*8(?:;[\d;]*)?m")
_MARKUP = lazy_pattern(r"\[@\w+\s*=")
_PADDING = (" " * 80, "\n" * 20, "\t" * 20)


def hides(text: str, *, colors: bool = False) -> str:
    """Describe briefly what a text hides; empty if it hides nothing. With `colors`, terminal color codes are
    accepted.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return _padded(text)
    if colors and not _CONCEALED.search(text):
        text = _COLORS.sub("", text)
    distinct = "".join(set(text))
    depends = bool(_DEPENDS.search(distinct))
    if _HIDDEN.search(distinct) or (depends and _JOINER.search(text)):
        return "contains control or invisible characters"
    if depends and _DRAWN_OVER.search(text):
        return "contains characters drawn over letters"
    return _padded(text)


def _padded(text: str) -> str:
    return "spaces push text out of view" if any(blanks in text for blanks in _PADDING) else ""


def has_markup_action(text: str) -> bool:
    """Return whether a text would become clickable if it were rendered as markup."""
    return bool(_MARKUP.search(text))


_TEXT = lazy_pattern(r"""(["'])((?:(?!\1)[^\\\n]){1,300})\1""")
_BETWEEN_WORDS = lazy_pattern(r"[\s'\"();<>|&=,{}`]+")
_QUERY = lazy_pattern(r"/*(?:\[?[?]|#|\Z)")
_UNKNOWN = "\0"
"""The placeholder in a word for content that is unknown until the command runs."""
_MOST, _LONGEST = 60, 300


def mentioned(part: Part) -> list[str]:
    """Return the absolute paths or glob patterns that the part's `mentions` may refer to, except those in its
    `paths`.
    """
    bases = [directory.rstrip("/") for directory in part.directories]
    names = list(dict.fromkeys(name for word in part.mentions[:_MOST] for name in _names(word)))[:_MOST]
    paths = dict.fromkeys(name if name.startswith("/") else f"{base}/{name}" for base in bases for name in names)
    return [path for path in paths if path not in part.paths]


def string_literals(code: str) -> tuple[str, ...]:
    """Return the string literals in the code, each escaped to a glob pattern that matches only itself."""
    return tuple(glob.escape(match[2]) for match in islice(_TEXT.finditer(code), _MOST))


def words_in(text: str) -> list[str]:
    """Return the words between spaces, quotes, brackets and shell operators."""
    return [word for word in _BETWEEN_WORDS.split(text) if word]


def _names(word: str) -> Iterator[str]:
    """Yield everything in a word that may be a file name: the word, a flag's value, a string literal, the last part of
    a URL.
    """
    for piece in _pieces(word):
        name = piece.strip("<>+ ")  # as in Perl's `open`
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


_DELETES = lazy_pattern(
    r"rmtree|removedirs|\bunlink\w*|\brmdir\w*|\brmSync|\brm_rf?\b|\bos\.remove|\bimport\b[^\n]*\bremove\b|"
    r"\bFile\.delete|\bFileUtils\.|\bfs\.rm\b|\bremove_(?:file|dir|tree)\b|\brm\b|\bshred\b|\bgit\s+clean\b|-delete\b"
)
_WRITES = lazy_pattern(
    r"\btruncate\b|\bwrite_(?:text|bytes)\b|writeFile\w*|\bshutil\.(?:move|copy\w*|unpack_archive)|\bos\.(?:rename|replace)|"
    r"\bFile\.(?:rename|write)|\bextractall\b|\bmv\b|\bcp\b|open\s*\([^)]*[\"'][rbt]*[wx+]"
)


@lru_cache(maxsize=64)
def loss_by(code: str) -> Literal["delete", "write", ""]:
    """Return whether the code may delete or write files, judging by certain words in it; empty without such words."""
    if _DELETES.search(code):
        return "delete"
    return "write" if _WRITES.search(code) else ""


def losing(part: Part, code: str, workspace: str) -> Part:
    """Return the part with the workspace files that its code may delete or overwrite.

    If the code seems to delete or write, these are any files; otherwise those whose names are string literals in it.
    """
    use, everything = loss_by(code), (f"{workspace}{ANY}",)
    if use == "delete":
        return part._replace(deletes=everything)
    return (
        part._replace(changes=everything)
        if use
        else part._replace(mentions=string_literals(code), directories=(workspace,))
    )
