"""Project files that a program may read as code although no argument names them as code.

These are the sources of a build or a test run, settings files named after the program, and all other files that the
command line mentions.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.executed_files.directories import files_under
from workbench.risk.executed_files.finder import LOADED_ENDINGS, Finder
from workbench.risk.executed_files.installed_packages import node_package, programs_of, settings_of
from workbench.risk.executed_files.lookup import SYSTEM, VARIABLE_DIRECTORY, Bases
from workbench.risk.executed_files.output_files import is_output
from workbench.risk.executed_files.source import CODE_ENDINGS, commands_in, paths_named, state_of
from workbench.risk.paths import within, words

_MOST_TREE_ENTRIES: Final = 20_000
"""The number of directory entries that are examined for the sources of a build."""
_MOST_NEARBY_ENTRIES: Final = 4_000
_MOST_DIRECTORY_ENTRIES: Final = 2_000
_MOST_TREE_FILES: Final = 200
"""The number of files of a tree that are hashed individually; the others share one hash."""
REST: Final = "/…"
"""The end of the path under which the other files of a tree share one hash."""
_MOST_NAMED: Final = 300
DATA_ENDINGS: Final = (
    ".log", ".csv", ".tsv", ".parquet", ".db", ".sqlite", ".sqlite3", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf",
    ".mp3", ".mp4", ".wav", ".avi", ".mov", ".pyc", ".md", ".rst", ".txt~",
)  # fmt: skip
"""Endings of files that are rarely code and change often; the script of an interpreter is included anyway."""
_TRANSIENT: Final = (
    *DATA_ENDINGS, ".o", ".out", ".swp", ".swx", ".tmp", "~", ".coverage", ".DS_Store", ".lock", ".pid", ".sock",
    "-wal", "-shm", "-journal",
)  # fmt: skip
"""Endings of files that programs rarely read without being told to; editors and tests write some of them at any
time.
"""
_PROSE: Final = lazy_pattern(
    r"(?:readme|licen[cs]e|copying|copyright|authors|contributors|contributing|changelog|changes|news|notice|todo|"
    r"notes?|codeowners|maintainers|thanks|faq|security|code_of_conduct)(?:[.-]\w+)?\Z",
    re.IGNORECASE,
)
"""Names of documents for human readers, with any ending."""
_TREE_ENDINGS: Final = (
    *CODE_ENDINGS,
    *(
        ".t",
        ".pm",
        ".erl",
        ".hrl",
        ".clj",
        ".cljs",
        ".fs",
        ".fsproj",
        ".csproj",
        ".vbproj",
        ".sln",
        ".props",
        ".targets",
    ),
    *(".smk", ".nf", ".wdl", ".cwl", ".star", ".cue", ".rego", ".jsonnet", ".libsonnet", ".hcl", ".bicep", ".dhall"),
    *(".pbxproj", ".neon", ".nimble", ".rockspec", ".opam", ".cake", ".dart", ".fsx", ".csx", ".nims", ".rkt", ".lisp"),
    *(
        ".jake",
        ".thor",
        ".do",
        ".templ",
        ".cr",
        ".v",
        ".ebuild",
        ".psm1",
        ".psd1",
        ".bat",
        ".cmd",
        ".ino",
        ".adb",
        ".src",
        ".conf",
        ".recipe",
    ),
    *(".ninja", ".m", ".tex", ".sty", ".cls", ".bats", ".bash", ".class"),
    *(
        ".cabal",
        ".proto",
        ".nix",
        ".tf",
        ".tfvars",
        ".bzl",
        ".feature",
        ".robot",
        ".sql",
        ".graphql",
        ".vue",
        ".svelte",
    ),
    *(".yml", ".yaml", ".toml", ".json", ".ini", ".cfg", ".xml", ".properties", ".mod", ".sum", ".gemspec", ".ru"),
    ".prisma",
    *("/CMakeLists.txt", "/meson.build"),
    *(
        f"/{name}.lock"
        for name in words(
            "flake Cargo Gemfile poetry uv pdm pixi Pipfile composer mix pubspec Podfile deno bun yarn Chart "
            "requirements devbox shard rebar renv MODULE.bazel conan stack.yaml Berksfile buf nimble luarocks mise"
        )
    ),
)
TREE_PROGRAMS: Final = words(
    "go cargo cross dotnet mvn gradle sbt mill lein swift xcodebuild zig stack cabal dune mix rebar3 gleam rspec "
    "cucumber minitest rails bundle prove phpunit pest artisan composer behave robot nose2 unittest alembic "
    "scrapy flask django-admin celery locust sphinx-build sphinx-autobuild mkdocs jekyll hugo eleventy nextflow "
    "snakemake dvc dbt bazel bazelisk buck pants please pulumi cdk sam serverless sls nix nix-build nix-shell "
    "nix-env devbox devenv act ansible-playbook ansible molecule jest vitest mocha ava tap jasmine karma "
    "playwright cypress hardhat truffle forge knex prisma sequelize typeorm lerna nx turbo rush meson ninja cmake "
    "ctest scons waf tox nox hatch-build build flit maturin cibuildwheel terraform tofu terragrunt skaffold tilt "
    "dbmate goose flyway liquibase sqitch atlas matlab npx pnpx bunx b2 chef-client julia pm2 "
    "jake xmake xrepo premake5 wasm-pack grunt gulp moon bb boot iex nim bjam redo gn qmake qbs autoreconf autoconf "
    "automake gyp node-gyp bld buildr jpm raco busted dzil R circleci gitlab-runner gitlab-ci-local mage templ zola "
    "chalice hivemind rackup puma sidekiq whenever sui west pio idf.py arduino-cli bitbake debuild dpkg-buildpackage "
    "makepkg abuild guix vcpkg alr gprbuild lime openfl bmake pmake mk ghc pwsh coqc utop Build clj clojure Rscript "
    "earthly dagger helm kustomize jbuilder v nimble crystal shards dart flutter elm spago latexmk pdflatex "
    "xelatex lualatex latex bats make gmake rake doit invoke inv fab just task poe taskipy kedro dagster mlflow "
    "fastlane msbuild nuke cap capistrano guard thor phpstan psalm rector phpcs phpcbf php-cs-fixer ecs deptrac "
    "infection behat codeception codecept luarocks cpanm opam streamlit chainlit next nuxt nuxi astro gatsby "
    "docusaurus remix storybook histoire ladle wrangler svelte-kit vite-node "
)
"""Programs that build, test or run the tree in which they are started."""
_TREE_VERBS: Final = {
    "deno": words("test bench task run serve check"),
    "bun": words("test run"),
    "node": words("--test --watch"),
    "npm": words("test t tst start run run-script ci install i add rebuild exec x explore pack publish"),
    "pnpm": words("test t start run install i -r add rebuild exec dlx pack publish"),
    "yarn": words("test start run install workspace workspaces"),
    **dict.fromkeys(words("uvx pipx"), words(". --from ./")),
    **dict.fromkeys(words("uv pip pdm poetry hatch rye"), words("build install sync run")),
    **dict.fromkeys(words("kubectl oc"), words("-k --kustomize")),
    "docker": words("build buildx bake bud compose up"),
}
"""Verbs with which other programs build, test or run the tree."""
_SECTION: Final = lazy_pattern(r"^[ \t]*\[", re.MULTILINE)
_OFTEN_SET: Final = words("branch user color advice init pull rerere status column maintenance")
"""Sections of git's settings that neither run commands nor name URLs."""
_VALUES: Final = lazy_pattern(r"^[ \t]*(?:\[[^\]\n]*\][ \t]*)?[\w-]+[ \t]*=[ \t]*\"?([^\n]{1,1000})", re.MULTILINE)
_HOOKS_PATH: Final = lazy_pattern(r"\bhookspath[ \t]*=[ \t]*\"?([^\s\"]+)", re.IGNORECASE)
_SUBMODULE: Final = lazy_pattern(r"^[ \t]*path[ \t]*=[ \t]*\"?([^\n\"]{1,200})", re.MULTILINE)
_MOST_VALUES: Final = 200
_LONGEST_SETTINGS: Final = 200_000
_AWK_LOADS: Final = lazy_pattern(r"-[li](.+)?|--(?:load|include)(?:=(.*))?", re.DOTALL)
_AWK_DIRECTIVE: Final = lazy_pattern(r"@(?:load|include)\s+\"([^\"\n]+)\"")
_SEPARATORS: Final = lazy_pattern(r"[\s;&|(){}<>`\"'=,:]+")
_VARIABLE: Final = lazy_pattern(r"\$(?:\{\w+\}|\w+)/")


