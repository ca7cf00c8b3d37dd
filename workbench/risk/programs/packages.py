"""Rules for system package managers, build tools and test runners."""

from __future__ import annotations

import re
from itertools import pairwise

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.go_toolchain import downloaded_release
from workbench.risk.programs.rule import Rule, own_words, subcommands, words
from workbench.risk.reason import (
    CHANGES_SOURCES,
    INSTALLS_ELSEWHERE,
    INSTALLS_URL,
    LOADS_CODE,
    REPEATS_COMMAND,
    RUNS_PACKAGE,
    RUNS_PROGRAM,
    RUNS_PROJECT,
    STARTS_SHELL_UNSEEN,
    Reason,
    Trait,
)
from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.word import Word, literal

BUILD = Spec("MEDIUM", RUNS_PROJECT, operands="text")
INSPECTS = Spec(operands="text")
ASKS = Spec("MEDIUM", "asks the registry", operands="text")
DECLARED = Spec("MEDIUM", Reason("installs declared packages", Trait.DOWNLOADS), operands="text")
NEW = Reason("installs a new package, whose code runs", Trait.DOWNLOADS)
PUBLISH = Spec("HIGH", "publishes or changes something at the registry", operands="text")
RUNS_REMOTE = Spec("HIGH", RUNS_PACKAGE, operands="text")
USER_WIDE = Spec("HIGH", Reason("changes the user's programs or shell", Trait.RUNS), operands="text")
SHELL = Spec("HIGH", STARTS_SHELL_UNSEEN, operands="text")


_MAKE_FILE_FLAGS = Reason("runs a makefile from the command or from a pipe", Trait.RUNS)


def _make(call: Call) -> None:
    spec = Spec(
        values=words("-j -l -o -W -O"),
        paths=uses("read", "-f --file --makefile -C --directory -I --include-dir"),
        operands="text",
    )
    options, operands = call.options(spec)
    call.raise_to("MEDIUM", "runs the make file of the project")
    if call.has_input and any(option.flag in {"-f", "--file", "--makefile"} for option in options):
        call.writes_anywhere()
        call.raise_to("HIGH", _MAKE_FILE_FLAGS)  # the parser may have skipped the `-` before a heredoc
    for option in options:
        value = option.value
        if option.flag.startswith("--ev") or option.flag == "-E":
            call.raise_to("HIGH", Reason("runs a rule given in the command", Trait.RUNS))
        if value and option.flag in spec.paths:
            _make_file(call, value)
    only_says = any(option.flag in {"-n", "--dry-run", "--just-print", "--recon"} for option in options)
    for word in operands:
        if re.match(r"(?:SHELL|MAKEFLAGS|\.SHELLFLAGS|CC|CXX|LD|PATH)\s*[:+?]?=", word.text):
            call.raise_to("HIGH", Reason("changes what make runs", Trait.RUNS))
        if word.text in {"install", "uninstall", "publish", "deploy", "release"} and not only_says:
            call.raise_to("HIGH", "installs, publishes or deploys")


_CARGO = subcommands(
    {
        **dict.fromkeys(
            words("build b check c test t run r bench doc clippy fmt clean fix update generate-lockfile"), BUILD
        ),
        **dict.fromkeys(words("tree metadata version help search locate-project verify-project pkgid"), INSPECTS),
        **dict.fromkeys(words("publish yank owner login logout"), PUBLISH),
        **dict.fromkeys(words("read-manifest config --list"), INSPECTS),
        **dict.fromkeys(("install", "uninstall"), USER_WIDE),
        "generate": RUNS_REMOTE,
        **dict.fromkeys(
            ("new", "init"),
            Spec("MEDIUM", "creates a project", operands="write", values=words("--name --edition --vcs"), keeps=True),
        ),
        "add": Spec("MEDIUM", NEW, operands="text"),
    },
    BUILD,
    "--manifest-path -C",
)


def _make_file(call: Call, file: Word) -> None:
    call.use(file, "read")
    path = call.scan.absolute(file)
    if file.text in {"-", "/dev/stdin"}:
        call.writes_anywhere()
        call.raise_to("HIGH", _MAKE_FILE_FLAGS)
    if path is None or call.scan.rating(path, "read")[0] != "LOW":
        call.raise_to("HIGH", Reason("runs a make file outside the workspace", Trait.RUNS))


