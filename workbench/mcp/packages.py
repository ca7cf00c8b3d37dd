"""The packages that a launcher in a server's command runs: `uvx`, `npx`, `pipx run`, `pnpm dlx`, `deno run` and others.

Local code is compared before each start, however the command or its variables name it: packages, projects, lists of
requirements and the files that these name, indexes, directories of archives, and settings files. Downloaded code cannot
be compared; `unpinned` returns packages whose code may differ at the next start, because the command names no version.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.mcp.config import ServerConfig
from workbench.mcp.images import unpinned_images
from workbench.risk.paths import words

_NODE: Final = words("npx npm bunx pnpm pnpx yarn bun")
FETCHES: Final = _NODE | {"corepack"}
"""Launchers that prefer installed Node.js packages to a download."""
_LAUNCHERS: Final = words("uv uvx pipx deno hatch poetry pdm rye pixi cargo go") | _NODE
_VERBS: Final = words("run x exec dlx tool -- create task start serve")
"""Words between a launcher and the program or package that it runs."""
_PACKAGE: Final = words("--from --with --with-editable --editable --spec --package -p -w -e")
"""Options of launchers whose value is a package to run or to import from."""
_LIST: Final = words(
    "--with-requirements --requirements --requirement -r --overrides --override --constraints --constraint -c "
    "--build-constraints --build-constraint -b --excludes --lock --import-map --config --config-file --env-file "
    "--userconfig --globalconfig --preload --require --script-shell"
)
"""Options whose value is a file that names packages or loads code."""
_INDEX: Final = words("--index --default-index --index-url -i --extra-index-url --find-links -f --registry")
"""Options whose value is the source of packages: a URL, or a local directory."""
_PROJECT: Final = words("--directory --project --prefix --cwd --dir --path -C --manifest-path --pyproject")
"""Options whose value is the directory of the project to run, or a file in it."""
_VALUED: Final = (
    (_PACKAGE | _LIST | _INDEX | _PROJECT)
    | words("--python --cache-dir --extra --group --only-group --no-group --exclude-newer --color --link-mode -P")
    | words("--resolution --prerelease --index-strategy --refresh-package --reinstall-package --upgrade-package -F")
    | words("--config-setting --pip-args --backend --suffix --loglevel --cache --workspace --filter --node-options")
)
"""Options that are followed by a value."""
_FLAGS: Final = words(
    "-y -q -qq -v -A -n -- --yes --quiet --verbose --offline --isolated --no-cache --allow-all --silent"
)
"""Options without a value; a word after any other option may be the value of that option."""
_OF_LISTS: Final = {
    **dict.fromkeys(words("-r -c --requirement --constraint"), _LIST),
    **dict.fromkeys(words("-f -i --find-links --index-url --extra-index-url"), _INDEX),
}
"""Options in a list of requirements whose value is not a package."""
_SETTING: Final = lazy_pattern(r"(?:UV|PIP|PIPX|NPM_CONFIG|PNPM_CONFIG|YARN|BUN|DENO)_(\w+)", re.IGNORECASE)
"""Environment variables that set an option of a launcher, such as `UV_INDEX_URL` for `--index-url`."""
_EXTRAS: Final = lazy_pattern(r"\[[^\]]*\]$")
_LOCAL: Final = lazy_pattern(r"(?:git\+)?file:(?://)?|(?<=.)\s*@\s*(?=file:|[./~])|\A[\w.-]+=(?=file:|[./~])")
_IN_TEXT: Final = lazy_pattern(r"(?:git\+)?file:[^\s\"',;]+|(?<![\w.~/-])(?:\.{1,2}|~)?/[^\s\"',;]+")
_ARCHIVE: Final = (".whl", ".tar.gz", ".tgz", ".zip")
_INSIDE: Final = lazy_pattern(r"\s|[;&|]")
_MOST_LISTS: Final = 50
_LONGEST_LIST: Final = 1_000_000
_FIXED: Final = lazy_pattern(r"@v?\d[\w.+-]*(?:/|\Z)|[0-9a-f]{40}|sha(?:256|512)[=:-]")
_RELEASE: Final = lazy_pattern(r".(?:@v?|===?\s*(?:\d+!)?)\d[\w.+]*(?:\s*;.*)?\Z")
_SEMVER: Final = lazy_pattern(r".@v?\d+\.\d+\.\d+[\w.+-]*(?:/.*)?\Z")
_SOURCES: Final = (words("--spec --package -p"), frozenset({"--from"}))
"""Options that name the package of the program to run: those of all launchers except uv, then those of uv."""
_BESIDE: Final = words("--with -w")
_FETCHING: Final = {
    **dict.fromkeys(words("uvx npx bunx pnpx"), frozenset({""})),
    **dict.fromkeys(words("pnpm yarn"), frozenset({"dlx"})),
    "uv": frozenset({"tool", "run"}),
    "pipx": frozenset({"run"}),
    "npm": words("exec x"),
    "bun": frozenset({"x"}),
    "deno": words("run serve x"),
    "go": frozenset({"run"}),
}
"""Launchers that download packages to run, with the verbs that do so; `""` if no verb is needed."""


class Package(NamedTuple):
    """A local package, project, list of requirements, or index."""

    path: Path
    holds_archives: bool = False
    """Whether each of its files may be installed, not only those that look like code."""


class _Launch(NamedTuple):
    """A launcher in a command, and the words after it."""

    name: str
    rest: Sequence[str]
    """All words after the launcher, including those of the program that it runs."""
    own: Sequence[str]
    """The words up to and including the program or package that it runs: its own options."""
    verb: str
    operand: str
    """The program or package that it runs; empty if no word names one."""

    def values(self, options: frozenset[str], *, own: bool = False) -> list[str]:
        """Return the values of these options, with comma-separated lists split; with `own`, only the launcher's own."""
        words = self.own if own else self.rest
        return [value for each in _values(words, options) for value in each.split(",") if value]


