"""Rates a call by its program's rule; a call without a rule is MEDIUM, or HIGH if its words suggest destruction."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise, takewhile

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import within
from workbench.risk.programs import (
    builtins,
    cloud,
    consoles,
    endless,
    files,
    find,
    git,
    interpreters,
    isolation,
    keys,
    network,
    packages,
    project_packages,
    relays,
    services,
    ssh,
    system,
    text,
    wrappers,
)
from workbench.risk.programs.destructive_verbs import asks_help, changes_data, destroys, destroys_by_name, verb_first
from workbench.risk.programs.empty_settings import without_empty_settings
from workbench.risk.programs.escalation import has_reach, raise_by_reach
from workbench.risk.programs.exposure import raise_by_exposure
from workbench.risk.programs.git import rate_repository
from workbench.risk.programs.harmless import ROWS
from workbench.risk.programs.rule import Rule, words
from workbench.risk.protected_names import is_secret
from workbench.risk.reason import CANNOT_READ, RUNS_URL, UNKNOWN_COMMAND, Reason, Trait
from workbench.risk.shell.call import Call, Spec, basename
from workbench.risk.shell.control import called, lose_directory
from workbench.risk.shell.grammar import prove
from workbench.risk.shell.origins import ARGUMENTS, RUNS, any_holds_command
from workbench.risk.shell.word_paths import OUTPUTS, stop_at_too_many
from workbench.risk.shell.written_files import RUNNABLE, run_embedded, run_named, run_written
from workbench.risk.word import UNKNOWN, Word, literal

RULES: dict[str, Rule] = {
    **text.RULES,
    **find.RULES,
    **files.RULES,
    **git.RULES,
    **network.RULES,
    **packages.RULES,
    **project_packages.RULES,
    **cloud.RULES,
    **interpreters.RULES,
    **consoles.RULES,
    **system.RULES,
    **isolation.RULES,
    **relays.RULES,
    **ssh.RULES,
    **keys.RULES,
    **builtins.RULES,
    **wrappers.RULES,
    **endless.RULES,
    **services.RULES,
}
_ALARMING_BESIDE = words("rm eval exec source dd shred trap xargs")
_HARMLESS_ALONE = words("id ping free uptime python python3 node")
ALARMING = {
    *system.RULES,
    *isolation.RULES,
    *interpreters.RULES,
    *consoles.RULES,
    *network.ALARMING,
    *relays.RULES,
    *ssh.RULES,
    *keys.RULES,
    *_ALARMING_BESIDE,
} - _HARMLESS_ALONE
"""Names that make a command line HIGH if it cannot be read with certainty."""
_ASKED = words(
    "python pypy node nodejs npm npx ruby perl php lua julia java javac kotlin scala ghc gcc g++ cc c++ clang "
    "clang++ ld cmake  ctest ninja meson make gmake deno docker podman kubectl helm terraform aws gcloud az gh "
    "glab hub curl wget ssh rsync  ruff black isort mypy pyright shellcheck hadolint shfmt gofmt clang-format "
    "prettier eslint tsc sqlite3 psql  mysql redis-cli ffmpeg openssl gpg tmux vim nvim nano emacs code cp mv rm "
    "mkdir touch ln chmod chown dd tee install  patch truncate mktemp xargs env timeout nice nohup stdbuf time "
    "bash zsh sh dash fish vault op doppler jest vitest tsx  systemctl uv uvx pip pipx conda mamba pyenv rbenv "
    "nvm fnm apt apt-get brew "
)
"""Programs that print their version or help without reading the working directory."""
_ASKED_SHORT = {
    "--version": _ASKED,
    "--help": _ASKED,
    "-v": words("node nodejs npm npx php ruby perl nvm helm"),
    "-V": words("python pypy ssh curl wget tmux psql mysql"),
    "-version": words("java javac"),
}
_REACH_OUT = {*isolation.RULES, *relays.RULES}
"""Programs that are HIGH with any arguments other than those asking for version or help."""
_MISREAD = words("{ } ( ) then do else elif fi done esac if while until for case in function select [[ ]]")
_PLAIN_NAME = lazy_pattern(r"\\?[\w./+\[:@%-]+\Z|\"[^\"$`\\]*\"\Z|'[^']*'\Z|~/|\$HOME/|\$\{HOME\}/", re.ASCII)


def recognizes(name: str) -> bool:
    """Return whether the name has a rule, or a meaning in the shell itself."""
    return name in RULES or name in ROWS or name in _MISREAD


def judge(call: Call, name: Word) -> None:
    """Rate a call by its program's rule: MEDIUM for an unknown program, HIGH if its name is not literal."""
    if UNKNOWN in name.text or name.is_pattern or name.runs or not name.text:
        call.raise_to("HIGH", Reason("the name of the command is only known at run time", Trait.RUNS | Trait.UNCERTAIN))
        call.opaque = "*"
        return
    if not _PLAIN_NAME.match(name.raw) or not name.text.isascii():
        call.raise_to("HIGH", Reason("the name of the command is disguised", Trait.RUNS))
    if name.text in _MISREAD or "=" in name.text:
        call.raise_to("MEDIUM", CANNOT_READ)
        call.run_words(call.words)
        return
    if "/" in name.text:
        _program_at_path(call, name)
    program = basename(name.text)
    is_exact = program in RULES or program in ROWS or has_reach(program)
    call.name = program if is_exact else program.casefold()
    call.words = without_empty_settings(call.name, call.words)
    original = list(call.words)
    if call.name in call.scan.functions:
        _unknown(call)
    elif not _asks(call):
        _judge_program(call, original)
    raise_by_reach(call, original)
    raise_by_exposure(call, original)
    _task(call, original)
    if call.scan.written and call.name not in wrappers.RULES:
        run_named(call, original, at_path="/" in name.text)


