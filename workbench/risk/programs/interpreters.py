"""Rules for programs that run code: shells and interpreters."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.code import rated_code
from workbench.risk.programs.destructive_verbs import destroys
from workbench.risk.programs.exposure import anybody_writes
from workbench.risk.programs.rule import Rule, named, words
from workbench.risk.reason import (
    LOADS_CODE,
    RUNS_CODE,
    RUNS_OUTSIDE_SCRIPT,
    RUNS_PIPED,
    RUNS_PROJECT,
    RUNS_UNKNOWN_CODE,
    RUNS_UNKNOWN_SCRIPT,
    RUNS_UNSEEN,
    STARTS_SHELL,
    STARTS_SHELL_UNSEEN,
    Reason,
    Trait,
)
from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.shell.written_files import run_embedded, run_written
from workbench.risk.word import UNKNOWN, Word, literal

_MODULES_HIGH = {
    "pty": STARTS_SHELL,
    "code": STARTS_SHELL,
    "asyncio": STARTS_SHELL,
    "smtpd": "opens a port",
    "pyftpdlib": "opens a port",
    **dict.fromkeys(("ftplib", "telnetlib", "smtplib", "poplib", "nntplib"), "connects to any host"),
    **dict.fromkeys(("webbrowser", "turtledemo", "idlelib"), RUNS_UNSEEN),
    **dict.fromkeys(("keyring", "pickle"), Reason("exposes what is stored, or runs it", Trait.RUNS)),
    "ensurepip": Reason("changes the Python installation", Trait.RUNS),
}
_MODULES = words(
    "pip uv pipx poetry pipenv hatch pdm twine pytest black isort mypy ruff tox nox build coverage unittest alembic "
    "flask celery invoke mkdocs jupyter"
)
_LOW_MODULES = {"json.tool", "this", "platform", "site", "sysconfig", "calendar", "tokenize", "ast", "dis"}


def run_script(call: Call, script: Word) -> None:
    """Rate running a script file: MEDIUM in the project, HIGH from elsewhere."""
    call.raise_to("MEDIUM", "runs a script of the project")
    path = call.scan.absolute(script)
    if script.runs or path is None or UNKNOWN in script.text or anybody_writes(call, path):
        call.raise_to("HIGH", RUNS_UNKNOWN_SCRIPT)
        return
    call.paths.append(path)
    run_written(call, path)
    risk, reason = call.scan.rating(path, "read")
    if risk != "LOW":
        call.raise_to("HIGH", RUNS_OUTSIDE_SCRIPT if risk == "MEDIUM" else reason)


def run_module(call: Call, rest: list[Word]) -> None:
    """Rate `python -m` by its module."""
    name = rest[0].text
    if name in _LOW_MODULES:
        files = [word for word in rest[1:] if not word.text.startswith("-")]
        for at, word in enumerate(files):
            call.use(word, "write" if at and name == "json.tool" else "read")
    elif name in _MODULES_HIGH:
        call.raise_to("HIGH", _MODULES_HIGH[name])
    elif name.partition(".")[0] == "workbench":
        call.run_words([literal("ohw"), *rest[1:]])
    elif name.casefold() in {"ipython", "sqlite3"}:
        call.raise_to("MEDIUM", RUNS_CODE)
        call.run_words([literal(name.casefold()), *rest[1:]])
    elif name in _MODULES:
        call.run_words(rest)
    elif UNKNOWN in name:
        call.raise_to("HIGH", RUNS_UNKNOWN_CODE)
    else:
        call.raise_to("MEDIUM", RUNS_PROJECT)
        _module_files(call, name, rest[1:])
        verb_of_script(call, rest[1:])


def _unpacks(call: Call, rest: list[Word], operands: list[Word]) -> None:
    if {"-e", "--extract"} & {word.text for word in rest} and len(operands) > 1:
        call.use(operands[1], "write")
    call.writes_anywhere()


_SERVER = Spec(values=words("-b --bind -p --protocol"), paths=uses("deep", "-d --directory"), operands="text")


def _serves(call: Call, rest: list[Word]) -> None:
    """Rate `python -m http.server`, which serves files to other machines unless it is bound to this one."""
    before, call.words = call.words, rest
    options, _ = call.options(_SERVER)
    bound = [option.value.text for option in options if option.flag in {"-b", "--bind"} and option.value]
    is_local = bool(bound) and bool(_THIS_MACHINE.fullmatch(bound[-1]))
    call.raise_to(*(("MEDIUM", "serves files to this machine") if is_local else ("HIGH", _SERVES)))
    call.apply(_SERVER)
    if not any(option.flag in {"-d", "--directory"} for option in options):
        call.use(literal("."), "deep")
    call.words = before


_SERVES = "serves files to other machines"
_THIS_MACHINE = lazy_pattern(r"127(?:\.\d+){3}|localhost|::1")


def _module_files(call: Call, name: str, rest: list[Word]) -> None:
    """Rate standard library modules that write to their operands or run them."""
    operands = [word for word in rest if not word.text.startswith("-")]
    if name == "http.server":
        _serves(call, rest)
    elif name in {"venv", "virtualenv", "zipapp", "compileall", "py_compile"}:
        for word in operands:
            call.use(word._replace(text=f"{word.text.rstrip('/')}/made"), "write")
    elif name in {"zipfile", "tarfile"}:
        _unpacks(call, rest, operands)
    elif name == "timeit":
        _times(call, rest)
    elif name == "pydoc" and not _SERVES_DOCUMENTS.isdisjoint(word.text[:2] for word in rest):
        call.raise_to("HIGH", "opens a port")
    elif name in _RUN_SCRIPTS:
        _runs_script(call, name, rest, operands)


def _times(call: Call, rest: list[Word]) -> None:
    for word in rest:
        if not re.match(r"-[nrusvp]|\d", word.text):
            call.runs_python(word.text)


def _runs_script(call: Call, name: str, rest: list[Word], operands: list[Word]) -> None:
    """Rate a module that runs a script or, after `-m`, another module."""
    strings = [word.text for word in rest]
    if "-m" in strings[:-1]:
        run_module(call, rest[strings.index("-m") + 1 :])
    elif operands:
        run_script(call, operands[-1] if name == "trace" else operands[0])


_RUN_SCRIPTS = words("pdb trace cProfile profile runpy")
_SERVES_DOCUMENTS = words("-p -b -n")
_CODE_FLAGS = {
    "python": words("-c"),
    "pypy": words("-c"),
    "ipython": words("-c"),
    "perl": words("-e -E"),
    "ruby": words("-e"),
    "node": words("-e --eval -p --print"),
    "nodejs": words("-e --eval -p --print"),
    "deno": words("eval"),
    "bun": words("-e --eval"),
    "php": words("-r"),
    "lua": words("-e"),
    "Rscript": words("-e"),
    "osascript": words("-e"),
    "groovy": words("-e"),
    "scala": words("-e"),
    "ghci": words("-e"),
    "elixir": words("-e --eval"),
    "iex": words("-e --eval"),
    "erl": words("-eval"),
    "julia": words("-e --eval"),
    "pwsh": words("-c -Command -EncodedCommand"),
}
_PYTHON = lazy_pattern(r"(?:python|pypy|ipython)[\d.]*w?")

_LOADED = lazy_pattern(r"-[rI](?:/|~|\.\.)")
_POWER_CODE = lazy_pattern(r"-(?:c\w*|e|ec|en\w*)\Z", re.I)
OTHER_SHELL = Reason("runs a line of a shell that is not read here", Trait.RUNS)
_VALUES = {**dict.fromkeys(("python", "pypy"), words("-W -X --check-hash-based-pycs"))}
"""Flags whose value is the next word."""
_TAKES = {"ruby": "rIxCFKTE", "perl": "MmICFxD"}
"""Letters of flags whose value is in the same word: `-rfileutils`."""


_NAMES_OPTION = lazy_pattern(r"[-+][a-zA-Z]*[oO][a-zA-Z]*")
"""Flags of shells whose value is the name of an option, not the script: `-euo pipefail`."""


def _shell(call: Call) -> None:
    strings = [word.text for word in call.words]
    at = next((at for at, text in enumerate(strings) if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", text)), None)
    if at is not None:
        at = _before_command(strings, at)
    if at is not None and at + 1 < len(strings):
        call.run_text(call.words[at + 1])
        call.raise_to("MEDIUM", "runs a command line")
        return
    if {"-i", "-l", "--login", "--init-file", "--rcfile", "-il", "-li"} & {text.partition("=")[0] for text in strings}:
        call.raise_to("HIGH", STARTS_SHELL_UNSEEN)
    named = {at + 1 for at, text in enumerate(strings) if _NAMES_OPTION.fullmatch(text)}
    operands = [word for at, word in enumerate(call.words) if word.text[:1] not in {"-", "+"} and at not in named]
    if operands and "-s" not in strings:
        run_script(call, operands[0])
        verb_of_script(call, operands[1:])
    elif "-n" in strings and not call.piped:
        return
    else:
        _from_stdin(call)


def _before_command(strings: list[str], at: int) -> int:
    """Return the index just before the command line of a `-c` flag, skipping other flags and the names of options."""
    at += len(re.findall("[oO]", strings[at]))
    while at + 2 < len(strings) and strings[at + 1][:1] in {"-", "+"}:
        at += 1 + len(re.findall("[oO]", strings[at + 1])) * (strings[at + 1][1:2] != "-")
    return min(at, len(strings) - 2) if len(strings) > 1 else at


def _other_shell(call: Call) -> None:
    """Rate a shell with its own language as if it were bash, with little certainty."""
    _shell(call)
    call.opaque = "*"


def _from_stdin(call: Call) -> None:
    if call.stdin is not None:
        call.raise_to("MEDIUM", "runs a command line")
        call.run_text(Word(call.stdin, call.stdin))
    elif call.piped or call.has_input:
        call.raise_to("HIGH", RUNS_PIPED)
        call.opaque = "*"
        call.writes_anywhere()
    else:
        call.raise_to("HIGH", STARTS_SHELL_UNSEEN)


class _Way(NamedTuple):
    """How an interpreter accepts code: the flags before code, and the flags that take another value.

    `takes` are the letters of flags whose value is in the same word, and `values` the flags whose value is the next
    word.
    """

    flags: frozenset[str]
    takes: str
    values: frozenset[str]

    def flag(self, text: str) -> str | None:
        """Return the part of a word that announces code, or None if the word does not."""
        return _code_flag(text, self.flags, self.takes)


def interpreter(call: Call) -> None:
    """Rate the script, code or module that is passed to an interpreter."""
    name = re.sub(r"[\d.]+\Z", "", call.name)
    way = _Way(_CODE_FLAGS.get(name, words("-e -c")), _TAKES.get(call.name, "-"), _VALUES.get(name, frozenset()))
    rest = list(call.words)
    call.raise_to("MEDIUM", RUNS_CODE)
    _other_ways(call)
    if call.name in _EDITS:
        _edits(call, way)
    text = ""
    while rest:
        word = rest.pop(0)
        before, text = text, word.text
        if text == "-" or not text:
            break
        if _starts_code(call, word, rest, way):
            return
        if not text.startswith("-"):
            if before not in way.values and _starts_script(call, word, rest, way, behind_flag=before.startswith("-")):
                return
        elif _LOADS.match(text) and rest:
            call.raise_to("MEDIUM" if text == "-i" else "HIGH", LOADS_CODE)
    _code_from_stdin(call)


_EDITS = {"perl": lazy_pattern(r"-[a-zA-HJ-LN-Z0-9]*?i"), "ruby": lazy_pattern(r"-[a-zA-DF-HJ-Z0-9]*?i")}
"""Flags that make the interpreter edit the files after the code in place: `-pi`, `-i.bak`."""


def _edits(call: Call, way: _Way) -> None:
    """Rate the files that a one-liner reads line by line or edits in place."""
    code = next((at for at, word in enumerate(call.words) if way.flag(word.text) is not None), None)
    if code is None:
        return
    flags = [word.text for word in call.words[: code + 1] if word.text.startswith("-")]
    writes = any(_EDITS[call.name].match(flag) for flag in flags)
    behind = len(call.words[code].text) > len(way.flag(call.words[code].text) or "")
    rest = call.words[code + (1 if behind else 2) :]
    ended = False
    for at, word in enumerate(rest):
        if word.text.startswith("-") and not ended:
            ended = word.text == "--"
            writes |= bool(_EDITS[call.name].match(word.text))
        elif ended or at == 0 or way.flag(rest[at - 1].text) is None:
            call.use(word, "write" if writes else "read")


_LOADS = lazy_pattern(r"-(?:i|r|I|M|-require|-import|-loader|-experimental-loader|d)\Z")


def _starts_code(call: Call, word: Word, rest: list[Word], way: _Way) -> bool:
    """Rate the module or code after a flag; return False if the word is not a flag for code."""
    module = _MODULE.fullmatch(word.text) if _PYTHON.fullmatch(call.name) else None
    named = [literal(module[1])] if module and module[1] else []
    if (module or word.text == "-m") and (named or rest):
        run_module(call, [*named, *rest])
        return True
    flag = way.flag(word.text)
    if flag is None:
        return False
    if len(word.text) > len(flag):
        _code(call, Word(word.text[len(flag) :], word.raw, word.is_pattern, word.runs))
    else:  # the flags of `deno eval` and their values precede its code
        _code(call, rest[-1 if flag == "eval" else 0] if rest else word)
    return True


def _starts_script(call: Call, word: Word, rest: list[Word], way: _Way, *, behind_flag: bool) -> bool:
    """Rate a word as a script; return False if code follows, because the word may be the value of a flag."""
    run_script(call, word)
    if behind_flag and any(each.text == "-m" or way.flag(each.text) is not None for each in rest[:_MOST_AHEAD]):
        return False
    verb_of_script(call, rest)
    return True


def verb_of_script(call: Call, arguments: list[Word]) -> None:
    """Rate a script or module of the project HIGH if one of its arguments is a destructive verb, such as `delete`."""
    if verb := destroys(arguments, by_flag=False):
        call.raise_to("HIGH", f"a script of the project, run with {verb[:20]}")


_MODULE = lazy_pattern(r"-[bBdEiIOPqRsSuvx]*m(.*)", re.DOTALL)
"""Matches Python's flag for a module, which may be in the same word: `-mpip`, `-Im pip`."""
_MOST_AHEAD = 12
"""The number of words after a script that are searched for a flag for code."""


