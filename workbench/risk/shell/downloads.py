"""What one command of a line downloads and a later one runs; used by the scan when all parts are known."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Final

from workbench.risk.assessment import ANY, Part
from workbench.risk.paths import words

_FETCHES: Final = words("curl wget aria2c http https xh gh")
_RUNS: Final = re.compile(
    r"(?:sh|bash|zsh|dash|ksh|fish|python|pypy|perl|ruby|node|deno|bun|php|lua|source|\.|exec|open|java|Rscript|pwsh)[\d.]*"
)
_REASON: Final = "runs what was downloaded or decoded just before"
_DECODES: Final = re.compile(r"-[a-zA-Z]*[dDr][a-zA-Z]*|--dec\w*")
_DECODERS: Final = words("base64 base32 xxd openssl gpg uudecode")
_FETCH_VERBS: Final = {("pip", "download"), ("pip3", "download"), ("npm", "pack"), ("gem", "fetch"), ("gh", "release")}
_UNPACK: Final = words("tar gtar bsdtar unzip 7z 7za unrar unar cpio ar dpkg-deb gunzip")
_BUILD: Final = words("make gmake ninja cmake")
_ENCRYPTS: Final = words("age ccrypt gpg gpg2 openssl zip 7z 7za")
_ENCRYPTING: Final = re.compile(r"enc|-c|-e|-er|-re|--encrypt|--symmetric|--encrypt=.*|-P|-p\S*|-r")
_DELETE: Final = words("rm unlink shred srm wipe mv truncate")
_REPLACES: Final = "puts something encrypted in the place of files"
_PASS_ON: Final = words("tee sponge")


def runs_downloads(parts: Sequence[Part]) -> list[Part]:
    """The parts, HIGH where one runs a file that one before it fetched."""
    fetched: set[str] = set()
    found: list[Part] = []
    seen = unpacked = encrypted = False
    for part in parts:
        name = posixpath.basename(part.words[0]) if part.words else ""
        if name in _FETCHES or _decodes(part, name) or (name, *part.words[1:2]) in _FETCH_VERBS:
            seen = True
            fetched |= _targets(part)
        elif encrypted and name in _DELETE and part.deletes:
            part = part._replace(risk="HIGH", reason=_REPLACES)
        elif seen and name in _UNPACK:
            unpacked = True
        elif unpacked and (name in _BUILD or (part.paths and (_RUNS.fullmatch(name) or "/" in part.words[0]))):
            part = part._replace(risk="HIGH", reason=_REASON)
        elif seen and (not part.words or name in _PASS_ON):
            fetched.update(part.changes)
        elif fetched and _runs(part, name, fetched):
            part = part._replace(risk="HIGH", reason=_REASON)
        encrypted |= name in _ENCRYPTS and any(_ENCRYPTING.fullmatch(word) for word in part.words[1:4])
        found.append(part)
    return found


def _decodes(part: Part, name: str) -> bool:
    """Whether it prints what nobody could read before."""
    flags = {word for word in part.words[1:] if word.startswith("-")}
    return name in _DECODERS and (name == "uudecode" or any(_DECODES.fullmatch(flag) for flag in flags))


def _targets(part: Part) -> set[str]:
    """Where it puts what it fetches: as it is told, or by the name at the end of the address."""
    given = {path for path in (*part.changes, *part.paths) if not path.endswith(ANY)}
    folders = {path for path in given if posixpath.basename(path) in {"", "."}} | set(part.folders)
    names = {posixpath.basename(word.partition("?")[0]) for word in part.words[1:] if "://" in word}
    return given | {posixpath.normpath(f"{folder}/{name}") for folder in folders for name in names if name}


def _runs(part: Part, name: str, fetched: set[str]) -> bool:
    paths = {posixpath.normpath(path) for path in part.paths} & fetched
    return bool(paths) and (bool(_RUNS.fullmatch(name)) or "/" in part.words[0])