def is_tree_program(program: str, rest: Sequence[str]) -> bool:
    """Return whether a program with these arguments may read any file of the project."""
    return program in TREE_PROGRAMS or not _TREE_VERBS.get(program, frozenset()).isdisjoint(rest[:4])


def add_nearby(finder: Finder, rest: Sequence[str], bases: Bases) -> None:
    """Add the nearest source files, for an unknown program that may read any of them."""
    was_cut = finder.is_cut
    add_tree(finder, rest, bases, 0, entries=_MOST_NEARBY_ENTRIES)
    finder.is_cut = was_cut


def add_tree(finder: Finder, rest: Sequence[str], bases: Bases, depth: int, *, entries: int = 0) -> None:
    """Add the sources below the working directory, and below directories that arguments name.

    `entries` is the number of directory entries to examine; 0 means the default.
    """
    directory = bases[0]
    named = [path for word in rest if not word.startswith("-") for path in _directories(word, directory)]
    search = (f"tree of {entries}", "\0".join([directory, *named]))
    if search in finder.searched:  # `npm test` and the script that it runs work on the same tree
        return
    finder.searched.add(search)
    budget = iter(range(entries or _MOST_TREE_ENTRIES))
    remaining = iter(range(_MOST_TREE_FILES))
    rest_of_tree = hashlib.sha256()
    for top in dict.fromkeys([directory, *named] if directory != finder.workspace or named else [directory]):
        for path in files_under(top, finder.pending, budget):
            if not _may_be_code(path, top) or is_output(path, top):
                continue
            if next(remaining, None) is None:
                rest_of_tree.update(_state(finder, path))
                continue
            finder.in_tree = True
            finder.add(path, bases, depth)
            finder.in_tree = False
    finder.is_cut = finder.is_cut or next(budget, None) is None
    if next(remaining, None) is None:
        finder.files[f"{directory}{REST}"] = rest_of_tree.hexdigest()[:32]


