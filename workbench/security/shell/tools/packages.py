"""Package managers, build tools and test runners."""

from __future__ import annotations

import re

from workbench.security.shell.call import Call, Spec, flags, uses
from workbench.security.shell.tools.rule import Rule, flag_names, named, subcommands, words
from workbench.security.shell.words import UNKNOWN, Word

_CODE = "runs code of the project"
_BUILD = Spec("MEDIUM", _CODE, operands="text")
_LOOK = Spec(operands="text")
_ASKS = Spec("MEDIUM", "asks the registry", operands="text")
_DECLARED = Spec("MEDIUM", "installs declared packages", operands="text")
_NEW = "installs a new package, whose code runs"
_PUBLISH = Spec("HIGH", "publishes or changes something at the registry", operands="text")
_RUNS_REMOTE = Spec("HIGH", "runs a package that is not installed", operands="text")

_PIP_SOURCE = re.compile(r"--(?:index|extra-i|find|trusted|proxy|root|target|prefix|break|config-s|global-o)|-[ift]\Z")


def _pip(call: Call) -> None:
    rest = [word for word in call.words if not word.text.startswith("-")]
    verb = rest[0].text if rest else ""
    if verb in {"list", "show", "freeze", "check", "help", "debug", "inspect", ""}:
        return
    if verb in {"search", "index", "download", "wheel", "hash", "cache"}:
        call.raise_to("MEDIUM", "asks the registry")
    elif verb == "config":
        call.raise_to("HIGH", "changes where packages come from")
    elif verb in {"install", "uninstall", "sync", "compile", "add", "lock"}:
        call.raise_to("MEDIUM", "installs or removes packages")
        _pip_install(call, rest[1:])
    else:
        call.raise_to("MEDIUM", "a command of pip that is not known here")


def _pip_install(call: Call, packages: list[Word]) -> None:
    for word in call.words:
        if _PIP_SOURCE.match(word.text):
            call.raise_to("HIGH", "installs from another source, or to another place")
    for word in packages:
        if (
            re.match(r"(?:git|hg|svn|bzr)\+|https?:|ftp:|file:", word.text)
            or " @ " in word.text
            or UNKNOWN in word.text
        ):
            call.raise_to("HIGH", "installs what is at an address")
    options, _ = call.options(Spec(paths=uses("read", "-r --requirement -c --constraint -e --editable")))
    for option in options:
        if option.value and option.flag in {"-r", "--requirement", "-c", "--constraint"}:
            remote = "://" in option.value.text
            call.raise_to("HIGH", "installs what is at an address") if remote else call.use(option.value, "read")


_NPM_TABLE: dict[str, Spec] = {
    **dict.fromkeys(
        words("test t run run-script start stop build ci install-test rebuild dev lint exec-local"), _BUILD
    ),
    **dict.fromkeys(words("ls list ll la why explain root bin prefix help version -v --version"), _LOOK),
    **dict.fromkeys(words("view info show search outdated audit ping docs fund doctor"), _ASKS),
    **dict.fromkeys(
        words("publish unpublish deprecate owner access token login adduser logout team org hook star"), _PUBLISH
    ),
    **dict.fromkeys(words("dedupe prune uninstall remove rm un update upgrade link unlink pack init cache"), _DECLARED),
    **dict.fromkeys(words("exec x dlx create"), _RUNS_REMOTE),
    **dict.fromkeys(("config", "set", "config set"), Spec("HIGH", "changes where packages come from", operands="text")),
    **dict.fromkeys(("config get", "config list", "get"), Spec("MEDIUM", "shows settings", operands="text")),
}
_npm_verb = subcommands(_NPM_TABLE, _BUILD, "--prefix -C --workspace -w --filter")


