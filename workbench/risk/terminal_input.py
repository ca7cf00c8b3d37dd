"""Rate text that is typed into a running program, such as a shell, an interpreter, a database client or a pager.

Text for a program that this module does not know is UNKNOWN, or HIGH if it would be HIGH as a command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk, higher
from workbench.risk.assessment import Assessment, Part, one, shortened
from workbench.risk.code import STATEMENTS, rated_code
from workbench.risk.paths import PathContext, words
from workbench.risk.programs.destructive_verbs import destroys
from workbench.risk.reason import Reason, Trait
from workbench.risk.word import literal

_GOES: Final = "goes to the program that runs, as if typed"
_UNKNOWN_EFFECT: Final = Reason("goes to a program whose use of it is unknown", Trait.UNCERTAIN)
_ANSWERS: Final = "answers a program that is high risk itself"
_ELSEWHERE: Final = Reason("runs on another machine or in a container", Trait.RUNS)


class Waiting(NamedTuple):
    """The program in the foreground of a terminal: the words of its command line, and its working directory."""

    words: tuple[str, ...] = ()
    directory: str = ""


_FIRST_WORDS: Final = 3
"""The number of leading words of a line that are searched for a destructive verb."""
_MOST_LINES: Final = 300
_CALLS: Final = lazy_pattern(r"\w\(|`")
"""Matches a call or a command in backticks, in many languages: the program may be a console of one of them."""
_DESTROYING_METHOD: Final = lazy_pattern(
    r"[\w)\]](?:\.|->|::)((?:delete|destroy|drop|truncate|purge|remove|wipe|erase|revoke)(?:[_A-Z]\w{0,40})?[!(]?)"
    r"(?=\W|\Z)"
)


def assess_typed(text: str, programs: Sequence[Waiting], context: PathContext, directory: str) -> Assessment:
    """Return the highest rating of a text among the programs that may read it; never LOW."""
    result = [_rated(text, each, context, each.directory or directory) for each in programs]
    ratings = [each for each in result if each is not None]
    if not ratings or len(ratings) < len(result):
        ratings.append(_unread(text, context, directory))
    ratings += [
        one("HIGH", _ANSWERS, text)
        for each, rated in zip(programs, result, strict=True)
        if rated is None and _is_high(each, context, each.directory or directory)
    ]
    worst = ratings[0]
    for each in ratings[1:]:
        worst = each if higher(each.risk, worst.risk) != worst.risk else worst
    return worst


def _is_high(program: Waiting, context: PathContext, directory: str) -> bool:
    """Return whether the command that waits for an answer is itself HIGH, because a yes lets it continue."""
    from workbench.risk.commands import assess_command

    return bool(program.words) and assess_command(shlex.join(program.words), context, directory).risk == "HIGH"


def _unread(text: str, context: PathContext, directory: str) -> Assessment:
    from workbench.risk.commands import assess_command

    result = assess_command(text, context, directory)
    if result.risk == "HIGH":
        return result
    if _CALLS.search(text) and (rating := rated_code(text))[0] == "HIGH":
        return one("HIGH", rating[1], text)
    if method := _DESTROYING_METHOD.search(text):
        return one(
            "HIGH", Reason(f"calls {method[1][:20]} in an unknown program", Trait.UNCERTAIN | Trait.UNRECOGNIZED), text
        )
    for line in text.splitlines()[:_MOST_LINES]:
        if verb := destroys([literal(word) for word in line.split()[:_FIRST_WORDS]], by_flag=False):
            return one("HIGH", Reason(f"gives an unknown program the verb {verb[:20]}", Trait.UNCERTAIN), text)
    return one("UNKNOWN", _UNKNOWN_EFFECT, text)


def _rated(text: str, program: Waiting, context: PathContext, directory: str) -> Assessment | None:
    argv = _started(program.words)
    consoles = _consoles(argv)
    ratings = [_by_program(text, each, context, directory) for each in consoles or (argv,)]
    worst = ratings[0]
    for rating in ratings[1:]:
        worst = rating if worst is None or (rating and higher(rating.risk, worst.risk) != worst.risk) else worst
    if worst and consoles and worst.risk != "HIGH" and (method := _DESTROYING_METHOD.search(text)):
        return one("HIGH", f"calls {method[1][:20]}, which may delete data", text)
    return worst


def _started(argv: Sequence[str]) -> list[str]:
    """Return the command line without programs that only start another one: `bundle exec`, `python manage.py`."""
    strings = list(argv)
    while len(strings) > 2 and (strings[0].rpartition("/")[2], strings[1]) in _STARTERS:
        del strings[:2]
    while len(strings) > 1 and _name(strings)[0] in _INTERPRETERS and _has_console(strings[1]):
        del strings[0]
    return strings


def _consoles(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the command lines of the prompts that a framework's console may open; empty if it is no such console."""
    name, rest = _name(argv)
    if name == "beam.smp":
        return [("iex",)] if any("iex" in word for word in rest) else [("erl",)] if "-noshell" not in rest else []
    verb = next((word for word in rest if not word.startswith("-")), _NO_VERB)
    return [(each,) for each in _CONSOLES.get((name, verb)) or _CONSOLES.get((name, "*"), ())]


