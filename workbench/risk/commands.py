"""Rates a command line: the shell parser splits it into parts, and the rules for programs rate their words.

A part that runs what an earlier part of the line downloaded or decoded is HIGH.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from workbench.files.workspace_names import with_own_names
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import ANY, Assessment, Part, hides, not_plain, summed, with_hidden
from workbench.risk.paths import PathContext, is_regenerable, within, words
from workbench.risk.programs import rate
from workbench.risk.reason import PIPES_DOWNLOAD, Reason, Trait, failed, too_long
from workbench.risk.shell.origins import Origins
from workbench.risk.shell.parser import LONGEST
from workbench.risk.shell.scan import Scan, unread

_FETCHES: Final = words("curl wget aria2c http https xh gh")
_SHELLS: Final = words("sh bash zsh dash ksh fish")
_RUNS: Final = lazy_pattern(
    r"(?:sh|bash|zsh|dash|ksh|fish|python|pypy|perl|ruby|node|deno|bun|php|lua|source|\.|exec|open|java|Rscript|pwsh)[\d.]*"
)
_REASON: Final = Reason("runs what was downloaded or decoded just before", Trait.RUNS | Trait.DOWNLOADS)
_DECODES: Final = lazy_pattern(r"-[a-zA-Z]*[dDr][a-zA-Z]*|--dec\w*")
_DECODERS: Final = words("base64 base32 xxd openssl gpg uudecode")
_FETCH_VERBS: Final = {("pip", "download"), ("pip3", "download"), ("npm", "pack"), ("gem", "fetch"), ("gh", "release")}
_UNPACK: Final = words("tar gtar bsdtar unzip 7z 7za unrar unar cpio ar dpkg-deb gunzip")
_BUILD: Final = words("make gmake ninja cmake")
_ENCRYPTS: Final = words("age ccrypt gpg gpg2 openssl zip 7z 7za")
_ENCRYPTING: Final = lazy_pattern(r"enc|-c|-e|-er|-re|--encrypt|--symmetric|--encrypt=.*|-P|-p\S*|-r")
_DELETE: Final = words("rm unlink shred srm wipe mv truncate")
_REPLACES: Final = "replaces files with encrypted ones"
_PASS_ON: Final = words("tee sponge")
_DELETES_AGAIN: Final = "deletes again and again, also what appears later"


def assess_command(text: str, context: PathContext, directory: str | None = None) -> Assessment:
    """Rate a command line that starts in `directory` (default: the workspace); never raises."""
    try:
        return _assessed(text, context, directory or context.workspace)
    except Exception as error:  # noqa: BLE001 - no error here may let a command through
        return unread(failed(error), str(text), context)


def _assessed(text: str, context: PathContext, directory: str) -> Assessment:
    if len(text) > LONGEST:
        return unread(too_long(LONGEST), text, context)
    hidden = hides(text)
    parts = _parts(text, context, directory)
    if not hidden:
        return summed(parts)
    if not parts or any(Trait.UNREAD in part.traits for part in parts):
        return unread(hidden, text, context)
    return with_hidden(hidden, text, summed(not_plain(parts)))


def _parts(text: str, context: PathContext, directory: str) -> list[Part]:
    directory = context.placed(directory)
    scan = Scan(context.remembering(), directory, programs=rate)
    scan.run(text)
    doubtful = scan.origins.doubtful()
    if doubtful:
        scan = Scan(scan.context, directory, programs=rate)
        scan.origins = Origins(doubtful)
        scan.run(text)
    scan.parts += scan.origins.parts()
    if scan.context.symlinks:
        scan.parts = [_through_symlinks(part, scan.context) for part in scan.parts]
    if context.container_path:
        scan.parts = [_by_own_names(part, scan.context) for part in scan.parts]
    parts = runs_downloads(not_plain(scan.parts) if scan.sets else scan.parts)
    return _repeats_deletions(_with_piped_downloads(parts))


def _repeats_deletions(parts: list[Part]) -> list[Part]:
    """Return the parts; if the line repeats itself (a loop), deletions become HIGH, except those of build products.

    The backups that undo a deletion are made only once, before the line starts.
    """
    if not any(Trait.REPEATS in part.traits for part in parts):
        return parts
    return [
        part._replace(risk="HIGH", reason=_DELETES_AGAIN)
        if part.risk != "HIGH" and not all(map(is_regenerable, part.deletes))
        else part
        for part in parts
    ]


def _with_piped_downloads(parts: Sequence[Part]) -> list[Part]:
    """Return the parts; the reason of a shell that runs a pipe's code says so if the pipe contains a download."""
    result: list[Part] = []
    is_download = False
    for part in parts:
        runs_pipe = Trait.PIPED in part.traits
        name = posixpath.basename(part.words[0]) if part.words else ""
        if name and not part.is_substituted:
            is_download = name in _FETCHES or (is_download and (part.is_piped or runs_pipe))
        is_named = runs_pipe and is_download and name in _SHELLS
        result.append(part._replace(reason=PIPES_DOWNLOAD) if is_named else part)
    return result