def _other_ways(call: Call) -> None:
    strings = [word.text for word in call.words]
    if call.name == "osascript":
        call.raise_to("HIGH", Reason("steers other programs", Trait.RUNS))
    if call.name == "pwsh" and any(_POWER_CODE.match(text) for text in strings):
        call.raise_to("HIGH", OTHER_SHELL)
    _serves_files(call, strings)
    if any(_LOADED.match(text) for text in strings):
        call.raise_to("HIGH", LOADS_CODE)


def _serves_files(call: Call, strings: list[str]) -> None:
    """Rate the web servers of php and ruby, which serve files to other machines unless they are bound to this one."""
    flag = "-S" if call.name == "php" else "-b" if call.name == "ruby" and {"-run", "httpd"} <= {*strings} else ""
    if not flag or (flag == "-S" and not any(text.startswith("-S") for text in strings)):
        return
    bound = [value for text, value in pairwise(strings) if text == flag]
    bound += [text[2:] for text in strings if text.startswith(flag) and text != flag]
    hosts = [re.sub(r"[\[\]]|:\d+\Z", "", each) for each in bound]
    is_local = bool(hosts) and all(map(_THIS_MACHINE.fullmatch, hosts))
    call.raise_to(*(("MEDIUM", "serves files to this machine") if is_local else ("HIGH", _SERVES)))