def _cargo(call: Call) -> None:
    """Rate cargo; `+nightly` selects a toolchain, and `cargo watch` runs commands given in its flags."""
    call.words = [word for word in call.words if not word.text.startswith("+")]
    if [word.text for word in call.words[:1]] == ["watch"]:
        call.raise_to("MEDIUM", REPEATS_COMMAND)
        options, operands = call.options(Spec(values=words("-x --exec -s --shell -w --watch -i --ignore -d --delay")))
        for option in options:
            if option.value and option.flag in {"-s", "--shell", "-x", "--exec"}:
                front = "cargo " if option.flag in {"-x", "--exec"} else ""
                call.run_text(option.value._replace(text=f"{front}{option.value.text}"))
        call.run_words(operands[1:])
        return
    if [word.text for word in call.words[:1]] == ["add"] and any(word.text.startswith("--git") for word in call.words):
        call.raise_to("HIGH", INSTALLS_URL)
    _cargo_settings(call)
    _CARGO(call)


def _cargo_settings(call: Call) -> None:
    """Rate flags that change what cargo runs, or where it reads and writes."""
    for flag, value in pairwise(own_words("cargo", call.words)):
        setting = value.text if flag.text == "--config" else flag.text.removeprefix("--config=")
        if flag.text.startswith("--config") and re.search(
            r"runner|rustc|linker|wrapper|credential|registr|\.toml", setting
        ):
            call.raise_to("HIGH", Reason("changes what cargo runs", Trait.RUNS))
        if flag.text in {"--manifest-path", "-C"}:
            call.use(value, "read")
            if call.risk != "LOW":
                call.raise_to("HIGH", Reason("runs code outside the workspace", Trait.RUNS))
        elif flag.text in {"--target-dir", "--out-dir", "--artifact-dir"}:
            call.use(value, "write")


_GO = subcommands(
    {
        **dict.fromkeys(
            words("version env doc list help"),
            Spec(
                "LOW",
                operands="text",
                flags=flags("HIGH", Reason("changes what go runs", Trait.RUNS), "-w -u")
                | flags("MEDIUM", RUNS_PROJECT, "-export"),
            ),
        ),
        "vet": Spec("MEDIUM", RUNS_PROJECT, operands="text", flags=flags("HIGH", RUNS_PROGRAM, "-vettool")),
        **dict.fromkeys(
            words("build test run mod fmt fix generate tool work"),
            Spec(
                "MEDIUM",
                RUNS_PROJECT,
                operands="text",
                flags=flags("HIGH", RUNS_PROGRAM, "-toolexec -exec -vettool"),
            ),
        ),
        **dict.fromkeys(("get", "install"), Spec("MEDIUM", NEW, operands="text")),
        "clean": Spec(
            "MEDIUM",
            "deletes build results",
            operands="text",
            flags=flags("HIGH", "deletes all downloads", "-modcache"),
        ),
    },
    BUILD,
    "-C",
)


def _go(call: Call) -> None:
    """Rate go; with a version, `run` downloads a program and runs it, and `install` installs it for the user."""
    verb = call.words[0].text if call.words else ""
    if verb in {"run", "install"} and any(re.match(r"[\w-]+(?:\.[\w-]+)+/\S*@", word.text) for word in call.words[1:]):
        call.raise_to("HIGH", RUNS_REMOTE.reason if verb == "run" else USER_WIDE.reason)
    _GO(call)
    if call.risk == "LOW":
        directory = call.scan.absolute(literal("."))
        release = downloaded_release(call.scan.context.resolved(directory)) if directory is not None else "one"
        call.raise_to("MEDIUM", f"may download {release[:30]} and run it") if release else None


_SYSTEM = subcommands(
    {
        **dict.fromkeys(
            words(
                "list search show info policy depends rdepends cache files leaves deps desc cat "
                "resolve get-details get-updates get-packages"
            ),
            INSPECTS,
        ),
        **dict.fromkeys(("-Q", "-Qi", "-Ss"), INSPECTS),
    },
    Spec("HIGH", Reason("changes the system", Trait.RUNS), operands="text"),
)


def _system_packages(call: Call) -> None:
    names = {word.text for word in call.words}
    if call.name in {"dpkg", "rpm"} and names & {"-l", "-L", "-s", "-S", "-q", "-qa", "-ql", "-qi", "-qf", "--list"}:
        return
    if call.name in {"apt-cache", "dpkg-query"}:
        return
    _SYSTEM(call)


_GEM = subcommands(
    {
        **dict.fromkeys(words("list search info which environment contents dependency outdated help query"), INSPECTS),
        **dict.fromkeys(words("push yank owner signin signout mirror sources cert"), PUBLISH),
        **dict.fromkeys(
            ("install", "update", "fetch"),
            Spec(
                "MEDIUM",
                NEW,
                operands="text",
                flags=flags("HIGH", INSTALLS_ELSEWHERE, "-s --source -i --install-dir"),
            ),
        ),
    },
    BUILD,
)


def _gem(call: Call) -> None:
    _GEM(call)


