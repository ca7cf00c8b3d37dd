"""Matches rules against paths that an action reaches without naming them: through parent directories, globs, or
links.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePosixPath
from stat import S_ISREG
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import ENTRY, Part, mentioned, string_literals, words_in
from workbench.risk.paths import words
from workbench.risk.reason import Trait
from workbench.rules.command_forms import UNKNOWN
from workbench.rules.patterns import path_pattern
from workbench.rules.rule import Rule, is_list_of_arguments
from workbench.rules.rule_matching import is_at, is_in_force, real, runs
from workbench.rules.subject import Subject
from workbench.rules.whole_trees import READS_TREES, is_of_sources, only_asks, reads_tree

_DEEP_TOOLS: Final = READS_TREES | {"grep"}
_UNPACKS: Final = words("unzip 7z patch cpio bsdtar unar entr")
"""Programs whose files are named in an archive, a patch or their input."""
_SHOWS_GIT: Final = words("show diff whatchanged stash")
_SHOWS_WITH_FLAG: Final = words("log reflog diff-tree diff-index diff-files")
"""Verbs of git that show file contents only with a flag for patches; the verbs in `_SHOWS_GIT` always do."""
_DEEP_GIT: Final = (
    words("clean grep archive cat-file format-patch bundle checkout restore add clone worktree apply am reset switch")
    | words("read-tree fast-export rm range-diff pull merge rebase cherry-pick revert submodule update-index commit")
    | words("sparse-checkout bisect filter-branch filter-repo difftool mergetool rerere fast-import checkout-index mv")
    | words("subtree unpack-file hash-object replay unpack-objects")
    | _SHOWS_GIT
    | _SHOWS_WITH_FLAG
)
_OF_WHOLE_TREE: Final = words("apply am pull merge rebase cherry-pick revert sparse-checkout bisect fast-import")
"""Verbs of git that may write any file, and whose words are not files."""
_TAKES_ALL: Final = words("clone worktree bundle fast-export")
"""Verbs of git that copy the whole repository, whatever files their words may name."""
_ONLY_NAMES: Final = words("--stat --name-only --name-status --shortstat --numstat -s --no-patch --quiet --summary")
_PATCH: Final = lazy_pattern(
    r"-p|-u|-c|-m|-W|-U\d*|-L.*|--(?:patch|unified|diff-merges|word-diff|color-words)\b.*|--cc|--dd|--remerge-diff|"
    r"--binary|--function-context"
)
_PATHSPEC: Final = lazy_pattern(r":[/(!^]|.*[*?\[]")
"""Matches a word that git treats as a pattern for paths, or as a search in messages."""
_LISTED: Final = lazy_pattern(r"--(?:files0?-from|pathspec-from-file|arg-file|index-info|cacheinfo)\b")
_LISTED_BY: Final = {
    **dict.fromkeys(("tar", "gtar", "bsdtar"), "-T"),
    **dict.fromkeys(("zip", "7z"), "-@"),
    **dict.fromkeys(("xargs", "gxargs", "parallel"), "-a"),
}
"""Flags whose value is a list of files, by program; `_LISTED` matches those of any program."""
_SENDS_FILES: Final = words("curl http https xh aws")
"""Programs that send FILE for a word `@FILE`; this path is checked like any other."""
_COMMITS_CHANGED: Final = lazy_pattern(r"-(?:[A-Za-z]*[aip]\w*)|--(?:all|include|interactive|patch)")
_MESSAGE: Final = lazy_pattern(
    r"-[a-zA-Z]*[mFcCt]|--(?:message|file|author|date|reuse-message|reedit-message|template)"
)
_MOUNTS: Final = lazy_pattern(r"-v|--(?:volume|mount)\b")
_CONTAINERS: Final = words("docker podman nerdctl")
_DATA_BASES: Final = words("sqlite3 duckdb psql mysql gdb lldb")
"""Programs that take commands and file names together in one word."""
_TEXT_ONLY: Final = words(
    "echo printf true false : exit return sleep seq test [ [[ set shift kill wait read export declare local typeset "
    "readonly unset type which basename dirname expr date let"
)
"""Programs that open no files named in their words."""
_SEARCHES: Final = words("grep egrep fgrep rg ag ack sed gsed awk gawk mawk jq yq perl")
"""Programs whose first argument is a pattern, not a path."""
_ANOTHER_NAME: Final = lazy_pattern(r"/proc/[^/]+/(?:task/[^/]+/)?(?:cwd|root|fd)(?:/|\Z)|/dev/fd/(?!63\Z)")
"""Matches a path that is another name of an open file or directory; `<(…)` appears as descriptor 63, and its command is
rated.
"""
_ASSIGNMENT = lazy_pattern(r"\w+\+?=")
_MOST_WORDS, _MOST_PIECES = 200, 500
_CHARACTERS = lazy_pattern(r"[*?\[]")


def reaches(rule: Rule, subject: Subject) -> bool:
    """Return whether the action may touch paths of an `ask` or `deny` rule without naming them.

    A rule whose path starts with `**` has no fixed directory, so it is compared only with paths that the action may
    name.
    """
    if not rule.path or not is_in_force(rule, subject) or not subject.is_ruled_tool(rule.tool, rule.command):
        return False
    parts = [part for part in subject.parts if not rule.command or runs(rule, part)]
    if any(_is_unplaced(part) or _may_name(rule, part, subject) for part in parts):
        return True
    return takes_in(rule, subject)


def takes_in(rule: Rule, subject: Subject) -> bool:
    """Return whether the action touches paths of the rule by reading a whole directory, or all files that match a
    glob.
    """
    base = base_of(rule.path, subject)
    if not base:
        return False
    bases = {base.casefold(), real(base).casefold()}
    return any(
        _meets(path.casefold(), each, is_deep) for path, is_deep in _paths_taken(rule, subject) for each in bases
    )


def base_of(pattern: str, subject: Subject) -> str:
    """Return the path of a pattern up to its first wildcard; empty if the pattern starts with `**` or contains no
    directory.
    """
    if not pattern or pattern.startswith("**"):
        return ""
    whole = f"{subject.home}{pattern[1:]}" if pattern.startswith("~") else pattern
    whole = whole if whole.startswith("/") else f"{subject.workspace}/{whole}"
    plain: list[str] = []
    for part in PurePosixPath(whole).parts:
        if _CHARACTERS.search(part):
            break
        plain.append(part)
    base = os.path.normpath("/".join(plain).replace("//", "/"))
    return "" if base == "/" else base


def _paths_taken(rule: Rule, subject: Subject) -> Iterator[tuple[str, bool]]:
    """Yield the paths of an action, each with whether the action reads everything below it; only of matching commands
    if the rule has a command.
    """
    if not subject.is_shell and not rule.command:
        is_deep = subject.tool in _DEEP_TOOLS
        named = subject.paths or ((subject.workspace,) if is_deep else ())
        yield from ((path, is_deep) for one in named for path in {one, real(one)})
    for part in subject.commands:
        if rule.command and not runs(rule, part):
            continue
        is_deep = reads_tree(part) or _is_directory_of_code(part)
        named = (*part.paths, *_patterns(part), *(_trees_of(part, subject) if is_of_sources(part) else ()))
        named = named or ((subject.workspace,) if is_deep and not is_of_sources(part) else ())
        yield from (each for one in named for each in _forms(one, is_deep=is_deep))
        yield from (each for one in _taken_in_by_git(part, subject) for each in _forms(one, is_deep=True))


def _forms(path: str, *, is_deep: bool) -> Iterator[tuple[str, bool]]:
    """Yield the forms of a path, each with whether everything below it is read: normalized, real, and targets of
    matching links.

    A path with an unknown name (`ENTRY`) stands for everything in the directory above that name.
    """
    above, entry, _ = path.partition(f"/{ENTRY}")
    path = above or "/"
    yield from ((form, is_deep or bool(entry)) for form in {os.path.normpath(path), real(path)})
    if _CHARACTERS.search(path):
        yield from ((target, True) for target in _matched_symlinks(path))


def _matched_symlinks(pattern: str) -> Iterator[str]:
    """Yield the targets of links that a glob matches."""
    for path in islice(_matching(pattern.replace("[^", "[!")), _MOST_ENTRIES):
        target = real(path)
        if target != path:
            yield target


def _matching(pattern: str) -> Iterator[str]:
    """Yield the paths that a glob matches; none if part of it is unknown."""
    return iter(()) if UNKNOWN in pattern else glob.iglob(pattern)  # noqa: PTH207 - strings


def is_recursive(subject: Subject) -> bool:
    """Return whether the action opens all files below the directories that it names."""
    return any(map(reads_tree, subject.parts)) if subject.is_shell else subject.tool in _DEEP_TOOLS


def _trees_of(part: Part, subject: Subject) -> list[str]:
    """Return the existing paths that a formatter or linter names, or else the workspace; empty if it only prints
    help.
    """
    if only_asks(part):
        return []
    named = (path.removesuffix("/...") for path in candidates(part, part.words[1:]))
    return [path for path in named if os.path.exists(path)] or [subject.workspace]  # noqa: PTH110 - per word


def _is_directory_of_code(part: Part) -> bool:
    """Return whether the part is a call in Python code that names a directory, and so may read everything below it."""
    return not part.words and any(map(os.path.isdir, part.paths))


def _taken_in_by_git(part: Part, subject: Subject) -> list[str]:
    """Return the directories whose contents git shows or writes: those in its words, or else the workspace."""
    name, *rest = part.words or ("",)
    verb = next((word for word in rest if word in _DEEP_GIT), "") if name.rpartition("/")[2] == "git" else ""
    behind = rest[rest.index(verb) + 1 :] if verb else []
    if not verb or not _is_of_contents(verb, behind):
        return []
    if verb in _OF_WHOLE_TREE or any(_PATHSPEC.match(word) for word in _paths_of(verb, behind)):
        return [subject.workspace]
    if verb == "commit":
        behind = _without_messages(behind)
    if verb == "grep":
        behind = behind[next((at for at, word in enumerate(behind, 1) if not word.startswith("-")), 0) :]
    candidate_paths = candidates(part, behind)
    directories = [path for path in candidate_paths if os.path.isdir(path)]  # noqa: PTH112 - asked for each word
    if directories and verb not in _TAKES_ALL:
        return directories
    named = "--" in behind[:-1] or any(":" in word for word in behind)
    is_named = (named and verb != "clean") or any(os.path.lexists(path) for path in candidate_paths)
    return [] if is_named and verb not in _TAKES_ALL else [subject.workspace]


def _without_messages(behind: Sequence[str]) -> list[str]:
    """Return the words of `git commit` without the values of message options, which name no file."""
    return [word for before, word in zip(["", *behind], behind, strict=False) if not _MESSAGE.fullmatch(before)]


def _paths_of(verb: str, behind: Sequence[str]) -> Sequence[str]:
    """Return the words of a git command that may be paths; for `git grep`, only those after `--`."""
    if verb != "grep":
        return behind
    return behind[behind.index("--") :] if "--" in behind else ()


def _is_of_contents(verb: str, behind: Sequence[str]) -> bool:
    """Return whether a git command shows or writes the contents of files, not only their names; `behind` are the words
    after the verb.
    """
    is_patch = any(_PATCH.fullmatch(word) for word in behind)
    if verb in _SHOWS_WITH_FLAG:
        return is_patch
    if verb in {"checkout", "switch", "worktree"} and not {"-b", "-B", "-c", "-C", "list", "prune"}.isdisjoint(behind):
        return "add" in behind or sum(not word.startswith("-") for word in behind) > 1  # has a start point to check out
    if verb == "commit":
        plain = _without_messages(behind)
        return any(_COMMITS_CHANGED.fullmatch(word) or not word.startswith("-") for word in plain)
    if verb in _SHOWS_GIT:
        return is_patch or _ONLY_NAMES.isdisjoint(behind)
    return verb != "reset" or "--hard" in behind or "--merge" in behind or "--keep" in behind


def _patterns(part: Part) -> list[str]:
    """Return the words that are globs, as paths; the assessment may contain only some of the matching files."""
    if not part.words or part.words[0].rpartition("/")[2] in _TEXT_ONLY | _SEARCHES:
        return []
    return [path for path in candidates(part, part.words[1:]) if _CHARACTERS.search(path)]


def _is_unplaced(part: Part) -> bool:
    """Return whether the part may open a path that is unknown until it runs."""
    if part.unplaced or part.opaque == "*":
        return True
    name = part.words[0].rpartition("/")[2] if part.words else ""
    if name in _TEXT_ONLY:
        return False
    if name in _UNPACKS or (name in _CONTAINERS and any(_MOUNTS.match(word) for word in part.words)):
        return True
    if Trait.UNCERTAIN in part.traits:
        return True
    if any(_ANOTHER_NAME.search(path) for path in part.paths):
        return True
    listed = _LISTED_BY.get(name)
    return any(
        UNKNOWN in word
        or word == listed
        or _LISTED.match(word)
        or (name not in _SENDS_FILES and is_list_of_arguments(name, word))
        for word in part.words[1:]
    )


def _may_name(rule: Rule, part: Part, subject: Subject) -> bool:
    """Return whether a word that the risk analysis did not treat as a path may be a path of the rule."""
    if not part.directories:
        part = part._replace(directories=(subject.workspace,))
    operands = _operands(part)
    named = dict.fromkeys([*candidates(part, operands), *_in_input(part), *mentioned(part)])
    whole = _whole_directory(rule, subject)
    return any(is_at(rule, path, subject) or (whole and real(path) == whole) for path in named)


def _operands(part: Part) -> list[str]:
    """Return the words that may be paths: without a search pattern, and for a part without words, its text."""
    name, *operands = part.words or ("",)
    name = name.rpartition("/")[2]
    if not name:
        return [part.text] if part.risk == "HIGH" or _ASSIGNMENT.match(part.text) else []
    if name in _TEXT_ONLY:
        return []
    pattern = (
        next((word for word in operands if not word.startswith("-")), "")
        if name in _SEARCHES and part.risk != "HIGH"
        else ""
    )
    return [word for word in operands if word != pattern]


def _in_input(part: Part) -> list[str]:
    """Return the possible paths in the text that a command reads; those with a slash come first."""
    names = words_in(part.input)[:_MOST_ENTRIES] if part.risk == "HIGH" else string_literals(part.input)
    return candidates(part, sorted(dict.fromkeys(names), key=lambda name: "/" not in name))


def _whole_directory(rule: Rule, subject: Subject) -> str:
    """Return the directory if the rule names everything below one; otherwise an empty string."""
    directory = rule.path.removesuffix("**").rstrip("/")
    return real(base_of(directory, subject)) if directory != rule.path and not _CHARACTERS.search(directory) else ""


def candidates(part: Part, operands: Sequence[str]) -> list[str]:
    """Return every path that the words may contain: the words, and their parts after `-x`, `=`, `:` or `@`.

    Relative paths are given below each directory of the part. A dangerous command may run a word as a command line, so
    all paths within its words are included.
    """
    is_split = part.risk == "HIGH" or "".join(part.words[:1]).rpartition("/")[2] in _DATA_BASES
    names: dict[str, None] = {}
    for word in operands[:_MOST_WORDS]:
        pieces = [word[2:] if re.match(r"-\w", word) else word, *(word.partition(sign)[2] for sign in "=:@")]
        pieces.append(word.rpartition(":")[2])
        if is_split:
            pieces += words_in(word)[:_MOST_PIECES]
        names.update(dict.fromkeys(piece for piece in pieces if piece and len(piece) < _LONGEST and "\n" not in piece))
    return [
        name if name.startswith("/") else f"{directory}/{name}"
        for name in names
        for directory in part.directories or ("",)
    ]


_LONGEST: Final = 300


def _wide(pattern: str) -> str:
    """Return a wider glob in which bracket expressions, whose syntax differs in the shell, are replaced with `*`."""
    return re.sub(r"\[.*\]", "*", pattern)


def _meets(path: str, base: str, is_deep: bool) -> bool:
    """Return whether a path or glob may be at or below the base, or above it if `is_deep`."""
    mine, its = PurePosixPath(path).parts, PurePosixPath(base).parts
    if not all(one == other or fnmatchcase(other, _wide(one)) for one, other in zip(mine, its, strict=False)):
        return False
    return is_deep or (len(mine) >= len(its) and bool(_CHARACTERS.search(path)))


_MOST_ENTRIES: Final = 4_000
"""The number of directory entries that one search examines; if there are more, every hard link that is named
matches.
"""
_MOST_PATHS: Final = 200
_PASSED_OVER: Final = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})
"""Directories in which package managers and git themselves create hard links."""

Inode = tuple[int, int]


def linked_by(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """Return the first of the rules with a file that the action opens through another hard link; None if there is none.

    If a rule has too many files to check, it is returned for any file with several hard links that the action names.
    """
    rules = [rule for rule in rules if rule.path and not rule.command and is_in_force(rule, subject)]
    if not rules:
        return None
    paths = list(_named(subject))
    opened = set(filter(None, map(_linked, paths)))
    directories = [path for path in paths if os.path.isdir(path)] if is_recursive(subject) else []  # noqa: PTH112
    if not opened and not directories:
        return None
    return next((rule for rule in rules if _opens_one_of(rule, opened, directories, subject)), None)


def _named(subject: Subject) -> Iterator[str]:
    """Yield the paths that an action names or may name, with globs expanded."""
    words = (path for part in subject.parts for path in (*candidates(part, part.words[1:]), *mentioned(part)))
    for path in islice(dict.fromkeys((*subject.paths, *words)), _MOST_PATHS):
        is_pattern = any(sign in path for sign in "*?[")
        yield from islice(_matching(path), _MOST_PATHS) if is_pattern else (path,)


def _opens_one_of(rule: Rule, opened: set[Inode], directories: list[str], subject: Subject) -> bool:
    """Return whether a file of the rule has another hard link among the opened files or below the directories."""
    pattern = path_pattern(rule.path, subject.workspace, subject.home, descendants=True, folded=True)
    budget = iter(range(_MOST_ENTRIES))
    base = base_of(rule.path, subject) or subject.workspace
    files = [base] if os.path.isfile(base) else _files_under(base, budget)  # noqa: PTH113 - a string
    linked = {inode for path in files if pattern.fullmatch(path) and (inode := _linked(path))}
    if next(budget, None) is None or opened & linked:
        return bool(opened)
    under = (path for each in directories for path in _files_under(each, budget)) if linked else ()
    return any(not pattern.fullmatch(path) and _linked(path) in linked for path in under)


def _linked(path: str) -> Inode | None:
    """Return the device and inode of a regular file with more than one hard link, or None for anything else."""
    try:
        info = os.stat(path)  # noqa: PTH116 - asked for each path
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino) if info.st_nlink > 1 and S_ISREG(info.st_mode) else None


def _files_under(directory: str, budget: Iterator[int]) -> Iterator[str]:
    """Yield the paths of files below a directory until the budget of entries is used up."""
    directories = [directory]
    while directories:
        try:
            with os.scandir(directories.pop()) as entries:
                for entry in entries:
                    if next(budget, None) is None:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        directories += [entry.path] if entry.name not in _PASSED_OVER else []
                    else:
                        yield entry.path
        except OSError:
            continue