def _may_be_code(path: str, top: str) -> bool:
    """Return whether a program that works on a tree may read a file of it as code, judging by its name.

    Files without an ending may be code anywhere, and files of any name in the directory where the program is started.
    """
    directory, _, name = path.rpartition("/")
    if path.lower().endswith(_TREE_ENDINGS) or path.endswith(_TREE_ENDINGS):
        return True
    return ("." not in name[1:] or directory == top) and not (name.endswith(_TRANSIENT) or _PROSE.match(name))


def _state(finder: Finder, path: str) -> bytes:
    """Return a line that identifies the state of one file in a large tree; empty if an earlier action will write the
    file.
    """
    source = None if path in finder.pending else state_of(path)
    return f"{path}\0{source.digest}\n".encode(errors="surrogateescape") if source else b""


def add_git_settings(finder: Finder, bases: Bases, depth: int, git_directory: str = ".git") -> None:
    """Add a repository's settings, which name programs and URLs, without the sections that change often.

    The list of its submodules is always added, because it names URLs too.
    """
    for directory in _with_parents(bases[0]):
        finder.program(".gitmodules", (directory,), depth)
        git, common = _git_directories(finder, directory, git_directory)
        path = f"{common}/config"
        text = finder.pending.get(path) or start_of(path)
        if text:
            steering = _steering(text)
            finder.files[path] = hashlib.sha256(steering.encode(errors="replace")).hexdigest()[:32]
            for settings in (steering, *_settings_of_user()):
                add_git_values(finder, settings, (directory, git), depth)
            finder.program(f"{git}/config.worktree", (directory,), depth)
            return


def add_git_values(finder: Finder, settings: str, bases: Bases, depth: int) -> None:
    """Add the files that values in git's settings name or run: aliases, filters, pagers, hooks, included settings."""
    for name in paths_named(settings):
        finder.program(name, bases, depth)
    for name in _HOOKS_PATH.findall(settings):
        finder.program(f"{name.rstrip('/')}/*", bases, depth, "shell")
    values = (value.lstrip("!") for value in islice(_VALUES.findall(settings), _MOST_VALUES))
    finder.commands((words for value in values for words in commands_in(value)), bases, bases, depth + 1)