def _judge_program(call: Call, original: list[Word]) -> None:
    """Rate a call by the program's rule and grammar, and one of git by the repository around it."""
    _judge_by_rule(call, original)
    if call.name == "git":
        rate_repository(call, original)


def _judge_by_rule(call: Call, original: list[Word]) -> None:
    """Rate a call by the program's rule and grammar; without either, it is never LOW."""
    rule = RULES.get(call.name) or _versioned(call.name)
    if rule is None and call.name not in ROWS:
        _unknown(call)
    elif isinstance(rule, Spec):
        call.apply(rule)
    elif _only_says(call):
        call.raise_to("MEDIUM", "only prints what it would do")
    elif rule is not None:
        rule(call)
        if call.name in _HAVE_VERBS and call.risk != "HIGH":
            for words_in_order in verb_first(
                project_packages.without_where(call.name, original), keeps_front=call.name == "git"
            ):
                call.words = words_in_order
                rule(call)
    if call.name in ROWS or (call.risk == "LOW" and not call.is_proven):
        prove(call, call.in_usual_form or original, ROWS)


def _only_says(call: Call) -> bool:
    """Return whether a program that changes a service has a dry-run flag and no word that may run something."""
    if call.name not in _DRY or not all(word.is_literal for word in call.words):
        return False
    strings = [word.text for word in call.words]
    return (
        _DRY[call.name] <= {*strings[:1]}
        and not _DRY_FLAGS.isdisjoint(strings)
        and not _RUNS_MORE.search(" ".join(strings))
    )


_DRY = {
    **dict.fromkeys(words("npm pnpm cargo poetry"), frozenset({"publish"})),
    **dict.fromkeys(words("kubectl helm oc"), frozenset()),
}
_DRY_FLAGS = words("--dry-run --dry-run=client --dry-run=server --dry-run=true")
_RUNS_MORE = lazy_pattern(
    r"--dry-run=(?:none|false)|post-renderer|://|--config|exec|plugin|(?<!\S)(?:proxy|run|cp|config)(?!\S)"
)
_HAVE_VERBS = words(
    "npm pnpm yarn bun pip pipx uv poetry pipenv pdm hatch rye pixi cargo go gem bundle composer conda mamba "
    "micromamba docker podman nerdctl docker-compose podman-compose gh glab hub hg svn jj rustup nix git"
)
"""Programs whose first operands name the operation, whatever flags precede them."""


