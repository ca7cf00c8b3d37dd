"""Rules for the package managers of JavaScript and Python projects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.programs.packages import (
    ASKS,
    BUILD,
    DECLARED,
    INSPECTS,
    NEW,
    PUBLISH,
    RUNS_REMOTE,
    SHELL,
    USER_WIDE,
)
from workbench.risk.programs.rule import Rule, run_wrapped, subcommands, words, wrap
from workbench.risk.reason import (
    CHANGES_SOURCES,
    INSTALLS_ELSEWHERE,
    INSTALLS_URL,
    RUNS_PIPED,
    RUNS_PROJECT,
    UNKNOWN_COMMAND,
    Reason,
    Trait,
)
from workbench.risk.shell.call import Call, Spec, uses
from workbench.risk.word import UNKNOWN, Word, literal

_NPM_TABLE: dict[str, Spec] = {
    **dict.fromkeys(words("test t run run-script start stop build ci install-test rebuild dev lint exec-local"), BUILD),
    **dict.fromkeys(words("ls list ll la why explain root bin prefix help version -v --version"), INSPECTS),
    **dict.fromkeys(words("view info show search outdated audit ping docs fund doctor"), ASKS),
    **dict.fromkeys(
        words("publish unpublish deprecate owner access token login adduser logout team org hook star"), PUBLISH
    ),
    **dict.fromkeys(words("dedupe prune uninstall remove rm un update upgrade link unlink pack init cache"), DECLARED),
    **dict.fromkeys(words("dist-tag|dist-tags|star|unstar|trust|profile|npm|tag", "|"), PUBLISH),
    **dict.fromkeys(words("query sbom completion help-search get-name"), INSPECTS),
    **dict.fromkeys(words("diff stars bugs repo licenses"), ASKS),
    **dict.fromkeys(("dlx", "create", "plugin import", "import-plugin"), RUNS_REMOTE),
    **dict.fromkeys(("plugin list", "pkg get", "store path", "store status", "pm ls", "pm hash", "env list"), INSPECTS),
    **dict.fromkeys(("setup", "self-update", "upgrade-self", "global", "policies"), USER_WIDE),
    **dict.fromkeys(("config", "set", "config set"), Spec("HIGH", CHANGES_SOURCES, operands="text")),
    **dict.fromkeys(("config get", "config list", "get"), Spec("MEDIUM", "shows settings", operands="text")),
}
_npm_verb = subcommands(_NPM_TABLE, BUILD, "--prefix -C --workspace -w --filter")


_LOOKS = words("ls list ll la why explain root bin prefix outdated view info version")


_WHERE = {
    "npm": words("--prefix -C --workspace -w"),
    "pnpm": words("--dir -C --filter -F"),
    "yarn": words("--cwd"),
    "bun": words("--cwd --filter -F"),
}
"""Options, by program, whose next word is a directory or workspace rather than a package; `-w` of pnpm takes no
value.
"""
_DIRECTORIES = words("--prefix -C --dir --cwd")


def without_where(program: str, original: Sequence[Word]) -> list[Word]:
    """Return the words without the options of npm and similar programs that set the directory or workspace, and their
    values.

    A word that starts with a dash is never the value of such an option, but an option itself.
    """
    where = _WHERE.get(program, frozenset())
    before = ("", *(word.text for word in original))
    return [
        word
        for word, last in zip(original, before, strict=False)
        if word.text not in where and (last not in where or word.text.startswith("-"))
    ]


def _enter_directories(call: Call) -> None:
    for flag, directory in pairwise(call.words):
        if flag.text in _DIRECTORIES & _WHERE.get(call.name, frozenset()):
            call.use(directory, "read")


def _npm_install(call: Call, packages: Sequence[Word]) -> None:
    call.raise_to("MEDIUM", NEW if packages else DECLARED.reason)
    remote = re.compile(r"(?:git|https?|file|github|gitlab)[:+]|[\w.-]+/[\w.-]+\Z|\.?/")
    if any(remote.match(word.text) for word in packages):
        call.raise_to("HIGH", INSTALLS_URL)


_STEERS_NPM = lazy_pattern(
    r"--(?:script-s\w*|shell|node-opt\w*|userc\w*|globalc\w*|init-m[\w-]*|editor|viewer|browser|git)"
)
"""Options of npm, which may be abbreviated, whose value is a program, options of node or a file of settings."""


def _npm(call: Call) -> None:
    _enter_directories(call)
    call.words = without_where(call.name, call.words)
    rest = [word for word in call.words if not word.text.startswith("-")]
    verb = rest[0].text if rest else ""
    own = takewhile(lambda word: word.text != "--", call.words)  # later words belong to the script
    names = {word.text.partition("=")[0] for word in own}
    steers = any(map(_STEERS_NPM.fullmatch, names))
    looks = verb in _LOOKS and not steers and "--registry" not in names
    if verb == "version" and len(call.words) > 1:
        call.raise_to("MEDIUM", "changes the version, and commits it")
    if verb == "upgrade" and call.name == "bun":
        call.raise_to(USER_WIDE.risk, USER_WIDE.reason)
    if steers:
        call.raise_to("HIGH", Reason(f"changes what {call.name} runs", Trait.RUNS))
    if not looks and names & {"--registry", "-g", "--global", "--location"}:
        call.raise_to("HIGH", INSTALLS_ELSEWHERE)
    if verb in {"install", "i", "add", "in"}:
        _npm_install(call, rest[1:])
        return
    if not verb and call.name in {"yarn", "pnpm", "bun"}:
        call.raise_to("MEDIUM", DECLARED.reason)
    elif not _npm_runs(call):
        _npm_verb(call)


def _npm_runs(call: Call) -> bool:
    """Rate `exec`, which runs a program, and `run` except npm's; return whether the verb is one of these."""
    rest = list(call.words)
    while rest and (rest[0].text.startswith("-") or rest[0].text in {"workspace", "workspaces", "foreach"}):
        flag = rest.pop(0).text
        if rest and flag == "workspace":
            rest.pop(0)
    verb = rest.pop(0).text if rest else ""
    if verb in {"exec", "x"} and call.name in {"npm", "bun"}:
        call.words = rest
        _npx(call)
    elif verb in {"exec", "node"}:
        run_wrapped(call, rest, wrap(commands="-c --call --shell-mode", risk="MEDIUM", reason=RUNS_PROJECT))
    elif verb == "run" and call.name != "npm":
        run_wrapped(call, rest, wrap(risk="MEDIUM", reason=RUNS_PROJECT))
    elif rest and call.name in _RUN_UNNAMED and not {verb, f"{verb} {rest[0].text}"} & _OWN:
        run_wrapped(call, [literal(verb), *rest], wrap(risk="MEDIUM", reason=RUNS_PROJECT))
    else:
        return False
    return True


