"""Rules for `find`, `fd` and `grep`: which files they find and what they do with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import ENTRY
from workbench.risk.paths import is_regenerable, within
from workbench.risk.programs.rule import Rule, words
from workbench.risk.protected_names import is_secret
from workbench.risk.reason import READS_SECRETS, Reason, Trait
from workbench.risk.shell.call import Call
from workbench.risk.symlink_patterns import TooManyMatches, descendant_symlinks
from workbench.risk.word import Word, literal

_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_READS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"})
_EITHER = frozenset({"-o", "-or", "-not", "!", "(", ")", ",", "-regex", "-iregex"})
_MOST_SYMLINKS = 20
"""The number of links leading elsewhere that are rated individually."""
_PATHS = frozenset({"-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"})


class FindQuery(NamedTuple):
    """Describes the files that `find` finds: the directories that it searches, and the names if they are certain."""

    starts: Sequence[Word]
    name: str = ""
    """A glob pattern for the names; empty if one pattern cannot describe them."""
    is_flat: bool = False
    """Whether it searches only the directories themselves, not their subdirectories."""
    is_empty: bool = False
    """Whether it finds only empty files and directories."""
    has_symlinks: bool = True
    """Whether it may find symbolic links, or follow them."""
    follows: bool = False
    """Whether it searches the directories to which links lead."""
    paths: tuple[str, ...] = ()
    """All patterns for paths or names, even if they are combined or negated."""

    def files(self, start: Word) -> str:
        """Return a path or pattern for the files found below the directory `start`."""
        directory = start.text.rstrip("/") or "/"
        return f"{directory}/{'' if self.is_flat or not self.name else '**/'}{self.name or ENTRY}"


def find(call: Call) -> None:
    """Rate `find` by its start directories and by each predicate that acts on files."""
    rest, starts = list(call.words), []
    follows = any(word.text in {"-L", "-follow"} for word in rest)
    while rest and (rest[0].text in {"-L", "-P", "-H"} or not rest[0].text.startswith(("-", "(", "!", ","))):
        word = rest.pop(0)
        starts += [word] if not word.text.startswith("-") else []
    for start in starts:
        call.use(start, "read")
    result = _entry(starts or [literal(".")], rest, follows=follows)
    while rest:
        rest = _predicate(call, result, rest)


def _entry(starts: Sequence[Word], words: Sequence[Word], *, follows: bool) -> FindQuery:
    strings = [word.text for word in words]
    behind = list(zip(strings, words[1:], strict=False))
    names = [(flag, word) for flag, word in behind if flag in {"-name", "-iname"}]
    paths = tuple(word.text for flag, word in behind if flag in _PATHS or flag in {"-name", "-iname"})
    is_flat = ("-maxdepth", "1") in pairwise(strings)
    has_symlinks = follows or ("-type", "f") not in pairwise(strings) or not _EITHER.isdisjoint(strings)
    result = FindQuery(starts, "", is_flat, "-empty" in strings, has_symlinks, follows, paths)
    if len(names) != 1 or not _EITHER.isdisjoint(strings) or "\0" in names[0][1].text or "/" in names[0][1].text:
        return result
    flag, word = names[0]
    either = "".join(f"[{sign.lower()}{sign.upper()}]" if sign.isalpha() else sign for sign in word.text)
    return result._replace(name=either if flag == "-iname" else word.text, paths=(word.text,))


def _predicate(call: Call, query: FindQuery, rest: list[Word]) -> list[Word]:
    """Rate one predicate of `find`, and return the words after it."""
    name = rest[0].text
    if name in _RUNS:
        end = next((at for at, word in enumerate(rest) if word.text in {";", "+"} and at > 1), len(rest))
        takes_all = [word.text for word in rest[end : end + 1]] == ["+"]
        runs_on_matches(call, query, rest[1:end], is_beside=name.endswith("dir"), takes_all=takes_all)
        return rest[end + 1 :]
    if name == "-delete":
        _deletes(call, query)
        for start in query.starts:
            _delete_start(call, query, start)
        _change(call, query)
    elif name in _WRITES and len(rest) > 1:
        call.use(rest[1], "write")
        return rest[2:]
    elif name in _READS and len(rest) > 1:
        call.use(rest[1], "read")
        return rest[2:]
    elif not rest[0].is_literal and rest[0].runs:
        call.raise_to("HIGH", Reason("a predicate only known at run time", Trait.UNCERTAIN))
    return rest[1:]


def _deletes(call: Call, query: FindQuery) -> None:
    """Rate deleting the files found: MEDIUM if builds recreate them, or if they are few or empty; otherwise HIGH."""
    where = ", ".join(start.text for start in query.starts)
    is_temporary = all(is_regenerable(start.text) for start in query.starts)
    if query.is_empty:
        call.raise_to("MEDIUM", f"deletes what is empty in {where}")
    elif not query.paths or any(not path.strip("*./?") for path in query.paths):
        call.raise_to("MEDIUM" if is_temporary else "HIGH", f"deletes all that it finds in {where}")
    else:
        again = is_temporary or all(any(is_regenerable(part) for part in path.split("/")) for path in query.paths)
        few = bool(query.name) and (query.is_flat or not re.search(r"[*?\[]", query.paths[0]))
        what = " ".join(query.paths)
        call.raise_to("MEDIUM" if again or few else "HIGH", f"deletes what fits {what} in {where}")


def _delete_start(call: Call, query: FindQuery, start: Word) -> None:
    if query.name:
        call.takes_away(Word(query.files(start), start.raw, True, start.runs), all_of_it=True)
    else:
        call.takes_away(start)


def _change(call: Call, query: FindQuery) -> None:
    """Rate changing the files found like writing below each start directory."""
    for start in query.starts:
        call.use(Word(f"{start.text}/{ENTRY}", start.raw, start.is_pattern, start.runs), "write")


def runs_on_matches(
    call: Call, query: FindQuery, command: list[Word], *, is_beside: bool = False, takes_all: bool = False
) -> None:
    """Rate a command that runs for each file found, with the file in place of `{}`.

    `is_beside` means that it runs in the file's directory, which may be in a separate repository; `takes_all`, that it
    gets all files at once.
    """
    if not command:
        return
    if "{}" in command[0].text:
        call.raise_to("HIGH", Reason("runs the files that it finds", Trait.RUNS))
    before, already = call.risk, len(call.inner)
    for start in query.starts[:3]:
        call.run_words([_placed(word, query, start, takes_all=takes_all) for word in command])
        _run_on_symlinks(call, query, start, command)
    call.unplaced |= is_beside and any(".." in word.text.split("/") for word in command)
    if any(part.deletes for part in call.inner[already:]):
        _deletes(call, query)
        for start in query.starts if not query.name else ():
            _delete_start(call, query, start)
    if is_beside and call.risk == "LOW":
        _run_beside(call, query, command)
    if call.risk not in {before, "LOW"}:
        _change(call, query)


def _run_on_symlinks(call: Call, query: FindQuery, start: Word, command: list[Word]) -> None:
    """Rate the command for each link that `find` finds and that leads out of the start directory."""
    path, context = call.scan.absolute(start) if query.has_symlinks else None, call.scan.context
    top = context.resolved(path or context.workspace)
    name = "*" if query.follows else query.name or "*"
    try:
        descendants = descendant_symlinks(top, context.workspace) if path and within(top, context.workspace) else ()
        symlinks = [link for link in descendants if fnmatchcase(link.rpartition("/")[2], name)]
    except TooManyMatches:
        call.raise_to("MEDIUM", "finds very many files, and maybe links to files elsewhere")
        return
    symlinks = [link for link in symlinks if not within(context.resolved(link), top)]
    if len(symlinks) > _MOST_SYMLINKS:
        call.raise_to("MEDIUM", "finds very many links to files elsewhere")
    for link in symlinks[:_MOST_SYMLINKS]:
        call.run_words([word._replace(text=word.text.replace("{}", link)) for word in command])


def _run_beside(call: Call, query: FindQuery, command: list[Word]) -> None:
    """Rate the command again, as if it ran in a directory below each start directory."""
    name = query.name or ENTRY
    words = [word._replace(text=word.text.replace("{}", f"./{name}")) for word in command]
    directory, scan = call.scan.directory, call.scan
    for start in query.starts[:3]:
        path = scan.absolute(start)
        scan.directory = None if path is None else f"{path}/{ENTRY}"
        call.run_words(words)
        scan.directory = directory


def _placed(word: Word, query: FindQuery, start: Word, *, takes_all: bool) -> Word:
    """Return a word of the command with the files found below `start` in place of `{}`."""
    if "{}" not in word.text:
        return word
    text = word.text.replace("{}", query.files(start))
    is_pattern = start.is_pattern or bool(re.search(r"[*?\[]", query.name))
    return Word(text, word.raw, is_pattern, start.runs, start.splits, takes_all)


_SECRET = lazy_pattern(r"token|secret|pass(?!ed|ing|es)|api_?key|credential|private|(?<![a-z])key", re.I)
_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})


def _grep(call: Call) -> None:
    """Rate grep: HIGH if it filters variables for a secret, as in `env | grep TOKEN`."""
    if (
        call.piped
        and any(_SECRET.search(word.text) for word in call.words)
        and any(Trait.PRINTS_VARIABLES in part.traits for part in call.scan.parts)
    ):
        call.raise_to("HIGH", "prints a secret")
    if any(is_secret(name) for name in _globs([word.text for word in call.words])):
        call.raise_to("HIGH", READS_SECRETS)


_GLOB_FLAGS = words("--include -g --glob --iglob --type-add -G --file-search-regex")


def _globs(strings: Sequence[str]) -> Iterator[str]:
    """Yield the globs of the files to search, without stars at their ends: `.env` for `--include=.env*`."""
    for before, text in pairwise(["", *strings]):
        flag, equals, value = text.partition("=")
        if text.startswith(("-g", "-G")) and not text.startswith("--") and len(text) > 2:
            yield text[2:].rstrip("*")
        elif flag in _GLOB_FLAGS and equals:
            yield value.rpartition(":")[2].rstrip("*")
        elif before in _GLOB_FLAGS:
            yield text.rpartition(":")[2].rstrip("*")


def _fd(call: Call) -> None:
    at = next((at for at, word in enumerate(call.words) if word.text in _FD_RUNS), None)
    command = call.words[at + 1 :] if at is not None else []
    if command:
        call.raise_to("MEDIUM", "runs a command for each file")
        operands = [word for word in call.words[:at] if not word.text.startswith("-")]
        # the value of an option before it may look like the pattern
        is_certain = bool(operands) and len(operands) == at and operands[0].text.isidentifier()
        name = f"*{operands[0].text}*" if is_certain else ""
        command += [] if any("{" in word.text for word in command) else [literal("{}")]
        takes_all = call.words[at or 0].text in {"-X", "--exec-batch"}
        runs_on_matches(call, FindQuery(operands[1:] or [literal(".")], name), command, takes_all=takes_all)


def _locate(call: Call) -> None:
    call.raise_to("MEDIUM", "looks at the names of all files")


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("grep egrep fgrep zgrep ugrep rg ag ack"), _grep),
    "find": find,
    "gfind": find,
    "fd": _fd,
    "fdfind": _fd,
    "locate": _locate,
}