def _asks(call: Call) -> bool:
    """Return whether the program is only asked for its version or help."""
    if len(call.words) != 1 or call.risk != "LOW" or call.words[0].text not in _ASKED_SHORT:
        return False
    if call.name in _REACH_OUT and call.words[0].text.startswith("--") and not (call.piped or call.has_input):
        call.raise_to("MEDIUM", "shows its version or help")
        return True
    return re.sub(r"[\d.]+\Z", "", call.name) in _ASKED_SHORT[call.words[0].text]


def _task(call: Call, original: list[Word]) -> None:
    """Rate a task of the project, or a verb that is not in the program's table, by its name."""
    if call.risk == "HIGH":
        return
    if _only_names_commands(call, original):
        return
    named = _parted(original) if call.name in _NAMED_TASKS else []
    passed = _passed(call.name, original)
    stated = named or passed
    operands = [word.text for word in stated if not word.text.startswith("-")]
    if not operands or not _RUN_INSIDE.get(call.name, frozenset()).isdisjoint(operands[:2]):
        return
    if verb := destroys(stated, by_flag=False) or destroys(passed, by_flag=False):
        what = "a task of the project" if call.name not in _CONTAINERS else "containers, images or data"
        call.raise_to("HIGH", f"{what}, run with {verb[:20]}")


def _only_names_commands(call: Call, original: list[Word]) -> bool:
    """Return whether the program prints the commands of its tasks instead of running them."""
    asked = _PRINTS_TASKS.get(call.name)
    if asked is None or not all(word.is_literal for word in original):
        return False
    own = takewhile(lambda text: text != "--", (word.text for word in original))
    if call.name == "just":  # an option after the name of a task is an argument of the task
        own = takewhile(lambda text: text.startswith("-"), own)
    return any(text in asked and not last.startswith("-") for last, text in pairwise(("", *own)))


_PRINTS_TASKS = {
    **dict.fromkeys(words("make gmake"), words("-n --just-print --recon")),
    **dict.fromkeys(words("just task rake ninja"), words("-n --dry")),
}
"""Options, besides `--dry-run` (see `destroys`), with which a program only prints what it would run."""


def _parted(original: list[Word]) -> list[Word]:
    """Return the words, splitting those that contain several arguments: `--args='delete all'`, `'runMain Main
    drop'`.
    """
    result = []
    for word in original:
        value = word.text.partition("=")[2] if word.text.startswith("-") else word.text
        result += [literal(part) for part in value.split()[:_MOST_AHEAD]] if " " in value else [word]
    return result


def _passed(name: str, original: list[Word]) -> list[Word]:
    """Return the words that name a script of the project, or that are passed to a program of the project."""
    if name not in _SCRIPTS and name not in _BUILDERS:
        return []
    if name == "bun" and original and original[0].text.endswith(_SOURCES):
        return original[1:]
    strings = [word.text for word in original]
    ahead = takewhile(lambda text: text != "--", strings[:_MOST_AHEAD])
    at = next((at for at, text in enumerate(ahead) if text in _RUN_PROJECT), -1)
    if at < 0:
        named = [word for word in original if ":" in word.text and not word.text.startswith("-")]
        return named[:1] if name in _SCRIPTS else []
    if name in _BUILDERS or (strings[at] == "start" and name in _PASS_ON):
        return original[at + 1 :]
    is_filter = name not in _PASS_ON or any(map(_CHECKS.match, strings[at + 1 : at + 2]))
    return original[at + 1 : at + 2] if is_filter else original[at + 1 :]