def _npm(call: Call) -> None:
    rest = [word for word in call.words if not word.text.startswith("-")]
    verb = rest[0].text if rest else ""
    names = {word.text.partition("=")[0] for word in call.words}
    if names & {"--registry", "-g", "--global", "--location", "--userconfig", "--script-shell", "--node-options"}:
        call.raise_to("HIGH", "installs from another source, or to another place")
    if verb in {"install", "i", "add", "in"}:
        call.raise_to("MEDIUM", _NEW if len(rest) > 1 else _DECLARED.reason)
        if any(
            re.match(r"(?:git|https?|file|github|gitlab)[:+]|[\w.-]+/[\w.-]+\Z|\.?/", word.text) for word in rest[1:]
        ):
            call.raise_to("HIGH", "installs what is at an address")
        return
    if not verb and call.name in {"yarn", "pnpm", "bun"}:
        call.raise_to("MEDIUM", _DECLARED.reason)
        return
    _npm_verb(call)


_NPX_KNOWN = words(
    "tsc eslint prettier jest vitest mocha webpack vite rollup tsx ts-node playwright cypress "
    "stylelint next nx turbo "
    "husky lint-staged c8 nyc ava tap biome"
)


def _npx(call: Call) -> None:
    rest = [word for word in call.words if not word.text.startswith("-")]
    known = (
        bool(rest)
        and rest[0].text in _NPX_KNOWN
        and not any(word.text in {"-p", "-c", "--package", "--call"} for word in call.words)
    )
    call.raise_to(*(("MEDIUM", _CODE) if known else ("HIGH", _RUNS_REMOTE.reason)))


_UV_TABLE: dict[str, Spec] = {
    **dict.fromkeys(("sync", "lock", "venv", "add", "remove", "init", "build", "export", "python"), _DECLARED),
    **dict.fromkeys(("tree", "version", "help", "pip list", "pip show", "pip freeze", "python list"), _LOOK),
    "publish": _PUBLISH,
    "tool": _RUNS_REMOTE,
    "self": _PUBLISH,
}
_uv_verb = subcommands(
    _UV_TABLE, Spec("MEDIUM", "a command that is not known here", operands="text"), "--directory --project"
)


def _uv(call: Call) -> None:
    names = {word.text.partition("=")[0] for word in call.words}
    if names & {"--index", "--index-url", "--default-index", "--extra-index-url", "--find-links", "-i", "-f"}:
        call.raise_to("HIGH", "installs from another source, or to another place")
    verb = call.words[0].text if call.words else ""
    if verb == "pip" and len(call.words) > 1:
        call.words = call.words[1:]
        _pip(call)
    elif verb == "run" and call.name in {"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pixi"}:
        _uv_run(call)
    else:
        _uv_verb(call)


def _uv_run(call: Call) -> None:
    spec = Spec(values=words("--with --extra --group --python -p --package --env-file --directory --project"))
    rest = call.words[1:]
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        if flag == "--with":
            call.raise_to("MEDIUM", _NEW)
        if flag in spec.values and rest:
            rest.pop(0)
    call.raise_to("MEDIUM", _CODE)
    call.run_words(rest)


def _make(call: Call) -> None:
    spec = Spec(
        values=words("-j -l -o -W -O"),
        paths=uses("read", "-f --file --makefile -C --directory -I --include-dir"),
        operands="text",
    )
    options, operands = call.options(spec)
    call.raise_to("MEDIUM", "runs the make file of the project")
    for option in options:
        value = option.value
        if option.flag.startswith("--ev") or option.flag == "-E":
            call.raise_to("HIGH", "runs a rule that stands in the command")
        if value and option.flag in spec.paths:
            call.use(value, "read")
            if call.risk != "LOW" and "outside" in call.reason:
                call.raise_to("HIGH", "runs a make file outside the workspace")
    for word in operands:
        if re.match(r"(?:SHELL|MAKEFLAGS|\.SHELLFLAGS|CC|CXX|LD|PATH)\s*[:+?]?=", word.text):
            call.raise_to("HIGH", "changes what make runs")
        if word.text in {"install", "uninstall", "publish", "deploy", "release"}:
            call.raise_to("HIGH", "installs, publishes or deploys")