_RUN_UNNAMED = words("pnpm yarn")
"""Programs that run a project's script, or a package's program, for a verb that they do not know."""
_OWN = frozenset(_NPM_TABLE) | words(
    "up self-update patch patch-commit patch-remove approve-builds env pm plugin constraints stage rebuild licenses "
    "import server fetch deploy workspace workspaces node config set cache store autoclean generate-lock-entry "
    "policies"
)
_NPX_RECOGNIZED = words(
    "tsc eslint prettier jest vitest mocha webpack vite rollup tsx ts-node playwright cypress "
    "stylelint next nx turbo "
    "husky lint-staged c8 nyc ava tap biome cross-env concurrently nodemon rimraf npm-run-all tailwindcss prisma "
    "svelte-check vue-tsc astro karma ng nest storybook esbuild swc knip madge depcheck tsd typedoc commitlint"
)


_NPX = wrap("-w --workspace --prefix", commands="-c --call")


def _npx(call: Call) -> None:
    """Rate npx: MEDIUM for well-known programs, HIGH for others, because it downloads them; rate the command too."""
    own = takewhile(lambda word: word.text.startswith("-"), call.words)  # later flags belong to the program
    names = {word.text.partition("=")[0] for word in own}
    rest = [word for word in call.words if not word.text.startswith("-")]
    is_call = bool(names & {"-c", "--call"})
    is_declared = is_call or (
        bool(rest) and (rest[0].text in _NPX_RECOGNIZED or "--no" in names or "--no-install" in names)
    )
    fetches = not is_declared or bool(names & {"-p", "--package", "--registry"})
    call.raise_to(*(("HIGH", RUNS_REMOTE.reason) if fetches else ("MEDIUM", RUNS_PROJECT)))
    run_wrapped(call, [word for word in call.words if word.text not in {"-y", "--yes"}], _NPX)


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("npm pnpm yarn bun"), _npm),
    **dict.fromkeys(words("npx bunx pnpx"), _npx),
}