_OTHER_FILES = words(
    "-f -C -c -p -I -s -S -x --file --directory --config --configfile --rootdir --confcutdir --init-script --settings "
    "--gradle-user-home --project-dir --build-file --buildfile -b"
)
_RUN_FIRST = lazy_pattern(
    r"--run_under|--host_jvm_args|--server_javabase|--init-script|-I\Z|--use-runner|-Dexec\.(?!(?:args|arguments|mainClass|classpathScope|cleanupDaemonThreads)=)|--override_repository"
)
_AWAY = words("deploy publish publishToMavenLocal release upload uploadArchives")


def _builds(call: Call) -> None:
    """Rate a build tool or test runner, whose files are in the workspace unless a word says otherwise."""
    call.apply(BUILD)
    before, leaves = "", False
    for word in call.words:
        text = word.text.partition("=")[2] if word.text.startswith("-") else word.text
        if call.name in {"bazel", "bazelisk", "buck"} and text.startswith("//"):
            continue
        leaves = leaves or _leaves(call, word._replace(text=text), before)
        if leaves:
            call.raise_to("HIGH", Reason("runs code outside the workspace, or writes there", Trait.RUNS))
        if call.name in {"bazel", "bazelisk", "gradle", "gradlew", "mvn", "mvnw"} and _RUN_FIRST.match(word.text):
            call.raise_to("HIGH", LOADS_CODE)
        if call.name in {"gradle", "gradlew", "mvn", "mvnw", "sbt"} and word.text in _AWAY:
            call.raise_to("HIGH", "publishes or deploys")
        before = word.text


def _leaves(call: Call, word: Word, before: str) -> bool:
    """Return whether a word names a path outside the workspace, from which code may be run or which may be written."""
    path = call.scan.absolute(word) if word.text[:1] in {"/", "~"} or word.text.startswith("..") else None
    if path is None or call.scan.rating(path, "read")[0] == "LOW":
        return False
    return before in _OTHER_FILES or call.scan.rating(path, "write")[0] == "HIGH"


def sources(call: Call) -> None:
    """Rate bundle and composer: HIGH if `config` changes where packages come from, otherwise MEDIUM."""
    strings = [word.text for word in call.words if not word.text.startswith("-")]
    if strings[:1] == ["config"] and len(strings) > 1 and strings[1] not in {"list", "get"}:
        call.raise_to("HIGH", CHANGES_SOURCES)
    else:
        call.raise_to(BUILD.risk, BUILD.reason)


_OWN_FLAKE = lazy_pattern(r"run(?: (?:path:)?\.(?:/(?!\.\.)[\w.-]+)*/?(?:#[\w.+-]+)?)?(?: --(?: .*)?)?")
"""Matches the words of `nix run` for a program that the workspace itself defines, with any arguments."""


def _nix(call: Call) -> None:
    """Rate nix and the commands that it runs: `nix develop -c`, `nix shell … -c`, `nix-shell --run`."""
    strings = [word.text for word in call.words]
    verb = next((text for text in strings if not text.startswith("-")), "") if call.name == "nix" else "shell"
    call.raise_to("MEDIUM", "builds or enters a declared environment")
    if verb in {"profile", "upgrade-nix"} or (verb == "run" and not _OWN_FLAKE.fullmatch(" ".join(strings))):
        call.raise_to("HIGH", Reason("runs or installs a package that is not installed", Trait.RUNS))
    for at, word in enumerate(call.words[:-1]):
        if word.text in {"--run", "--command", "-c"} and call.name == "nix-shell":
            call.run_text(call.words[at + 1])
        elif word.text in {"-c", "--command"}:
            call.run_words(call.words[at + 1 :])
            return


RULES: dict[str, Rule] = {
    **dict.fromkeys(("nix", "nix-shell"), _nix),
    **dict.fromkeys(words("make gmake remake"), _make),
    "cargo": _cargo,
    "gem": _gem,
    "go": _go,
    **dict.fromkeys(
        words(
            "apt apt-get aptitude dnf yum zypper pacman apk brew snap flatpak port dpkg rpm apt-cache "
            "dpkg-query emerge "
            "pkg pkcon nix-env winget choco scoop"
        ),
        _system_packages,
    ),
    "composer": sources,
    **dict.fromkeys(
        words(
            "pytest py.test tox nox unittest jest vitest mocha ava karma cypress playwright cmake "
            "ninja meson ctest bazel "
            "buck gradle gradlew mvn mvnw ant sbt lein mix rake rspec phpunit dotnet "
            "swift xcodebuild zig "
            "webpack vite rollup esbuild parcel next nuxt astro tsx turbo pre-commit just "
            "task invoke inv cypress "
            "mkdocs sphinx-build hugo jekyll gcc g++ cc c++ clang clang++ ld javac rustc "
            "ghc ocaml stack cabal "
            "flutter dart elm storybook django-admin manage.py alembic flask uvicorn gunicorn streamlit celery",
        ),
        _builds,
    ),
}
