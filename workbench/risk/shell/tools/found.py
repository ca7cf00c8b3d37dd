"""`find`: what it does with what it finds, and exactly which files that are; used by `searchers`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from workbench.risk.paths import is_made_again
from workbench.risk.shell.call import Call
from workbench.risk.shell.words import Word, literal

_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_READS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"})
_EITHER = frozenset({"-o", "-or", "-not", "!", "(", ")", ",", "-regex", "-iregex"})
_PATHS = frozenset({"-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"})
_FOUND = "found-file"


class Found(NamedTuple):
    """What `find` finds: below which folders, and of which names as far as that is certain."""

    starts: Sequence[Word]
    name: str = ""
    """A pattern of the shell for the names; empty where that alone does not say it."""
    is_flat: bool = False
    """Whether it looks in the folders themselves only."""
    is_empty: bool = False
    """Whether only what is empty is found."""
    paths: tuple[str, ...] = ()
    """Patterns for the paths or names, where there are several or they may be turned round."""

    def files(self, start: Word) -> str:
        """The files below one of the folders, as a pattern where one can say it."""
        folder = start.text.rstrip("/") or "/"
        return f"{folder}/{'' if self.is_flat or not self.name else '**/'}{self.name or _FOUND}"


def find(call: Call) -> None:
    """Rate each predicate that does something."""
    rest, starts = list(call.words), []
    while rest and (rest[0].text in {"-L", "-P", "-H"} or not rest[0].text.startswith(("-", "(", "!", ","))):
        word = rest.pop(0)
        starts += [word] if not word.text.startswith("-") else []
    for start in starts:
        call.use(start, "read")
    found = _found(starts or [literal(".")], rest)
    while rest:
        rest = _predicate(call, found, rest)


def _found(starts: Sequence[Word], words: Sequence[Word]) -> Found:
    texts = [word.text for word in words]
    behind = list(zip(texts, words[1:], strict=False))
    names = [(flag, word) for flag, word in behind if flag in {"-name", "-iname"}]
    paths = tuple(word.text for flag, word in behind if flag in _PATHS or flag in {"-name", "-iname"})
    is_flat = ("-maxdepth", "1") in pairwise(texts)
    found = Found(starts, "", is_flat, "-empty" in texts, paths)
    if len(names) != 1 or not _EITHER.isdisjoint(texts) or "\0" in names[0][1].text or "/" in names[0][1].text:
        return found
    flag, word = names[0]
    either = "".join(f"[{sign.lower()}{sign.upper()}]" if sign.isalpha() else sign for sign in word.text)
    return found._replace(name=either if flag == "-iname" else word.text, paths=(word.text,))


def _predicate(call: Call, found: Found, rest: list[Word]) -> list[Word]:
    """One predicate of find; what is left behind it."""
    name = rest[0].text
    if name in _RUNS:
        end = next((at for at, word in enumerate(rest) if word.text in {";", "+"} and at > 1), len(rest))
        runs_on_found(call, found, rest[1:end])
        return rest[end + 1 :]
    if name == "-delete":
        _deletes(call, found)
        for start in found.starts:
            _take_away(call, found, start)
        _change(call, found)
    elif name in _WRITES and len(rest) > 1:
        call.use(rest[1], "write")
        return rest[2:]
    elif name in _READS and len(rest) > 1:
        call.use(rest[1], "read")
        return rest[2:]
    elif not rest[0].is_literal and rest[0].runs:
        call.raise_to("HIGH", "a predicate that is not known before it runs")
    return rest[1:]


def _deletes(call: Call, found: Found) -> None:
    """Names that a build makes again, a single name, or those of one folder alone can be had again; others cannot."""
    where = ", ".join(start.text for start in found.starts)
    made = all(is_made_again(start.text) for start in found.starts)
    if found.is_empty:
        call.raise_to("MEDIUM", f"deletes what is empty in {where}")
    elif not found.paths or any(not path.strip("*./?") for path in found.paths):
        call.raise_to("MEDIUM" if made else "HIGH", f"deletes all that it finds in {where}")
    else:
        again = made or all(any(is_made_again(part) for part in path.split("/")) for path in found.paths)
        few = bool(found.name) and (found.is_flat or not re.search(r"[*?\[]", found.paths[0]))
        what = " ".join(found.paths)
        call.raise_to("MEDIUM" if again or few else "HIGH", f"deletes what fits {what} in {where}")


def _take_away(call: Call, found: Found, start: Word) -> None:
    if found.name:
        call.takes_away(Word(found.files(start), start.raw, True, start.runs), all_of_it=True)
    else:
        call.takes_away(start)


def _change(call: Call, found: Found) -> None:
    """What is found is changed: each start must be a place to write below."""
    for start in found.starts:
        call.use(Word(f"{start.text}/{_FOUND}", start.raw, start.is_pattern, start.runs), "write")


def runs_on_found(call: Call, found: Found, command: list[Word]) -> None:
    """A command that runs for what is found, with it in the place of the braces."""
    if not command:
        return
    if "{}" in command[0].text:
        call.raise_to("HIGH", "runs the files that it finds")
    before, known = call.risk, len(call.scan.parts)
    for start in found.starts[:3]:
        call.run_words([_placed(word, found, start) for word in command])
    if any(part.deletes for part in call.scan.parts[known:]):
        _deletes(call, found)
        for start in found.starts if not found.name else ():
            _take_away(call, found, start)
    if call.risk not in {before, "LOW"}:
        _change(call, found)


def _placed(word: Word, found: Found, start: Word) -> Word:
    """A word of the command with what is found below the start in the place of the braces."""
    if "{}" not in word.text:
        return word
    text = word.text.replace("{}", found.files(start))
    return Word(text, word.raw, start.is_pattern or bool(re.search(r"[*?\[]", found.name)), start.runs)