def words_of(argv: Iterable[str]) -> Iterator[str]:
    """Yield each word, the value of `--name=value`, and the words of a shell command line."""
    for word in argv:
        yield word
        if word.startswith("-") and "=" in word:
            yield word.partition("=")[2]
            word = word.partition("=")[2]
        if _INSIDE.search(word) and len(word) < 10_000:
            try:
                yield from shlex.split(word)
            except ValueError:
                continue


def without_manager(argv: Sequence[str]) -> list[str]:
    """Return the command that corepack runs: `pnpm run x` for `corepack pnpm@9 run x`."""
    names = [Path(word).name.partition("@")[0] for word in argv[:2]]
    return [names[1], *argv[2:]] if names[:1] == ["corepack"] and len(names) > 1 and names[1] in _NODE else list(argv)


def local_packages(argv: Sequence[str], directory: str, variables: Mapping[str, str]) -> Iterator[Package]:
    """Yield the local packages and projects, as directories or files, that a launcher in the command runs.

    `directory` is the configured working directory, or empty; `variables` are those that the configuration sets.
    """
    launch = _launch(argv, variables)
    if launch is None or launch.name == "go":  # `go run` has no options for these
        return
    projects = launch.values(_PROJECT)
    bases = [base for base in (directory, *map(str, _local(projects, [directory]))) if base]
    for path in _local(projects, bases):
        path = path.parent if path.is_file() else path
        if not directory or path != Path(os.path.realpath(directory)):
            yield Package(path)
    yield from map(Package, _local([*launch.values(_PACKAGE), launch.operand], bases))
    for path in _local(launch.values(_INDEX, own=True), bases):
        yield Package(path, holds_archives=True)
    yield from _of_lists(list(_local(launch.values(_LIST, own=True), bases)), bases)