_TASKS = words(
    "rake mix manage.py artisan invoke inv phinx liquibase flyway make gmake just task lerna nx turbo flask alembic "
    "django-admin rails gradle gradlew mvn mvnw ant glab hub dotnet celery gem nix mise rtx rustup jupyter swift dart "
    "flutter tox nox tsx ts-node java kotlin sbt"
)
"""Programs that run the project's tasks by name, or have verbs that look like task names."""
_SCRIPTS = words("npm pnpm yarn bun node deno pdm hatch rye pixi poetry pipenv uv")
"""Programs that run scripts of the project, or installed programs, by name."""
_PASS_ON = words("npm pnpm yarn bun")
"""Those of `_SCRIPTS` that pass all further words to the script."""
_BUILDERS = words("cargo go bazel bazelisk stack cabal zig lein dotnet swift dart")
"""Programs that build a program of the project and run it with the words that follow."""
_RUN_PROJECT = words("run r run-script --run start exec xtask")
_MOST_AHEAD = 5
"""The number of leading words that are searched for a verb of `_RUN_PROJECT`."""
_CHECKS = lazy_pattern(r"(?:unit|test|lint|spec|e2e|check|format|type)", re.IGNORECASE)
"""Matches the names of scripts that take the names of tests or files."""
_SOURCES = (".ts", ".tsx", ".js", ".mjs", ".cjs")
_CONTAINERS = words("docker podman nerdctl docker-compose podman-compose")
_NAMED_TASKS = _TASKS | _CONTAINERS
_RUN_INSIDE = {
    **dict.fromkeys(_CONTAINERS, words("run exec")),
    **dict.fromkeys(("mise", "rtx"), words("exec x")),
    "nix": words("develop shell run"),
}
"""Verbs followed by a command, which is rated as such."""
_NO_QUESTIONS = frozenset({"cat", "tee", "sudo", "printenv", "exec", "eval", "source", ".", "set", "env", "mail"})


@lru_cache(maxsize=1_000)
def _versioned(program: str) -> Rule | None:
    """Return the rule for the name without its version or kind, as for `python3.12` or `mkfs.ext4`."""
    plain = re.sub(r"[-.]?[\d.]+\Z", "", program)
    if program.startswith("mkfs."):
        return RULES.get("mkfs")
    return RULES.get(plain) or system.systemd(program)


def _unknown(call: Call) -> None:
    stop_at_too_many(call)
    call.raise_to("MEDIUM", UNKNOWN_COMMAND)
    if any_holds_command(call.words):  # a function in this command or an earlier one may use it in arithmetic
        call.raise_to("HIGH", RUNS)
    _may_be_function(call)
    verb = "" if asks_help(call.words) else destroys(call.words) or destroys_by_name(call.name)
    if verb:
        call.raise_to("HIGH", Reason(f"unknown command, run with {verb.lstrip('-')[:20]}", Trait.UNCERTAIN))
    if changes_data(call.words):
        call.raise_to("HIGH", "changes or deletes data")
    _may_run(call)
    _run_values(call)
    call.is_unknown = True
    edits = any(_EDITS.fullmatch(word.text) for word in call.words)
    before = ""
    for word in call.words:
        if word.runs:
            call.raise_to("MEDIUM", Reason("unknown command, with the output of another one", Trait.UNCERTAIN))
        if word.names_secret:
            call.use(word, "text")
        _may_touch(call, word, before, writes=edits)
        if " " in word.text and before not in _MESSAGE_FLAGS:
            run_embedded(call, word.text)
        before = word.text


def _may_be_function(call: Call) -> None:
    """Apply the effects of calling a function that this line defines, or one that many shells have."""
    if call.name in _MOVES:
        lose_directory(call.scan)
    if call.name in call.scan.functions:
        called(call.scan, call.name)
        call.scan.origins.assign(ARGUMENTS, " ".join(word.raw for word in call.words))


