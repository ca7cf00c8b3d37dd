"""Package managers of Python."""

from __future__ import annotations

import re

from workbench.risk.shell.call import Call, Spec, uses
from workbench.risk.shell.tools.installing import CODE, DECLARED, LOOK, NEW, PUBLISH, RUNS_REMOTE, SHELL
from workbench.risk.shell.tools.rule import Rule, subcommands, words
from workbench.risk.shell.tools.wrapping import run_wrapped, wrap
from workbench.risk.shell.words import UNKNOWN, Word, literal

_PIP_SOURCE = re.compile(r"--(?:index|extra-i|find|trusted|proxy|root|target|prefix|break|config-s|global-o)|-[ift]\Z")


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


_SOURCES = Spec("HIGH", "changes where packages come from, or what opens them", operands="text")
_UV_TABLE: dict[str, Spec] = {
    **dict.fromkeys(("sync", "lock", "venv", "add", "remove", "build", "export", "python"), DECLARED),
    **dict.fromkeys(("tree", "version", "help", "pip list", "pip show", "pip freeze", "python list"), LOOK),
    **dict.fromkeys(
        words(
            "show|env list|env info|env show|cache dir|tool list|tool dir|python find|python dir|"
            "config --list|list|info|dep show|self show|debug",
            "|",
        ),
        LOOK,
    ),
    **dict.fromkeys(("install", "update", "upgrade", "lock"), DECLARED),
    **dict.fromkeys(("new", "init"), Spec("MEDIUM", "makes a project", operands="write", keeps=True)),
    **dict.fromkeys(("config", "source", "auth", "login", "index"), _SOURCES),
    "shell": SHELL,
    "publish": PUBLISH,
    "tool": RUNS_REMOTE,
    "self": PUBLISH,
}
_QUIET = words("-q --quiet -v --verbose --offline --no-progress --no-cache -n")
_uv_verb = subcommands(
    _UV_TABLE, Spec("MEDIUM", "a command that is not known here", operands="text"), "--directory --project"
)


def _uv(call: Call) -> None:
    names = {word.text.partition("=")[0] for word in call.words}
    if names & {"--index", "--index-url", "--default-index", "--extra-index-url", "--find-links", "-i", "-f"}:
        call.raise_to("HIGH", "installs from another source, or to another place")
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
    """`version` with words changes it, `config NAME` shows a setting; all else is in the table."""
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
    reason=CODE,
)


def _uv_run(call: Call) -> None:
    rest = call.words[1:]
    if any(word.text.startswith("--with") for word in rest):
        call.raise_to("MEDIUM", NEW)
    if any("+" in word.text and "://" in word.text for word in rest[: _before_program(rest)]):
        call.raise_to("HIGH", "installs what is at an address")
    if any(word.text in {"-m", "--module"} for word in rest[:1]):
        rest = [literal("python"), *rest]
    if rest and "://" in rest[0].text:
        call.raise_to("HIGH", RUNS_REMOTE.reason)
    if rest and rest[-1].text == "-" and call.stdin is None:
        call.raise_to("HIGH", "runs what is piped into it")
    run_wrapped(call, rest, _RUN)


def _before_program(rest: list[Word]) -> int:
    """How many words belong to `uv run` itself."""
    at = 0
    while at < len(rest) and rest[at].text.startswith("-"):
        at += 2 if rest[at].text in _RUN.values else 1
    return at


_UVX_KNOWN = words(
    "ruff black mypy pytest isort flake8 pylint pyright basedpyright ty pre-commit pip-audit bandit codespell vulture "
    "yamllint sqlfluff djlint tox nox build deptry validate-pyproject twine-check coverage interrogate"
)


def _uvx(call: Call) -> None:
    """A program that is usual; others are fetched and run. What is run counts too."""
    rest = [word for word in call.words if not word.text.startswith("-")]
    if call.name == "pipx" and rest:
        rest = rest[1:] if rest[0].text == "run" else []
    name = re.split(r"[@=<>~]", rest[0].text)[0] if rest else ""
    odd = any(re.match(r"--(?:from|with|index|extra|default|find)|-[if]\Z", word.text) for word in call.words)
    call.raise_to(*(("MEDIUM", NEW) if name in _UVX_KNOWN and not odd else ("HIGH", RUNS_REMOTE.reason)))
    if rest:
        call.run_words([literal(name), *rest[1:]])


RULES: dict[str, Rule] = {
    "pip": _pip,
    "pipx": _uvx,
    "uvx": _uvx,
    "easy_install": RUNS_REMOTE,
    **dict.fromkeys(words("uv poetry pipenv pdm hatch rye pixi"), _uv),
}