def _code_flag(text: str, code_flags: frozenset[str], takes: str) -> str | None:
    """Return the part of a word that announces code (`-c`, `-lne`, `--eval`), or None if there is none."""
    for flag in code_flags:
        if text == flag or (flag.startswith("--") and text.startswith(f"{flag}=")):
            return text if text == flag else f"{flag}="
        if len(flag) == 2 and re.match(rf"-(?![{takes}])[a-zA-Z0-9]*{flag[1]}", text) and not text.startswith("--"):
            return text[: text.index(flag[1]) + 1]
    return None


def _code_from_stdin(call: Call) -> None:
    call.is_code_read = True
    if call.stdin is not None:
        _code(call, Word(call.stdin, call.stdin))
    elif call.piped or call.has_input:
        call.raise_to("HIGH", RUNS_PIPED)
        call.opaque = "*"
        call.writes_anywhere()


def _code(call: Call, code: Word) -> None:
    if UNKNOWN in code.text:
        call.raise_to("HIGH" if code.runs else "MEDIUM", RUNS_UNKNOWN_CODE)
    elif _PYTHON.fullmatch(call.name):
        call.runs_python(code.text)
        return
    call.raise_to(*rated_code(code.text))
    run_embedded(call, code.text)
    call.runs_code(code.text)


_JAVA = Spec(
    "MEDIUM",
    RUNS_PROJECT,
    operands="text",
    flags=flags("HIGH", LOADS_CODE, "-javaagent -agentlib -agentpath -Xbootclasspath -javaagent:"),
)
RULES: dict[str, Rule] = {
    **dict.fromkeys(words("sh bash zsh dash ksh mksh ash fish csh tcsh rbash busybox-sh yash osh ysh"), _shell),
    **dict.fromkeys(words("nu xonsh elvish ion"), _other_shell),
    **dict.fromkeys(
        words(
            "python pypy ipython perl ruby node nodejs php lua Rscript deno osascript julia pwsh "
            "groovy scala elixir iex erl ghci "
            "tclsh wish expect guile racket sbcl clojure clj jshell ts-node irb swipl octave"
        ),
        interpreter,
    ),
    **named(_JAVA, "java kotlin dotnet-script wasmtime wine"),
}