def _settings_of_user() -> Iterator[str]:
    """Yield the git settings of the user and the system; relative programs in them are relative to the repository."""
    xdg = os.environ.get("XDG_CONFIG_HOME") or f"{Path.home()}/.config"
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    for path in (named,) if named else (f"{Path.home()}/.gitconfig", f"{xdg}/git/config", "/etc/gitconfig"):
        yield _steering(start_of(path))


def _with_parents(directory: str) -> Iterator[str]:
    """Yield a directory and all its parents; the workspace may be a subdirectory of a larger repository."""
    directory = os.path.normpath(directory)
    yield directory
    while directory.strip("/"):
        directory = os.path.dirname(directory)  # noqa: PTH120 - strings
        yield directory


def _git_directories(finder: Finder, directory: str, name: str) -> tuple[str, str]:
    """Return the git directory of a work tree, and the git directory that it shares with other work trees."""
    git = os.path.normpath(os.path.join(directory, name))  # noqa: PTH118 - strings
    if name == ".git" and not finder.lookup.may_have(name, (directory,)):
        return git, git
    pointed = finder.pending.get(git) or start_of(git)
    if pointed.startswith("gitdir:"):  # `.git` is a file in worktrees and submodules
        git = os.path.normpath(os.path.join(directory, pointed.removeprefix("gitdir:").strip()))  # noqa: PTH118
    common = start_of(f"{git}/commondir").strip()
    return git, os.path.normpath(os.path.join(git, common)) if common else git  # noqa: PTH118


def add_git_directories(finder: Finder, rest: Sequence[str], bases: Bases, depth: int) -> None:
    """Add the templates, settings and programs in directories that git's options name."""
    for word, value in pairwise((*rest[:12], "")):
        if word.startswith("--template"):
            add_directory(finder, word.partition("=")[2] or value, bases, depth)
        elif word.startswith("--git-dir"):
            add_git_settings(finder, bases, depth, word.partition("=")[2] or value)
        elif word.startswith("--exec-path="):
            finder.program(f"{word.partition('=')[2]}/git-*", bases, depth)


def add_hooks(finder: Finder, bases: Bases, depth: int) -> None:
    """Add the hooks of the repository, and those in `.husky` and `.githooks`."""
    directories = tuple(dict.fromkeys((*bases[:1], finder.workspace)))
    shared = (f"{_git_directories(finder, directory, '.git')[1]}/hooks/*" for directory in directories)
    for pattern in (*dict.fromkeys(shared), ".husky/*", ".githooks/*"):
        for path in finder.lookup.at(pattern, directories):
            if not path.endswith(".sample"):
                finder.add(path, (finder.workspace,), depth, "shell")


def submodules(finder: Finder, bases: Bases) -> Bases:
    """Return the directories of a repository's submodules, in which `git submodule foreach` runs its command."""
    for directory in bases[:2]:
        path = f"{directory}/.gitmodules"
        text = finder.pending.get(path) or start_of(path)
        if text:
            paths = islice(_SUBMODULE.findall(text), _MOST_VALUES)
            return tuple(os.path.normpath(os.path.join(directory, each)) for each in paths)  # noqa: PTH118
    return ()


def add_awk_libraries(finder: Finder, rest: Sequence[str], bases: Bases, depth: int) -> None:
    """Add the files that gawk loads: extensions of `-l` and `@load`, sources of `-i` and `@include`."""
    options = ((_AWK_LOADS.fullmatch(word), following) for word, following in pairwise((*rest, "")))
    named = [match[1] or match[2] or following for match, following in options if match]
    for name in (*named, *(name for word in rest if "@" in word for name in _AWK_DIRECTIVE.findall(word))):
        for ending in ("", ".awk", ".so"):
            finder.program(f"{name}{ending}", bases, depth)


def _steering(text: str) -> str:
    sections = _SECTION.split(text)
    return "[".join(each for each in sections if re.split(r"\W", each, maxsplit=1)[0].casefold() not in _OFTEN_SET)


def start_of(path: str) -> str:
    """Return the start of a regular file, without ever blocking; empty if it cannot be read."""
    with (
        suppress(OSError, ValueError),
        open(path, encoding="utf-8", errors="replace", opener=_open_at_once) as file,
    ):
        return file.read(_LONGEST_SETTINGS) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else ""
    return ""


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe does not make it wait


