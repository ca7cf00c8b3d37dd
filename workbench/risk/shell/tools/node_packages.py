"""Package managers of JavaScript."""

from __future__ import annotations

import re
from itertools import takewhile

from workbench.risk.shell.call import Call, Spec
from workbench.risk.shell.tools.installing import (
    ASKS,
    BUILD,
    CODE,
    DECLARED,
    FOR_PERSON,
    LOOK,
    NEW,
    PUBLISH,
    RUNS_REMOTE,
)
from workbench.risk.shell.tools.rule import Rule, subcommands, words
from workbench.risk.shell.tools.wrapping import run_wrapped, wrap

_NPM_TABLE: dict[str, Spec] = {
    **dict.fromkeys(words("test t run run-script start stop build ci install-test rebuild dev lint exec-local"), BUILD),
    **dict.fromkeys(words("ls list ll la why explain root bin prefix help version -v --version"), LOOK),
    **dict.fromkeys(words("view info show search outdated audit ping docs fund doctor"), ASKS),
    **dict.fromkeys(
        words("publish unpublish deprecate owner access token login adduser logout team org hook star"), PUBLISH
    ),
    **dict.fromkeys(words("dedupe prune uninstall remove rm un update upgrade link unlink pack init cache"), DECLARED),
    **dict.fromkeys(words("dist-tag|dist-tags|star|unstar|trust|profile|npm|tag", "|"), PUBLISH),
    **dict.fromkeys(words("query sbom completion help-search get-name"), LOOK),
    **dict.fromkeys(words("diff stars bugs repo licenses"), ASKS),
    **dict.fromkeys(("dlx", "create", "plugin import", "import-plugin"), RUNS_REMOTE),
    **dict.fromkeys(("plugin list", "pkg get", "store path", "store status", "pm ls", "pm hash", "env list"), LOOK),
    **dict.fromkeys(("setup", "self-update", "upgrade-self", "global", "policies"), FOR_PERSON),
    **dict.fromkeys(("config", "set", "config set"), Spec("HIGH", "changes where packages come from", operands="text")),
    **dict.fromkeys(("config get", "config list", "get"), Spec("MEDIUM", "shows settings", operands="text")),
}
_npm_verb = subcommands(_NPM_TABLE, BUILD, "--prefix -C --workspace -w --filter")


_LOOKS = words("ls list ll la why explain root bin prefix outdated view info version")


def _npm(call: Call) -> None:
    rest = [word for word in call.words if not word.text.startswith("-")]
    verb = rest[0].text if rest else ""
    names = {word.text.partition("=")[0] for word in call.words}
    looks = verb in _LOOKS and not names & {"--registry", "--userconfig", "--script-shell", "--node-options"}
    if verb == "version" and len(call.words) > 1:
        call.raise_to("MEDIUM", "changes the version, and commits it")
    if verb == "upgrade" and call.name == "bun":
        call.raise_to(FOR_PERSON.risk, FOR_PERSON.reason)
    if not looks and names & {
        "--registry",
        "-g",
        "--global",
        "--location",
        "--userconfig",
        "--script-shell",
        "--node-options",
    }:
        call.raise_to("HIGH", "installs from another source, or to another place")
    if verb in {"install", "i", "add", "in"}:
        call.raise_to("MEDIUM", NEW if len(rest) > 1 else DECLARED.reason)
        if any(
            re.match(r"(?:git|https?|file|github|gitlab)[:+]|[\w.-]+/[\w.-]+\Z|\.?/", word.text) for word in rest[1:]
        ):
            call.raise_to("HIGH", "installs what is at an address")
        return
    if not verb and call.name in {"yarn", "pnpm", "bun"}:
        call.raise_to("MEDIUM", DECLARED.reason)
    elif not _npm_runs(call):
        _npm_verb(call)


_BEFORE = words("--prefix -C --dir --cwd --workspace -w --filter -F")


def _npm_runs(call: Call) -> bool:
    """`exec` runs a program, `run` a script of the project (or, but for npm, a program too); False for all else."""
    rest = list(call.words)
    while rest and (rest[0].text.startswith("-") or rest[0].text in {"workspace", "workspaces", "foreach"}):
        flag = rest.pop(0).text
        if rest and (flag in _BEFORE or flag == "workspace"):
            rest.pop(0)
    verb = rest.pop(0).text if rest else ""
    if verb in {"exec", "x"} and call.name in {"npm", "bun"}:
        call.words = rest
        _npx(call)
    elif verb in {"exec", "node"}:
        run_wrapped(call, rest, wrap(texts="-c --call --shell-mode", risk="MEDIUM", reason=CODE))
    elif verb == "run" and call.name != "npm":
        run_wrapped(call, rest, wrap(risk="MEDIUM", reason=CODE))
    else:
        return False
    return True


_NPX_KNOWN = words(
    "tsc eslint prettier jest vitest mocha webpack vite rollup tsx ts-node playwright cypress "
    "stylelint next nx turbo "
    "husky lint-staged c8 nyc ava tap biome cross-env concurrently nodemon rimraf npm-run-all tailwindcss prisma "
    "svelte-check vue-tsc astro karma ng nest storybook esbuild swc knip madge depcheck tsd typedoc commitlint"
)


_NPX = wrap("-w --workspace --prefix", texts="-c --call")


def _npx(call: Call) -> None:
    """A program that is usual is there already, or else declared; others are fetched. What is run counts too."""
    own = takewhile(lambda word: word.text.startswith("-"), call.words)  # what follows is the program's
    names = {word.text.partition("=")[0] for word in own}
    rest = [word for word in call.words if not word.text.startswith("-")]
    is_call = bool(names & {"-c", "--call"})
    known = is_call or (bool(rest) and (rest[0].text in _NPX_KNOWN or "--no" in names or "--no-install" in names))
    fetches = not known or bool(names & {"-p", "--package", "--registry"})
    call.raise_to(*(("HIGH", RUNS_REMOTE.reason) if fetches else ("MEDIUM", CODE)))
    run_wrapped(call, [word for word in call.words if word.text not in {"-y", "--yes"}], _NPX)


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("npm pnpm yarn bun"), _npm),
    **dict.fromkeys(words("npx bunx pnpx"), _npx),
}