def unpinned(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the packages and URLs that the command downloads without naming a version, at most ten."""
    launch = _launch(argv, {})
    verbs = _FETCHING.get(launch.name, frozenset()) if launch else frozenset()
    if launch is None or not ("" in verbs or launch.verb in verbs):
        return ()
    named = launch.values(_SOURCES[launch.name in ("uv", "uvx")], own=True)
    lists = (each for each in launch.values(_LIST, own=True) if "://" in each)
    # the operand of `uv run` is a script or a program of the project, unless it is a URL
    is_own = (launch.name, launch.verb) == ("uv", "run") and "://" not in launch.operand
    packages = [*(named or [launch.operand] * (not is_own)), *launch.values(_BESIDE, own=True), *lists]
    is_open = (each for each in packages if _is_fetched(each, launch.name) and not _is_exact(each, launch.name))
    return tuple(dict.fromkeys(is_open))[:10]


def unpinned_notice(server: ServerConfig) -> str:
    """Return a line about the packages that the server's command downloads without naming a version; empty if none."""
    argv = (server.command, *server.args)
    missing = ((unpinned(argv), "downloaded without a version"), (unpinned_images(argv), "run without a digest"))
    lacking = "; ".join(
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {how}" for names, how in missing if names
    )
    return f"not pinned: {lacking}, so the code may differ" if lacking else ""


def _is_fetched(package: str, launcher: str) -> bool:
    if "://" in package:
        return not _LOCAL.match(package)
    if not package or package.startswith((".", "/", "~", "file:")) or _LOCAL.search(package):
        return False
    if launcher == "deno":
        return package.startswith(("npm:", "jsr:"))
    return "@" in package if launcher == "go" else not package.endswith((".py", ".pyz", *_ARCHIVE))


def _is_exact(package: str, launcher: str) -> bool:
    """Return whether a package is named with an exact version, or is a URL that contains a version, commit or hash."""
    if "://" in package or re.match("(?:github|gitlab|bitbucket|gist):", package):
        return bool(_FIXED.search(package))
    return bool((_RELEASE if launcher in ("uv", "uvx", "pipx") else _SEMVER).search(package))


def _launch(argv: Sequence[str], variables: Mapping[str, str]) -> _Launch | None:
    listed = [word for word in words_of(argv) if word]
    names = [Path(word).name.partition("@")[0] for word in listed]
    first = next((number for number, name in enumerate(names) if name in _LAUNCHERS), None)
    if first is None:
        return None
    rest = listed[first + 1 :]
    operands = list(_operands(rest))
    verb = rest[operands[0]] if operands and rest[operands[0]] in _VERBS else ""
    needs_verb = "" not in _FETCHING.get(names[first], ())
    others = [at for at in operands if not (needs_verb and rest[at] in _VERBS)]
    end = next((at for at in others if not at or _is_no_value(rest[at - 1])), len(rest))
    set_by = list(_of_variables(variables))
    operand = rest[others[0]] if others else ""
    return _Launch(names[first], [*set_by, *rest], [*set_by, *rest[: end + 1]], verb, operand)


def _of_variables(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the options that environment variables set, as `--name=value`; several values become several options."""
    for name, value in variables.items():
        if setting := _SETTING.fullmatch(name):
            option = f"--{setting[1].lower().replace('_', '-')}"
            yield from (f"{option}={each}" for each in value.split())


def _operands(rest: Sequence[str]) -> Iterator[int]:
    """Yield the offsets of the words that are neither options nor known to be values of options."""
    for at, (before, word) in enumerate(pairwise(("", *rest))):
        if not (word.startswith("-") or before in _VALUED or (before.startswith("-") and before.endswith(f"={word}"))):
            yield at


def _is_no_value(before: str) -> bool:
    """Return whether a word after this one is certainly not the value of an option."""
    return not before.startswith("-") or before in _FLAGS or "=" in before


def _values(rest: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    """Yield the values of these options, including those attached to a short option: `-w./dep`."""
    for word, after in pairwise((*rest, "")):
        name, equals, value = word.partition("=")
        if name in options:
            yield value if equals else after
        elif word.startswith("-") and not word.startswith("--"):
            at = next((at for at in range(1, min(len(word), 6)) if f"-{word[at]}" in options), 0)
            if at:
                yield word[at + 1 :].removeprefix("=") or after


def _of_lists(lists: list[Path], bases: Sequence[str]) -> Iterator[Package]:
    """Yield lists of requirements, and the lists, packages and indexes that they name."""
    visited: set[Path] = set()
    while lists and len(visited) < _MOST_LISTS:
        path = lists.pop()
        if path in visited:
            continue
        visited.add(path)
        yield Package(path)
        for name, options in _named_in(path):
            for local in _local([name], [*bases, str(path.parent)]):
                if options is _LIST:
                    lists.append(local)
                elif local.is_file() or (local / ".").is_dir():
                    yield Package(local, holds_archives=options is _INDEX)


def _named_in(path: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names in a list, each with the options that would take it as a value in a command."""
    try:
        text = path.read_bytes()[:_LONGEST_LIST].decode(errors="replace") if path.is_file() else ""
    except OSError:
        return
    for line in text.replace("\\\n", " ").splitlines():
        parts = line.partition(" #")[0].split() or [""]
        options = _OF_LISTS.get(parts[0].partition("=")[0]) or _OF_LISTS.get(line[:2])
        if options is not None:
            yield from ((value, options) for value in _values(parts, frozenset(_OF_LISTS)))
        elif parts[0].endswith(_ARCHIVE):
            yield parts[0], _PACKAGE
        yield from ((match.group(), _PACKAGE) for match in _IN_TEXT.finditer(line) if options is None)


def _local(names: Iterable[str], bases: Sequence[str]) -> Iterator[Path]:
    """Yield the real paths of the names that exist: `./pkg`, `file:../pkg`, `pkg @ ./pkg`, `./pkg[extra]`."""
    for name in filter(None, names):
        name = _EXTRAS.sub("", _LOCAL.split(name)[-1].strip())
        is_absolute = name.startswith(("/", "~"))
        for base in ["/"] if is_absolute else bases[-1:] if name in (".", "./") else bases:
            path = Path(base, name).expanduser()
            with suppress(OSError, ValueError, RuntimeError):
                if name and base and path.exists():
                    yield Path(os.path.realpath(path))