def _through_symlinks(part: Part, context: PathContext) -> Part:
    """Return the part with the targets of its paths that lead through links made by the same line."""
    targets = [
        context.resolved(path) for path in part.paths if any(within(path, symlink) for symlink in context.symlinks)
    ]
    return part._replace(paths=tuple(dict.fromkeys((*part.paths, *targets)))) if targets else part


def _by_own_names(part: Part, context: PathContext) -> Part:
    """Return the part with the workspace's own path in place of its path in the container, for rules and backups."""

    def placed(paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(context.placed, paths)))

    def named(strings: Sequence[str]) -> tuple[str, ...]:
        return tuple(with_own_names(each, context.workspace, context.container_path) for each in strings)

    return part._replace(
        paths=placed(part.paths),
        deletes=placed(part.deletes),
        changes=placed(part.changes),
        protected=placed(part.protected),
        directories=placed(part.directories),
        words=named(part.words),
        mentions=named(part.mentions),
        redirects=named(part.redirects),
        input=named((part.input,))[0],
    )


def runs_downloads(parts: Sequence[Part]) -> list[Part]:
    """Return the parts; a part that runs a file that an earlier part downloaded or decoded becomes HIGH.

    So does a part that deletes files after an earlier part has encrypted some.
    """
    fetched: set[str] = set()
    result: list[Part] = []
    visited = unpacked = encrypted = False
    for part in parts:
        name = posixpath.basename(part.words[0]) if part.words else ""
        if name in _FETCHES or _decodes(part, name) or (name, *part.words[1:2]) in _FETCH_VERBS:
            visited = True
            fetched |= _targets(part)
        elif encrypted and name in _DELETE and part.deletes:
            part = part._replace(risk="HIGH", reason=_REPLACES)
        elif visited and name in _UNPACK:
            unpacked = True
        elif unpacked and (name in _BUILD or (part.paths and (_RUNS.fullmatch(name) or "/" in part.words[0]))):
            part = part._replace(risk="HIGH", reason=_REASON)
        elif visited and (not part.words or name in _PASS_ON):
            fetched.update(part.changes)
        elif fetched and _runs(part, name, fetched):
            part = part._replace(risk="HIGH", reason=_REASON)
        encrypted |= name in _ENCRYPTS and any(_ENCRYPTING.fullmatch(word) for word in part.words[1:4])
        result.append(part)
    return result


def _decodes(part: Part, name: str) -> bool:
    """Return whether the part decodes or decrypts something."""
    flags = {word for word in part.words[1:] if word.startswith("-")}
    return name in _DECODERS and (name == "uudecode" or any(_DECODES.fullmatch(flag) for flag in flags))


def _targets(part: Part) -> set[str]:
    """Return the paths to which the part may save a download, by its flags or the last name in the URL."""
    named_paths = {path for path in (*part.changes, *part.paths) if not path.endswith(ANY)}
    directories = {path for path in named_paths if posixpath.basename(path) in {"", "."}} | set(part.directories)
    names = {posixpath.basename(word.partition("?")[0]) for word in part.words[1:] if "://" in word}
    return named_paths | {
        posixpath.normpath(f"{directory}/{name}") for directory in directories for name in names if name
    }


def _runs(part: Part, name: str, fetched: set[str]) -> bool:
    paths = {posixpath.normpath(path) for path in part.paths} & fetched
    return bool(paths) and (bool(_RUNS.fullmatch(name)) or "/" in part.words[0])
