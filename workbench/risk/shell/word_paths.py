"""Rates the words of a call as paths, whatever its program: outputs that options name, and protected paths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.reason import FOR_GIT, Reason, Trait, traits_of
from workbench.risk.shell.parser import MOST_PATHS, TooMuch
from workbench.risk.word import UNKNOWN, Word, literal

if TYPE_CHECKING:
    from workbench.risk.shell.call import Call

_COPIES = frozenset({"cp", "gcp", "ln", "install", "rsync", "scp"})
_GIT_READS = frozenset({"add", "commit", "diff", "log", "show", "blame", "stage"})
_LEAVES_OUT = lazy_pattern(r"--?(?:exclude|ignore|skip|config|git-dir|work-tree|include|filter)|-[xcm]\Z|--message")
_ONLY_TEXT = frozenset({"basename", "dirname", "true", "false", ":", "expr", "seq", "which", "whereis", "type"})
_ONLY_TEXT |= {"man", "tr"}
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
"""Flags that in most programs name an output file or directory."""
_CODE = frozenset({"perl", "ruby", "node", "php", "lua"})
_STRING = lazy_pattern(r"""["']\s*[<>+|]*\s*([^"'\n]{2,200})["']""")
_COMMANDED = frozenset({"sqlite3", "duckdb", "psql", "mysql", "mariadb", "ex", "vi", "vim", "nvim", "emacs", "gdb"})
_PATH = lazy_pattern(r"(?:[\w.~-]*/)+[\w.-]+")
_HOOK_INSTALLERS = {"pre-commit": {"install", "uninstall"}, "lefthook": {"install", "uninstall"}, "git": {"lfs"}}
_HOLDS_PROTECTED = frozenset({".github", ".config"})
_MAKES_EMPTY = frozenset({"mkdir", "touch", "chmod", "rmdir"})


def rate_words_as_paths(call: Call) -> None:
    """Rate the paths in the words: a call that is not LOW may write to each, and is HIGH if one is protected."""
    if call.risk == "LOW" and call.unread and call.name not in _ONLY_TEXT:
        _read_words(call)
    _written_words(call)
    if _installs_hooks(call):
        call.protected.append(f"{call.scan.directory or call.scan.context.workspace}/.git/hooks")
        call.raise_to("HIGH", FOR_GIT)
    is_reading = Trait.READS in traits_of(call.reason) or (call.name == "git" and _verb(call) in _GIT_READS)
    if is_reading or call.risk == "LOW":
        return
    stop_at_too_many(call)
    changed = {*call.changes, *call.deletes}
    for text in _values(call):
        path = _path(call, text)
        if path is None or path in call.spared or (call.name in _COPIES and path in call.paths and path not in changed):
            continue
        if call.scan.context.protects(path) or _receives_protected(call, path):
            call.protected += [] if path in call.protected else [path]
            call.raise_to("HIGH", Reason("may change a protected path", Trait.RUNS))


def stop_at_too_many(call: Call) -> None:
    """Raise TooMuch if the call has more paths than may be looked up, before looking up any of them."""
    values = filter(None, _values(call)) if len(call.words) > MOST_PATHS // 3 else ()
    if next(islice(values, MOST_PATHS, None), None) is not None:
        raise TooMuch


def _installs_hooks(call: Call) -> bool:
    """Return whether the call writes git hooks without naming them."""
    if call.name == "git" and _verb(call) in {"init", "clone"}:
        return any(word.startswith("--templ") for word in call.argv)
    if call.name == "husky":
        return True
    verbs = _HOOK_INSTALLERS.get(call.name, set())
    return _verb(call) in verbs and (call.name != "git" or not {"install", "update", "uninstall"}.isdisjoint(call.argv))


def _written_words(call: Call) -> None:
    """Rate the values of output flags as written, whatever the program."""
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
    """Rate paths among the words as read if the program's rule does not rate its words."""
    for text in _values(call):
        if ("/" in text or text.startswith("~")) and "://" not in text:
            path = _path(call, text)
            risk, reason = call.scan.rating(path, "read") if path is not None else ("LOW", "")
            if risk != "LOW":
                call.raise_to(risk, reason)


def _verb(call: Call) -> str:
    message = call.argv[3:] if call.argv[1:2] == ("-C",) else call.argv[1:]
    return message[0] if message else ""


def _receives_protected(call: Call, path: str) -> bool:
    return path.rstrip("/").rpartition("/")[2] in _HOLDS_PROTECTED and call.name not in _MAKES_EMPTY


def _path(call: Call, text: str) -> str | None:
    if text.startswith("~/"):
        text = f"{call.scan.context.home}{text[1:]}"
    return call.scan.absolute(literal(text)) if text else None


def _values(call: Call) -> Iterator[str]:
    before = ""
    for word in call.words:
        omitted = _LEAVES_OUT.match(before) or _LEAVES_OUT.match(word.text)
        if not omitted or (call.is_unknown and " " not in word.text) or call.name in _COMMANDED:
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
        yield from (match[1].strip() for match in _STRING.finditer(text))
    if (call.is_unknown or call.name in _COMMANDED) and " " in text:
        yield from _PATH.findall(text)
