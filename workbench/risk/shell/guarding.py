"""Protected paths in the words of a call whose rule does not know what it writes; used by the call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.risk.shell.words import UNKNOWN, Word, literal

if TYPE_CHECKING:
    from workbench.risk.shell.call import Call

_COPIES = frozenset({"cp", "gcp", "ln", "install", "rsync", "scp"})
_GIT_READS = frozenset({"add", "commit", "diff", "log", "show", "blame", "stage"})
_LEAVES_OUT = re.compile(r"--?(?:exclude|ignore|skip|config|git-dir|work-tree|include|filter)|-[xcm]\Z|--message")
_ONLY_TEXT = frozenset(
    {"basename", "dirname", "true", "false", ":", "expr", "seq", "which", "whereis", "type", "man", "tr"}
)
OUTPUTS = frozenset(
    {
        *("-o", "-O", "--output", "--out", "--outfile", "--output-file", "--outdir", "--out-dir", "--output-dir"),
        *("--output-directory", "--dest", "--destination", "--target-dir", "--log-file", "--logfile", "--save"),
        *(
            "--save-to",
            "--export",
            "--dump",
            "--write-to",
            "--report-file",
            "--pack-destination",
            "--junitxml",
            "--outputFile",
        ),
    }
)
"""Flags that name what is written, in most programs."""
_CODE = frozenset({"perl", "ruby", "node", "php", "lua"})
_STRING = re.compile(r"""["']\s*[<>+|]*\s*([^"'\n]{2,200})["']""")
_HOOK_INSTALLERS = {"pre-commit": {"install", "uninstall"}, "lefthook": {"install", "uninstall"}, "git": {"lfs"}}
_HOLDS_PROTECTED = frozenset({".github", ".config"})
_MAKES_EMPTY = frozenset({"mkdir", "touch", "chmod", "rmdir"})


def guard_words(call: Call) -> None:
    """A call that is not LOW may write each path in its words: a protected one is asked about."""
    if call.risk == "LOW" and call.unread and call.name not in _ONLY_TEXT:
        _read_words(call)
    _written_words(call)
    if _installs_hooks(call):
        call.protected.append(f"{call.scan.folder or call.scan.places.workspace}/.git/hooks")
        call.raise_to("HIGH", "changes what git runs and keeps")
    if call.risk == "LOW" or (call.name == "git" and _verb(call) in _GIT_READS):
        return
    if call.reason.startswith(("reads ", "leaves ")):
        return
    changed = {*call.changes, *call.deletes}
    for text in _values(call):
        path = _path(call, text)
        if path is None or path in call.spared or (call.name in _COPIES and path in call.paths and path not in changed):
            continue
        if call.scan.places.protects(path) or _receives_protected(call, path):
            call.protected += [] if path in call.protected else [path]
            call.raise_to("HIGH", "may change a protected path")


def _installs_hooks(call: Call) -> bool:
    """Whether it writes hooks of git that it names nowhere."""
    if call.name == "git" and _verb(call) in {"init", "clone"}:
        return any(word.startswith("--templ") for word in call.said)
    if call.name == "husky":
        return True
    verbs = _HOOK_INSTALLERS.get(call.name, set())
    return _verb(call) in verbs and (call.name != "git" or not {"install", "update", "uninstall"}.isdisjoint(call.said))


def _written_words(call: Call) -> None:
    """What a flag calls an output is written, whatever the program; that matters where it lies outside."""
    for flag, value in zip(call.words, call.words[1:], strict=False):
        if flag.text in OUTPUTS and value.text[:1] in {"/", "~", "."} and call.risk != "HIGH":
            _written(call, value.text)
    for word in call.words:
        name, equals, text = word.text.partition("=")
        if equals and name in OUTPUTS:
            _written(call, text)


def _written(call: Call, text: str) -> None:
    path = _path(call, text) if UNKNOWN not in text else None
    if path is not None and call.scan.rating(path, "write")[0] == "HIGH":
        call.raise_to(*call.scan.rating(path, "write"))


def _read_words(call: Call) -> None:
    """Where the rule says nothing of its words, a path in them is read, for all that is known here."""
    for text in _values(call):
        if ("/" in text or text.startswith("~")) and "://" not in text:
            path = _path(call, text)
            risk, reason = call.scan.rating(path, "read") if path is not None else ("LOW", "")
            if risk != "LOW":
                call.raise_to(risk, reason)


def _verb(call: Call) -> str:
    said = call.said[3:] if call.said[1:2] == ("-C",) else call.said[1:]
    return said[0] if said else ""


def _receives_protected(call: Call, path: str) -> bool:
    return path.rstrip("/").rpartition("/")[2] in _HOLDS_PROTECTED and call.name not in _MAKES_EMPTY


def _path(call: Call, text: str) -> str | None:
    if text.startswith("~/"):
        text = f"{call.scan.places.home}{text[1:]}"
    return call.scan.absolute(literal(text)) if text else None


def _values(call: Call) -> Iterator[str]:
    before = ""
    for word in call.words:
        left_out = _LEAVES_OUT.match(before) or _LEAVES_OUT.match(word.text)
        if not left_out or (call.is_unknown and " " not in word.text):
            yield from _values_of(call, word)
        before = word.text


def _values_of(call: Call, word: Word) -> Iterator[str]:
    text = word.text
    if UNKNOWN in text:
        return
    if not text.startswith("-"):
        yield text
    elif not text.startswith("--"):
        yield text[2:]
    if "=" in text:
        yield text.partition("=")[2]
    if call.name in _CODE:
        yield from (found[1].strip() for found in _STRING.finditer(text))