def add_class_path(finder: Finder, value: str, bases: Bases, depth: int) -> None:
    """Add the files in a colon-separated path of directories and archives, even outside the workspace."""
    for each in filter(None, value.split(":")):
        if each.rstrip("/") in {".", finder.workspace}:
            add_tree(finder, (), bases, depth)
        elif not finder.program(each, bases, depth):
            add_directory(finder, each.removesuffix("*"), bases, depth, outside=True)


def add_directory(finder: Finder, directory: str, bases: Bases, depth: int, *, outside: bool = False) -> None:
    """Add the files below a directory of modules, or below one that is copied to run elsewhere.

    A directory outside the workspace is added only if `outside` is set and it is not part of the system.
    """
    budget = iter(range(_MOST_DIRECTORY_ENTRIES))
    remaining = iter(range(_MOST_TREE_FILES))
    for base in bases[:3]:
        top = os.path.normpath(os.path.join(base, directory))  # noqa: PTH118 - strings
        is_inside = within(top, finder.workspace) and top != finder.workspace
        is_inside = is_inside or (outside and _is_separate(top, finder.workspace))
        for path in files_under(top, finder.pending, budget) if is_inside else ():
            if not (path.endswith(DATA_ENDINGS) or is_output(path, top)):
                if next(remaining, None) is None:
                    finder.cut(is_code=outside)
                    return
                finder.add(path, bases, depth)
    if next(budget, None) is None:
        finder.cut(is_code=outside)


def _is_separate(top: str, workspace: str) -> bool:
    """Return whether a directory is not part of the system and contains neither the workspace nor a home."""
    return not (within(workspace, top) or top.count("/") < 2 or any(within(top, each) for each in SYSTEM))


def add_named(finder: Finder, text: str, listed: Iterable[Sequence[str]], bases: Bases) -> None:
    """Add every workspace file that a command line names, whatever its programs do with the file."""
    tokens = _SEPARATORS.split(_VARIABLE.sub("./", text))
    pieces = (piece for words in listed for word in words for piece in _pieces(word))
    names = [piece for piece in dict.fromkeys((*tokens, *pieces)) if finder.lookup.may_have(piece, bases)]
    for name, _ in zip(names, range(_MOST_NAMED), strict=False):
        for ending in LOADED_ENDINGS if name.startswith("./") else ("",):
            for path in finder.lookup.at(f"{name}{ending}", bases):
                if not path.endswith(DATA_ENDINGS):
                    finder.add(path, bases, 1)


def _pieces(word: str) -> Iterator[str]:
    """Yield the parts of a word that may be a file name."""
    yield word
    if word.startswith("-") and word[1:2] != "-":
        yield word[2:]
        yield word[3:]
    yield word.rpartition("://")[2]
    for sign in "=:@":
        yield word.partition(sign)[2]
    if " " in word:
        yield from _SEPARATORS.split(VARIABLE_DIRECTORY.sub("", word))


def _directories(word: str, directory: str) -> Iterator[str]:
    name = word.removeprefix("//").removesuffix("...").partition(":")[0]
    path = os.path.normpath(os.path.join(directory, name or "."))  # noqa: PTH118 - strings
    if os.path.isdir(path):  # noqa: PTH112 - a string
        yield path


def members_of(finder: Finder, bases: Bases) -> list[str]:
    """Return the package directories in a Node.js workspace."""
    patterns = ("*/package.json", "*/*/package.json")
    return [path.rpartition("/")[0] for pattern in patterns for path in finder.lookup.at(pattern, bases[:1])]


def scripts_of(path: str, pending: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Return the names and command lines of the scripts in a package.json."""
    scripts = settings_of(path, pending).get("scripts")
    return (
        [(name, line) for name, line in scripts.items() if isinstance(line, str)] if isinstance(scripts, dict) else []
    )


def add_node_programs(finder: Finder, rest: Iterable[str], bases: Bases, depth: int) -> None:
    """Add the programs of installed Node.js packages that arguments name, because `npx NAME` needs no link in
    `.bin`.
    """
    names = (word.partition("=")[2] if word.startswith("-") else word for word in rest)
    for package in filter(None, (node_package(name, bases[0], finder.workspace) for name in names)):
        for target in programs_of(settings_of(f"{package}/package.json", finder.pending)):
            finder.program(target, (package,), depth)