_MOVES = words("z zi j ji jo autojump fasd_cd workon mkcd take cdp bd up")
"""Functions, defined in many shells, that change to a directory given by a part of its name."""
_EDITS = lazy_pattern(r"-i(?:\.\w+)?|--in-?place(?:=.*)?|--overwrite")


def _may_touch(call: Call, word: Word, before: str, *, writes: bool) -> None:
    """Rate a word, or the value in a flag, that may be a path or a URL.

    The value of an output flag is written; with `writes`, every file is, because the program edits files in place.
    """
    flag, _, value = word.text.partition("=") if word.text.startswith("-") else (before, "", word.text)
    if not value and len(flag) > 2 and flag[0] == "-" and flag[1] != "-":
        flag, value = flag[:2], flag[2:]
    if before in _MESSAGE_FLAGS and " " in value:
        return
    if "://" in value and (word.runs or UNKNOWN in value):
        call.raise_to("HIGH", Reason("sends data only known at run time to another machine", Trait.UNCERTAIN))
    elif "://" in value and flag in OUTPUTS and not _THIS_MACHINE.match(value):
        call.raise_to("HIGH", "writes to another machine")
    elif value.startswith(("/", "~", "..")) or "/." in value or flag in OUTPUTS or is_secret(value):
        home = f"{call.scan.context.home}{value[1:]}" if value.startswith("~/") else value
        call.use(word._replace(text=home), "write" if writes or flag in OUTPUTS else "read")


_THIS_MACHINE = lazy_pattern(r"\w+://(?:[^@/]*@)?(?:localhost|127(?:\.\d+){3}|\[::1\])(?=[:/]|\Z)|file:///?(?!/)")
_MESSAGE_FLAGS = words("-m --message -t --title -b --body --description --notes --comment --subject")
_MOST_WORDS = 30


def _may_run(call: Call) -> None:
    """Rate the words of an unknown program as a command that it may run; the rating is used only if it is HIGH."""
    before = ""
    for at, word in enumerate(call.words[:_MOST_WORDS]):
        first = basename(word.text.split(maxsplit=1)[0]) if word.text.strip() else ""
        if first in RUNNABLE and word.is_literal and before not in _MESSAGE_FLAGS:
            is_line = " " in word.text
            findings = call.scan.perhaps([literal(word.text)] if is_line else call.words[at:], is_line=is_line)
            call.includes(findings)
            if findings.parts:
                return
        before = word.text


def _run_values(call: Call) -> None:
    """Rate option values of an unknown program that are command lines, judging by the options' names."""
    for word, following in pairwise((*call.words[:_MOST_WORDS], literal(""))):
        flag, equals, value = word.text.partition("=")
        text = value if equals else following.text
        if " " in text and UNKNOWN not in text and _COMMAND_FLAG.fullmatch(flag):
            call.run_text(literal(text))


_COMMAND_FLAG = lazy_pattern(
    r"--(?:[\w-]+-)?(?:pager|preview|exec|execute|command|cmd|preprocessor|hook|editor|script)|--pre|--post|--on-[\w-]+|-exec"
)


def _program_at_path(call: Call, name: Word) -> None:
    if "://" in name.text:
        call.raise_to("HIGH", RUNS_URL)
    path = call.scan.absolute(name)
    if path is None:
        call.raise_to("HIGH", Reason("runs a program at an unknown path", Trait.RUNS | Trait.UNCERTAIN))
        return
    call.paths.append(path)
    run_written(call, path)
    real = call.scan.context.resolved(path)
    call.program = basename(real) if basename(real) != basename(name.text) else ""
    if any(path in part.changes or real in part.changes for part in call.scan.parts):
        call.opaque = "*"
    risk, reason = call.scan.rating(path, "read")
    if risk != "LOW":
        call.raise_to(
            "HIGH", Reason("runs a program from outside the workspace", Trait.RUNS) if risk == "MEDIUM" else reason
        )
    elif within(call.scan.context.resolved(path), call.scan.context.workspace):
        call.raise_to("MEDIUM", "runs a program of the workspace")
