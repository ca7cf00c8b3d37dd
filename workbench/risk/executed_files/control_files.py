"""The options that let a file control what a program does that otherwise only reads or moves data.

`wget URL` downloads a URL that the line shows; `wget -i LIST` downloads whatever the list contains at that time. The
approval of such a line is bound to its files, as if it ran a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import words

_FLAGS: Final[dict[str, re.Pattern[str]]] = {
    "wget": lazy_pattern(r"-[a-zA-Z]*i|--(?:input-file|config|post-file|body-file|method|use-askpass)\b"),
    "curl": lazy_pattern(r"-[a-zA-Z]*[KT]|--(?:config|upload-file|variable)\b|-[dF]|--(?:data|form|json|url-query)\b"),
    "rsync": lazy_pattern(r"--(?:files|include|exclude)-from\b|--filter\b|-[a-zA-Z]*[fe]|--rsh\b|--(?:read|only)-"),
    "scp": lazy_pattern(r"-[a-zA-Z]*[FSo]"),
    "sftp": lazy_pattern(r"-[a-zA-Z]*[bFSo]"),
    "tar": lazy_pattern(
        r"-?[a-zA-Z]*[xTXI]|--(?:extract|get|files-from|exclude-from|to-command|use-compress-program)\b"
    ),
    "wc": lazy_pattern(r"--files0-from\b"),
    "du": lazy_pattern(r"--files0-from\b|-X|--exclude-from\b"),
    "sort": lazy_pattern(r"--files0-from\b|--compress-program\b"),
    "find": lazy_pattern(r"-files0-from\b"),
    "touch": lazy_pattern(r"-[a-z]*r|--reference\b"),
    "chmod": lazy_pattern(r"--reference\b"),
    "chown": lazy_pattern(r"--reference\b"),
    "split": lazy_pattern(r"--filter\b"),
    "gh": lazy_pattern(r"(?:--input|-F|--field|--body-file|--notes-file|-T)\b"),
}
"""Options, by program, whose file controls what the program reads, sends or writes."""
_ALWAYS: Final = words("patch unzip 7z cpio bsdtar bc dc")
"""Programs whose operands or input determine which files they write, or what they calculate or run."""
_GIT_READS: Final = words(
    "apply am checkout-index update-index fast-import unbundle mktree unpack-objects send-email --stdin "
    "--pathspec-from-file filter-repo replay"
)
"""Words of git that let a file or the input determine what is changed."""
_LISTS: Final = lazy_pattern(
    r"(?:--(?:arg-file|input-file|config(?:-file|-path)?|files0?-from|exclude-from|include-from|pathspec-from-file|"
    r"file|template|message-file|notes-file|description-file|logfile|input|body-file|post-file|template-file|cli-input-json|queries-file|changelog-file|env-file))(?:=(.*))?",
    re.DOTALL,
)
_SHORT: Final = {
    **dict.fromkeys(("xargs", "gxargs", "parallel"), "a"),
    **dict.fromkeys(("wget", "aria2c"), "i"),
    **dict.fromkeys(("gh", "glab", "svn"), "F"),
    "git": "Ft",
    "hg": "l",
    "curl": "K",
    **dict.fromkeys(("tar", "gtar", "bsdtar"), "TX"),
}
"""Letters of options whose value is a file with a list, settings or a commit message, by program."""
_INPUT: Final = lazy_pattern(r"(?<!<)<(?![<(&])\s*[\"']?([^\s\"'<>|;&()]+)")
_FED: Final = lazy_pattern(r"([^|;&\n]{1,300})\|(?!\|)")
_SUBSTITUTED: Final = lazy_pattern(r"(?:\$\(|`)\s*(?:<|(?:cat|head|tail|sort|grep|tac|uniq|shuf)\b)([^)`|;&\n]*)")
_TAKES_INPUT: Final = words(
    "xargs gxargs parallel patch git tar cpio rsync wget curl bc dc bash sh zsh dash ksh python python3 node perl ruby "
    "psql sqlite3 mysql mariadb duckdb redis-cli mongosh ssh at batch crontab chpasswd read mapfile readarray "
    "kubectl docker podman"
)


def is_steered(program: str, rest: Sequence[str]) -> bool:
    """Return whether a named file or the input controls what a program does that otherwise only reads or moves data."""
    if program in _ALWAYS:
        return True
    if program == "git":
        return not _GIT_READS.isdisjoint(rest[:12])
    flags = _FLAGS.get(program)
    if flags is None:
        return False
    first = rest[:1] if program == "tar" else []
    return any(flags.match(word) for word in rest if word.startswith("-") or word in first)


def lists_named(program: str, rest: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that name files from which the program reads a list, settings or a message."""
    letters = _SHORT.get(program, "")
    for word, following in pairwise((*rest, "")):
        if program == "gh" and "=@" in word:
            yield word.partition("=@")[2]
        if not word.startswith("-"):
            continue
        if match := _LISTS.fullmatch(word):
            yield match[1] or following
        if letters and (short := re.match(rf"-[a-zA-Z]*?[{letters}]", word)):
            yield word[short.end() :] or following
    if program == "parallel":
        yield from (following for word, following in pairwise((*rest, "")) if word.startswith("::::"))


def inputs_named(text: str, programs: Sequence[str]) -> Iterator[str]:
    """Yield the files whose content a line passes, as input or as arguments, to a program that acts on it."""
    for listed in _SUBSTITUTED.findall(text) if "$(" in text or "`" in text else ():
        yield from _names(listed)
    if _TAKES_INPUT.isdisjoint(programs):
        return
    yield from _INPUT.findall(text) if "<" in text else ()
    for listed in _FED.findall(text) if "|" in text else ():
        yield from _names(listed)


def _names(listed: str) -> Iterator[str]:
    for word in listed.split():
        if not word.startswith("-"):
            yield word.strip("\"'<")