def _has_console(script: str) -> bool:
    return any(name == _name([script])[0] for name, _ in _CONSOLES)


def _by_program(text: str, argv: Sequence[str], context: PathContext, directory: str) -> Assessment | None:
    name, rest = _name(argv)
    if name in _SHELLS:
        return None if _runs_a_file(rest) else _at_least(_shell(text, context, directory))
    if name in _PYTHONS:
        return _python(name, rest, text, context, directory)
    read = _READERS.get(name)
    if read is None or (name in _REPLS and _runs_a_file(rest)):
        return None
    risk, reason = read(text)
    return Assessment(risk, (reason,), (Part(shortened(text), risk, reason),))


def _name(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the program's name in lower case, without directory and version, and the words after it."""
    first = argv[0].lstrip("-").rpartition("/")[2] if argv else ""
    return re.sub(r"[-.]?[\d.]+\Z", "", first).casefold(), list(argv[1:])


def _runs_a_file(rest: Sequence[str]) -> bool:
    """Return whether an interpreter runs a script or code, which then reads the text instead of the interpreter."""
    if any(re.fullmatch(r"-\w*i\w*|--interactive", word) for word in rest):
        return False
    return any(not word.startswith(("-", "+")) or word in {"-c", "-e", "-m", "--eval"} for word in rest)


def _at_least(assessment: Assessment) -> Assessment:
    return assessment if assessment.risk != "LOW" else assessment._replace(risk="MEDIUM", reasons=(_GOES,))


def _shell(text: str, context: PathContext, directory: str) -> Assessment:
    from workbench.risk.commands import assess_command

    return assess_command(text, context, directory)


def _python(name: str, rest: list[str], text: str, context: PathContext, directory: str) -> Assessment | None:
    """Rate text for the prompt of Python, IPython or pdb; return None if a script reads the text instead."""
    from workbench.risk.cells import assess_cell, assess_python

    debugs = name in {"pdb", "ipdb"} or (rest[:1] == ["-m"] and rest[1:2] in (["pdb"], ["ipdb"]))
    if debugs:
        if _PDB.fullmatch(text.strip()):
            return one("MEDIUM", _GOES, text)
        return _at_least(assess_python(_PDB_RUNS.sub("", text.strip()), context, directory))
    is_ipython = name == "ipython" or (rest[:1] == ["-m"] and rest[1:2] == ["IPython"])
    is_prompt = is_ipython or rest[:2] in (["-m", "code"], ["-m", "asyncio"])
    if _runs_a_file(rest) and not is_prompt:
        return None
    return _at_least((assess_cell if is_ipython else assess_python)(text.strip(), context, directory))


_PDB: Final = lazy_pattern(
    r"(?:h|help|w|where|bt|d|down|u|up|b|break|tbreak|cl|clear|disable|enable|ignore|condition|s|step|n|next|unt|until|"
    r"r|return|c|cont|continue|j|jump|l|list|ll|longlist|a|args|whatis|source|undisplay|q|quit|exit)(?:\s+[\w.:/]+)*"
)
_PDB_RUNS: Final = lazy_pattern(r"(?:!|p|pp|display|commands|interact)\s+|!")


def _code(text: str) -> tuple[Risk, str]:
    if _ESCAPES.match(text):
        return "HIGH", Reason("runs a command, or loads or writes a file", Trait.RUNS)
    risk, reason = rated_code(text)
    return risk, reason


_ESCAPES: Final = lazy_pattern(
    r"\s*(?:!|:!|\?\?!|;\s*\w|\.(?:load|save|editor)\b|:(?:load|l|script|sh|cmd|def|add)\b|/(?:open|save|edit|env)\b|"
    r"#(?:use|load)\b|\](?:add|rm|dev|up|build|test)\b|(?:load|source|consult|edit|require_relative)\b|\[['\w][^\]]*\]\.)"
)


def _other_machine(text: str) -> tuple[Risk, str]:
    return ("MEDIUM", _ELSEWHERE) if _LOOKS.fullmatch(text.strip()) else ("HIGH", _ELSEWHERE)


_LOOKS: Final = lazy_pattern(r"(?:ls|pwd|whoami|hostname|uptime|date|id|exit|logout|quit|uname|w)(?:\s+-\w+)*")
_TRANSFERS: Final = lazy_pattern(
    r"(?:ls|l?dir|pwd|lpwd|lls|help|\?|bye|quit|exit|cd|status|version|binary|ascii|passive)(?:\s+[\w./-]+)?"
)


def _transfer(text: str) -> tuple[Risk, str]:
    harmless = all(_TRANSFERS.fullmatch(line.strip()) for line in text.splitlines() if line.strip())
    return ("MEDIUM", "looks at another machine") if harmless else ("HIGH", "moves or changes files on another machine")


def _pager(text: str) -> tuple[Risk, str]:
    runs = re.search(r"[!|:vsoO&]", _SEARCHES.sub("", text))
    return (
        ("HIGH", Reason("may make the pager run a command or write a file", Trait.RUNS))
        if runs
        else ("MEDIUM", "steers a pager")
    )


_SEARCHES: Final = lazy_pattern(r"^\d*[/?&][^\x00-\x1f\x7f-\x9f]*$", re.MULTILINE)
"""Matches lines that search or filter, but no control codes, which may end the search and turn the rest into keys."""


def _editor(text: str) -> tuple[Risk, str]:
    harmless = re.fullmatch(rf"\s*(?:{_OF_EDITOR})?\s*", text)
    return ("MEDIUM", "ends an editor") if harmless else ("HIGH", Reason("gives an editor commands to run", Trait.RUNS))


_OF_EDITOR: Final = (
    r":?q!?|:?qa!?|:?wq?|:?wqa|:?x|:\d+|[jkhlGgnNu\d]+|[/?][\w .-]+|:noh\w*|:sy\w* on|:undo|:help?( \w+)?|"
    r":set? (?:no|inv)?(?:number|nu|relativenumber|rnu|wrap|list|hlsearch|hls|incsearch|ignorecase|ic|smartcase|paste|"
    r"spell|cursorline|expandtab|autoindent|ruler|(?:tabstop|ts|shiftwidth|sw|textwidth|tw)=\d+)"
)
"""Commands that move, show, search, save or quit; options not listed here may name a program or a file."""


_STARTERS: Final = frozenset(
    {
        *((name, "run") for name in words("uv poetry pipenv pdm hatch rye pixi")),
        *(("bundle", "exec"), ("pnpm", "exec"), ("npm", "exec")),
    }
)
"""Programs and their verbs that start the program named by the words after them."""
_INTERPRETERS: Final = words("python pypy ruby php node npx spring")


def _console_rows() -> Mapping[tuple[str, str], tuple[str, ...]]:
    rows = ([part.split() for part in line.split("|")] for line in _CONSOLE_TABLE.strip().splitlines())
    return {(name, verb): tuple(prompts) for names, verbs, prompts in rows for name in names for verb in verbs}


_CONSOLE_TABLE: Final = """
manage.py django-admin | shell shell_plus | ipython
manage.py django-admin | dbshell | psql mysql sqlite3
flask scrapy | shell | ipython
ipython | - | ipython
irb pry | - | irb
ts-node tsx | - | node
jupyter | console | ipython
rails | console c | irb
rails | dbconsole db | psql mysql sqlite3
console | * | irb
artisan | tinker | php
wp | shell | php
drush | php php:cli core:cli | php
lein | repl | clj
sbt | console consoleQuick | scala
bun deno nix | repl | node
iex | * | iex
"""
_CONSOLES: Final = _console_rows()
"""The prompts that a program and its verb open, as `PROGRAMS | VERBS | PROMPTS`; `*` is any verb, `-` none."""
_NO_VERB: Final = "-"


_SHELLS: Final = words("sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash busybox")
_PYTHONS: Final = words("python pypy ipython pdb ipdb bpython ptpython")
_REPLS: Final = words(
    "node nodejs irb ruby pry php lua julia ghci deno bun jshell r octave scala clj clojure tclsh guile racket sbcl "
    "erl iex elixir perl swipl groovysh kotlin ocaml utop gawk gnuplot maxima gp sage"
)
_BY_KIND: Final[Mapping[Callable[[str], tuple[Risk, str]], frozenset[str]]] = {
    _code: _REPLS,
    _other_machine: words("ssh mosh autossh telnet docker podman nerdctl kubectl oc nc ncat socat vagrant lxc incus"),
    _transfer: words("ftp sftp lftp tftp smbclient"),
    _pager: words("less more man most"),
    _editor: words("vi vim nvim ex view emacs nano ed"),
}
_READERS: Final = {**STATEMENTS, **{name: read for read, names in _BY_KIND.items() for name in names}}