_PIP_SOURCE = lazy_pattern(
    r"--(?:index|extra-i|find|trusted|proxy|root|target|prefix|break|config-s|global-o)|-[ift]\Z"
)


def _pip(call: Call) -> None:
    rest = [word for word in call.words if not word.text.startswith("-")]
    verb = rest[0].text if rest else ""
    if verb in {"list", "show", "freeze", "check", "help", "debug", "inspect", ""}:
        return
    if verb in {"search", "index", "download", "wheel", "hash", "cache"}:
        call.raise_to("MEDIUM", "asks the registry")
        for option in call.options(Spec(paths=uses("write", "-d --dest -w --wheel-dir")))[0]:
            if option.value and option.flag in {"-d", "--dest", "-w", "--wheel-dir"}:
                call.use(option.value, "write")
    elif verb == "config":
        call.raise_to("HIGH", CHANGES_SOURCES)
    elif verb in {"install", "uninstall", "sync", "compile", "add", "lock"}:
        call.raise_to("MEDIUM", Reason("installs or removes packages", Trait.DOWNLOADS))
        _pip_install(call, rest[1:])
    else:
        call.raise_to("MEDIUM", Reason("unknown pip command", Trait.UNCERTAIN | Trait.UNRECOGNIZED))


def _pip_install(call: Call, packages: list[Word]) -> None:
    for word in call.words:
        if _PIP_SOURCE.match(word.text):
            call.raise_to("HIGH", INSTALLS_ELSEWHERE)
    for word in packages:
        if (
            re.match(r"(?:git|hg|svn|bzr)\+|https?:|ftp:|file:", word.text)
            or " @ " in word.text
            or UNKNOWN in word.text
        ):
            call.raise_to("HIGH", INSTALLS_URL)
    options, _ = call.options(Spec(paths=uses("read", "-r --requirement -c --constraint -e --editable")))
    for option in options:
        if option.value and option.flag in {"-r", "--requirement", "-c", "--constraint"}:
            remote = "://" in option.value.text
            call.raise_to("HIGH", INSTALLS_URL) if remote else call.use(option.value, "read")


_SOURCES = Spec("HIGH", Reason("changes where packages come from, or what opens them", Trait.RUNS), operands="text")
_UV_TABLE: dict[str, Spec] = {
    **dict.fromkeys(("sync", "lock", "venv", "add", "remove", "build", "export", "python"), DECLARED),
    **dict.fromkeys(("tree", "version", "help", "pip list", "pip show", "pip freeze", "python list"), INSPECTS),
    **dict.fromkeys(
        words(
            "show|env list|env info|env show|cache dir|tool list|tool dir|python find|python dir|"
            "config --list|list|info|dep show|self show|debug",
            "|",
        ),
        INSPECTS,
    ),
    **dict.fromkeys(("install", "update", "upgrade", "lock"), DECLARED),
    **dict.fromkeys(("new", "init"), Spec("MEDIUM", "creates a project", operands="write", keeps=True)),
    **dict.fromkeys(("config", "source", "auth", "login", "index"), _SOURCES),
    "shell": SHELL,
    "publish": PUBLISH,
    "tool": RUNS_REMOTE,
    "self": PUBLISH,
}
_QUIET = words("-q --quiet -v --verbose --offline --no-progress --no-cache -n")
_uv_verb = subcommands(_UV_TABLE, Spec("MEDIUM", UNKNOWN_COMMAND, operands="text"), "--directory --project")


