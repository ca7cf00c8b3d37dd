"""The files that decide what a server on this machine runs: its program, its script; hashed, so that they are pinned.

Covered are the program itself (by its content where you can write it, else by its path), a script or directory that a
word of the command names, a module behind `-m`, words inside `sh -c`, and what `npx` prefers in its directory. What a
launcher fetches from a registry has no file beforehand: its package stands in the command, which is another server
when it changes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

MOST_FILES = 200
_CODE = re.compile(
    r"\.(?:py[wzc]?|[cm]?[jt]sx?|rb|pl|php|lua|tcl|r|jl|sh|bash|zsh|fish|ps1|exs?|jar|war|wasm|dll|so|go|rs|csx?|kts?|whl)$",
    re.IGNORECASE,
)
_RUNS_A_WORD = re.compile(
    r"(?:python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|julia|java|bash|sh|dash|zsh|ksh|fish|uv|"
    r"tclsh|dotnet|env)[\d.]*(?:\.exe)?"
)
_FETCHES = ("npx", "npm", "bunx", "pnpm", "pnpx", "yarn", "bun")
_IN_A_DIRECTORY = ("__main__.py", "package.json", "index.js", "index.mjs", "pyproject.toml", "deno.json", "Cargo.toml")
_INSIDE = re.compile(r"\s|[;&|]")


def started_files(argv: Sequence[str], folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """What stands in each of these files, by its real path; `folder` is empty for a server without one of its own."""
    program = _program(argv[0], folder, env)
    found: dict[str, str] = {}
    if program:
        real = os.path.realpath(program)
        found[program] = _digest(real) if os.access(real, os.W_OK) else f"is {real}"
    for path in _named(argv, folder, env):
        if len(found) < MOST_FILES:
            found.setdefault(path, _digest(path))
    return found


def _program(word: str, folder: str, env: Mapping[str, str]) -> str:
    if os.sep in word:
        return os.path.abspath(Path(folder, word)) if folder or Path(word).is_absolute() else ""  # noqa: PTH100 - keeps links
    return shutil.which(word, path=env.get("PATH")) or ""


def _named(argv: Sequence[str], folder: str, env: Mapping[str, str]) -> Iterator[str]:
    """The files that the words behind the program name."""
    words = list(_words(argv[1:]))
    bases = [
        each for each in (folder, *(str(Path(folder, word)) for word in words if _is_folder(folder, word))) if each
    ]
    runs_a_word = bool(_RUNS_A_WORD.fullmatch(Path(argv[0]).name))
    first = next((word for word in words if not word.startswith("-")), "") if runs_a_word else ""
    for word in words:
        for base in bases or ["/"]:
            path = Path(base, word).expanduser()
            if (folder or Path(word).is_absolute()) and _is_code(path, is_run=word == first):
                yield os.path.realpath(path)
    for base in bases:
        yield from _inside(Path(base), with_parts=base != folder or first in (".", "./"))
    yield from _modules(words, [*bases, *env.get("PYTHONPATH", "").split(os.pathsep)])
    if Path(argv[0]).name in _FETCHES and folder:
        yield from _preferred(words, Path(folder))


def _words(words: Sequence[str]) -> Iterator[str]:
    """Each word, the value of `--name=value`, and the words inside of a line for a shell."""
    for word in words:
        yield word
        if word.startswith("-") and "=" in word:
            yield word.partition("=")[2]
        elif _INSIDE.search(word) and len(word) < 10_000:
            try:
                yield from shlex.split(word)
            except ValueError:
                continue


def _is_folder(folder: str, word: str) -> bool:
    return bool(word) and (bool(folder) or Path(word).is_absolute()) and Path(folder, word).is_dir()


def _is_code(path: Path, *, is_run: bool) -> bool:
    """Whether it is a file that is run: data that changes from day to day must not count."""
    try:
        if not path.is_file():
            return False
        if is_run or _CODE.search(path.name) or os.access(path, os.X_OK):
            return True
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except (OSError, ValueError):
        return False


def _inside(folder: Path, *, with_parts: bool) -> Iterator[str]:
    """What makes a program of a directory."""
    if with_parts:
        yield from (os.path.realpath(folder / name) for name in _IN_A_DIRECTORY if (folder / name).is_file())


def _modules(words: Sequence[str], places: Sequence[str]) -> Iterator[str]:
    """The files of `-m MODULE`."""
    for word, after in pairwise(words):
        if word == "-m" and after.replace(".", "").replace("_", "").isalnum():
            parts = after.replace(".", os.sep)
            for place in filter(None, places):
                files = (
                    Path(place, f"{parts}.py"),
                    Path(place, parts, "__init__.py"),
                    Path(place, parts, "__main__.py"),
                )
                yield from (os.path.realpath(each) for each in files if each.is_file())


def _preferred(words: Sequence[str], folder: Path) -> Iterator[str]:
    """What a launcher of packages takes from its directory, or one above it, before it fetches anything."""
    names = {re.sub(r"(?<=.)@.*", "", word) for word in words if not word.startswith("-")}
    for place in (folder, *folder.parents):
        files = [place / ".npmrc", *(place / "node_modules" / ".bin" / Path(name).name for name in names if name)]
        yield from (os.path.realpath(each) for each in files if each.is_file())


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