_CARGO = subcommands(
    {
        **dict.fromkeys(
            words("build b check c test t run r bench doc clippy fmt clean fix update generate-lockfile"), _BUILD
        ),
        **dict.fromkeys(words("tree metadata version help search locate-project verify-project pkgid"), _LOOK),
        **dict.fromkeys(words("publish yank owner login logout"), _PUBLISH),
        "install": Spec("HIGH", "installs a program for this person", operands="text"),
        "add": Spec("MEDIUM", _NEW, operands="text"),
    },
    _BUILD,
    "--manifest-path -C",
)
_GO = subcommands(
    {
        **dict.fromkeys(
            words("version env doc list help"),
            Spec("LOW", operands="text", flags=flags("HIGH", "changes what go runs", "-w -u")),
        ),
        "vet": Spec("MEDIUM", _CODE, operands="text", flags=flags("HIGH", "runs another program", "-vettool")),
        **dict.fromkeys(
            words("build test run mod fmt fix generate tool work"),
            Spec(
                "MEDIUM",
                _CODE,
                operands="text",
                flags=flags("HIGH", "runs another program", "-toolexec -exec -vettool"),
            ),
        ),
        **dict.fromkeys(("get", "install"), Spec("MEDIUM", _NEW, operands="text")),
        "clean": Spec(
            "MEDIUM",
            "deletes build results",
            operands="text",
            flags=flags("HIGH", "deletes all downloads", "-modcache"),
        ),
    },
    _BUILD,
)
_SYSTEM = subcommands(
    {
        **dict.fromkeys(words("list search show info policy depends rdepends cache files leaves deps desc cat"), _LOOK),
        **dict.fromkeys(("-Q", "-Qi", "-Ss"), _LOOK),
    },
    Spec("HIGH", "changes the system", operands="text"),
)


def _system_packages(call: Call) -> None:
    names = {word.text for word in call.words}
    if call.name in {"dpkg", "rpm"} and names & {"-l", "-L", "-s", "-S", "-q", "-qa", "-ql", "-qi", "-qf", "--list"}:
        return
    if call.name in {"apt-cache", "dpkg-query"}:
        return
    _SYSTEM(call)


def _deploys(call: Call) -> None:
    flag_names(call.options(Spec())[0])
    call.raise_to("HIGH", "publishes or deploys")


RULES: dict[str, Rule] = {
    "pip": _pip,
    "pipx": _RUNS_REMOTE,
    "uvx": _RUNS_REMOTE,
    "easy_install": _RUNS_REMOTE,
    **dict.fromkeys(words("npm pnpm yarn bun"), _npm),
    **dict.fromkeys(words("npx bunx pnpx"), _npx),
    **dict.fromkeys(words("uv poetry pipenv pdm hatch rye pixi"), _uv),
    **dict.fromkeys(words("make gmake remake"), _make),
    "cargo": _CARGO,
    "go": _GO,
    **dict.fromkeys(
        words(
            "apt apt-get aptitude dnf yum zypper pacman apk brew snap flatpak port dpkg rpm apt-cache "
            "dpkg-query emerge "
            "pkg nix-env winget choco scoop"
        ),
        _system_packages,
    ),
    **dict.fromkeys(
        words("twine goreleaser vercel netlify fly flyctl heroku firebase surge wrangler serverless sls"), _deploys
    ),
    **named(
        _BUILD,
        "pytest py.test tox nox unittest jest vitest mocha ava karma cypress playwright cmake "
        "ninja meson ctest bazel "
        "buck gradle gradlew mvn mvnw ant sbt lein mix rake bundle rspec phpunit composer dotnet "
        "swift xcodebuild zig "
        "webpack vite rollup esbuild parcel next nuxt astro tsx nx turbo lerna pre-commit just "
        "task invoke inv cypress "
        "coverage mkdocs sphinx-build hugo jekyll gem gcc g++ cc c++ clang clang++ ld javac rustc "
        "ghc ocaml stack cabal "
        "flutter dart elm storybook django-admin manage.py alembic flask uvicorn gunicorn streamlit celery",
    ),
}