def _uv(call: Call) -> None:
    names = {word.text.partition("=")[0] for word in call.words}
    if names & {"--index", "--index-url", "--default-index", "--extra-index-url", "--find-links", "-i", "-f"}:
        call.raise_to("HIGH", INSTALLS_ELSEWHERE)
    while len(call.words) > 2 and call.words[0].text in {"-e", "--env", "--project", "--directory", "-C"}:
        call.words = call.words[2:]
    while call.words and call.words[0].text in _QUIET:
        call.words = call.words[1:]
    verb = call.words[0].text if call.words else ""
    if [word.text for word in call.words[:2]] == ["tool", "run"]:
        call.words = call.words[2:]
        _uvx(call)
    elif verb == "pip" and len(call.words) > 1:
        call.words = call.words[1:]
        _pip(call)
    elif verb == "run" and call.name in {"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pixi"}:
        _uv_run(call)
    else:
        _uv_other(call, verb)


def _uv_other(call: Call, verb: str) -> None:
    """Rate other verbs: `version` with arguments changes it, `config NAME` shows a setting; the table has the rest."""
    names = {word.text for word in call.words[1:]}
    if verb == "version" and names - {"--short", "-s"}:
        call.raise_to("MEDIUM", "changes the version")
    if verb == "config" and len(names) == 1 and not any(name.startswith("--un") for name in names):
        call.raise_to("MEDIUM", "shows settings")
    else:
        _uv_verb(call)


_RUN = wrap(
    "--with --with-editable --with-requirements --extra --group --only-group --python -p --package --env-file "
    "--directory --project -e -n",
    risk="MEDIUM",
    reason=RUNS_PROJECT,
)


def _uv_run(call: Call) -> None:
    rest = call.words[1:]
    if any(word.text.startswith("--with") for word in rest):
        call.raise_to("MEDIUM", NEW)
    if any("+" in word.text and "://" in word.text for word in rest[: _before_program(rest)]):
        call.raise_to("HIGH", INSTALLS_URL)
    if any(word.text in {"-m", "--module"} for word in rest[:1]):
        rest = [literal("python"), *rest]
    if rest and "://" in rest[0].text:
        call.raise_to("HIGH", RUNS_REMOTE.reason)
    if rest and rest[-1].text == "-" and call.stdin is None:
        call.raise_to("HIGH", RUNS_PIPED)
    run_wrapped(call, rest, _RUN)


def _before_program(rest: list[Word]) -> int:
    """Return how many words belong to `uv run` itself, before the program."""
    at = 0
    while at < len(rest) and rest[at].text.startswith("-"):
        at += 2 if rest[at].text in _RUN.values else 1
    return at


_UVX_RECOGNIZED = words(
    "ruff black mypy pytest isort flake8 pylint pyright basedpyright ty pre-commit pip-audit bandit codespell vulture "
    "yamllint sqlfluff djlint tox nox build deptry validate-pyproject twine-check coverage interrogate"
)


def _uvx(call: Call) -> None:
    """Rate uvx: MEDIUM for well-known programs, HIGH for others, because it downloads them; rate the command too."""
    rest = [word for word in call.words if not word.text.startswith("-")]
    if call.name == "pipx" and rest and rest[0].text in {"list", "environment", "completions"}:
        call.raise_to("MEDIUM", "shows installed programs")
        return
    if call.name == "pipx" and rest:
        rest = rest[1:] if rest[0].text == "run" else []
    name = re.split(r"[@=<>~]", rest[0].text)[0] if rest else ""
    odd = any(re.match(r"--(?:from|with|index|extra|default|find)|-[if]\Z", word.text) for word in call.words)
    call.raise_to(*(("MEDIUM", NEW) if name in _UVX_RECOGNIZED and not odd else ("HIGH", RUNS_REMOTE.reason)))
    if rest:
        behind = next(at for at, word in enumerate(call.words, 1) if word is rest[0])
        call.run_words([literal(name), *call.words[behind:]])


RULES |= {
    "pip": _pip,
    "pipx": _uvx,
    "uvx": _uvx,
    "easy_install": RUNS_REMOTE,
    **dict.fromkeys(words("uv poetry pipenv pdm hatch rye pixi"), _uv),
}
