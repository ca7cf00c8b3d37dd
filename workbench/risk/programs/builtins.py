"""Rules for the builtins of bash."""

from __future__ import annotations

import re
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from workbench.files.recorded_stat import MOST_TEXT
from workbench.files.recorded_stat import text as text_of
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.environment import MAKES_NAMEREFS, NAMEREF, makes_nameref, names_in, poisons
from workbench.risk.paths import within
from workbench.risk.programs.endless import rate_format
from workbench.risk.programs.interpreters import run_script, verb_of_script
from workbench.risk.programs.rule import Rule, words
from workbench.risk.reason import PRINTS_VARIABLES, RUNS_PIPED, Reason, Trait
from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.shell.conditions import files_tested
from workbench.risk.shell.control import change, lose_directory, may_add_test, pop, push
from workbench.risk.shell.grammar import may_be_option
from workbench.risk.shell.origins import ARGUMENTS, RUNS, any_holds_command, holds_command, quotes_command
from workbench.risk.shell.written_files import text_written_to
from workbench.risk.word import UNKNOWN, Word

if TYPE_CHECKING:
    from workbench.risk.shell.scan import Scan

_CONTROL = lazy_pattern(
    rf"(?:\x1b|\\(?:0?33|e|E|x1[bB]|u0*1[bB]))(?!\[(?:[\d;:]|%[sd]|{UNKNOWN}|\$)*m|\Z|\s*\Z)|\\x9[bd]|\\u009[bd]|[\x9b\x9d]",
    re.I,
)


_ACTIVATES = ("/bin/activate", "/Scripts/activate")
"""Activation scripts of Python environments, which change neither the directory nor HOME."""
_MAY_MOVE = lazy_pattern(
    r"(?<![\w-])(?:cd|pushd|popd|eval|source|\.|exec|alias|trap)(?=\s|;|$)|CDPATH|PROMPT_COMMAND", re.MULTILINE
)
_ASSIGNS = lazy_pattern(r"(?<![\w$])[A-Za-z_]\w*(?=\+?=)|(?<=read )\w+|(?<=printf -v )\w+|(?<=mapfile )\w+")
_LEAVES = Reason("leaves the workspace", Trait.READS)
_LASTS = "changes the shell for later commands"
_MAY_RUN = "has a word that may become several, one of which may run a command"
_ONE_NAME = lazy_pattern(r"[^*?]*")
_HARMLESS_SET = lazy_pattern(r"[-+][euxvP]*o?")
_HARMLESS_OPTIONS = words("pipefail errexit nounset xtrace verbose physical")
_MEANINGS = words("expand_aliases extdebug sourcepath assoc_expand_once array_expand_once execfail varredir_close")


def _prints(call: Call) -> None:
    """Rate echo and printf: harmless, except for control codes, secrets, and a variable name that runs a command."""
    for word in call.words:
        call.use(word, "text")
        if _CONTROL.search(word.text):
            call.raise_to("HIGH", "prints codes that change the terminal")
    if call.name == "printf":
        rate_format(call)
        _formats(call)
    if call.name == "printf" and call.words and call.words[0].text.startswith("-v"):
        first, *rest = call.words
        to, displayed = (
            (rest[:1], rest[2:]) if first.text == "-v" else ([first._replace(text=first.text[2:])], rest[1:])
        )
        call.words = [*to, *displayed]
        _names(call)
        _name_recognized(call, to)
        for name in to:
            call.scan.origins.assign(name.text, " ".join(word.raw for word in displayed))


def _formats(call: Call) -> None:
    """Rate printf's words up to the format; a word that may become `-v a[$(command)]` may run a command."""
    words = list(call.words)
    while len(words) > 1 and words[0].text == "-v":
        if words[1].spreads:
            call.raise_to("MEDIUM", _MAY_RUN)
        words = words[2:]
    if not words:
        return
    first = words[0]
    is_name = words[1:] and first.text.startswith(UNKNOWN) and first.text.endswith((UNKNOWN, "]"))
    if first.splits or may_be_option(first) or is_name:
        call.raise_to("MEDIUM", _MAY_RUN)


def _name_recognized(call: Call, words: list[Word]) -> None:
    if any(UNKNOWN in word.text for word in words):
        call.raise_to("HIGH", Reason("sets or reads a variable only known at run time", Trait.UNCERTAIN))


def _names(call: Call) -> None:
    """Rate names of variables, whose subscripts may run commands; known values of all variables are forgotten."""
    call.scan.forget()
    if call.name in MAKES_NAMEREFS and any(makes_nameref(word) for word in call.words):
        call.raise_to("HIGH", NAMEREF)
        call.scan.distrust(names_in(" ".join(call.argv)))
    for word in call.words:
        if holds_command(word.text) or holds_command(word.raw):
            call.raise_to("HIGH", RUNS)
        if word.matches and "=" not in word.text and not _ONE_NAME.fullmatch(word.text):
            call.raise_to("MEDIUM", "takes the names of files for names of variables")
        name = re.sub(r"\A-\w*?a(?=\w)", "", word.text) if call.name == "read" else word.text
        result = poisons(name.partition("=")[0], "", "")
        if result and not name.startswith("-"):
            call.raise_to(*result)


def _read(call: Call) -> None:
    _is_fed(call)
    _filled(call, "-d -i -n -N -p -t -u")
    call.words = [word for word in call.words if word.text != "REPLY"]
    _names(call)


def _filled(call: Call, values: str) -> None:
    """Assign the input to the named variables; the subscript of a name is evaluated first."""
    options, operands = call.options(Spec(values=words(values) | {"-a", "-C", "-c", "-O", "-s"}))
    named = [option.value for option in options if option.flag == "-a" and option.value]
    for word in [*named, *operands]:
        call.scan.origins.add_arithmetic(word.raw.partition("[")[2])
        if UNKNOWN in word.text:
            call.scan.origins.refer(call.text, word.raw.strip("\"'${}"))
        elif call.stdin is not None:
            call.scan.origins.assign(word.text, call.stdin)
        else:
            call.scan.origins.outside(word.text)
    if not named and not operands:
        call.scan.origins.outside("REPLY" if call.name == "read" else "MAPFILE")


def _is_fed(call: Call) -> None:
    """Search the whole line for a quoted command, because the input may come from after a loop or through a pipe."""
    if holds_command(call.stdin or "") or quotes_command(call.scan.reader.source.decode(errors="replace")):
        call.raise_to("HIGH", RUNS)


def _let(call: Call) -> None:
    """Rate `let`: each word is an arithmetic expression."""
    for word in call.words:
        call.scan.origins.add_arithmetic(word.raw.strip("\"'"))
    _names(call)
    for word in call.words:
        name = re.match(r"[A-Za-z_]\w*(?=[-+*/%]?=(?!=))", word.text)
        if name:
            call.scan.origins.number(name[0])


def _getopts(call: Call) -> None:
    call.scan.origins.outside("OPTARG")
    _names(call)


def _mapfile(call: Call) -> None:
    _is_fed(call)
    _filled(call, "-d -n -O -s -u -C -c")
    _names(call)
    if any(word.text.startswith("-C") for word in call.words):
        call.raise_to("HIGH", Reason("runs a command for each line", Trait.RUNS))


def _cd(call: Call) -> None:
    operands = call.options(Spec())[1]
    if operands and operands[0].text != "-":
        _looked_into(call, operands[0])
    elif not operands:
        call.raise_to("MEDIUM", _LEAVES)
    change(call.scan, operands[0] if operands else None)


def _looked_into(call: Call, directory: Word) -> None:
    call.use(directory, "read")
    if call.risk == "MEDIUM" and not call.unplaced:
        call.reason = _LEAVES


def _pushd(call: Call) -> None:
    options, operands = call.options(Spec())
    directory = operands[0] if operands and not options else None
    if directory is not None and not directory.text.startswith("+"):
        _looked_into(call, directory)
    push(call.scan, directory)


def _popd(call: Call) -> None:
    pop(call.scan, plain=not call.words)


def _eval(call: Call) -> None:
    call.raise_to("MEDIUM", "runs its arguments as a command")
    if any(UNKNOWN in word.text for word in call.words):
        call.scan.forget_all()
        lose_directory(call.scan)
    call.run_text(Word(" ".join(word.text for word in call.words), call.text))


def _source(call: Call) -> None:
    if not call.words:
        return
    script = call.words[0]
    path = call.scan.absolute(script)
    code = text_written_to(call.scan, path) or text_of(path) if path else ""
    run_script(call, script)
    verb_of_script(call, call.words[1:])
    _sourced(call.scan, path, code)
    if call.piped or script.runs or script.text in {"-", "/dev/stdin"}:
        call.raise_to("HIGH", RUNS_PIPED)


def _sourced(scan: Scan, path: str | None, code: str) -> None:
    """Forget what the sourced script at a path may have changed: variables, and the directory if the script may change
    it.
    """
    if path is not None and path.endswith(_ACTIVATES):
        scan.forget()
        return
    scan.forget_all()
    is_read = path is not None and within(scan.context.resolved(path), scan.context.workspace) and len(code) < MOST_TEXT
    if not is_read or _MAY_MOVE.search(code):
        lose_directory(scan)


def _trap(call: Call) -> None:
    if not call.words or call.words[0].text in {"-p", "-l"}:
        return
    if call.words[0].text in {"-", ""}:
        call.raise_to("MEDIUM", _LASTS)
        return
    call.raise_to("MEDIUM", "runs a command later")
    values = dict(call.scan.values)
    call.run_text(call.words[0])
    call.scan.volatile.update(_ASSIGNS.findall(call.words[0].text))
    call.scan.keep_values(values)
    if {word.text.upper().removeprefix("SIG") for word in call.words[1:]} & {"DEBUG", "RETURN", "ERR"}:
        call.raise_to("HIGH", Reason("runs a command around each later command", Trait.RUNS))


def _alias(call: Call) -> None:
    if any("=" in word.text or UNKNOWN in word.text for word in call.words):
        call.raise_to("HIGH", Reason("replaces a command", Trait.RUNS))
        call.opaque = "*"


def _set(call: Call) -> None:
    if not call.words:
        call.raise_to("MEDIUM", PRINTS_VARIABLES)
    if any_holds_command(call.words):
        call.raise_to("HIGH", RUNS)
    if call.words:
        call.scan.origins.assign(ARGUMENTS, " ".join(word.raw for word in call.words))
    if call.words and (call.words[0].splits or may_be_option(call.words[0])):
        call.raise_to("MEDIUM", _LASTS)
    strings = [word.text for word in call.words]
    if any(re.fullmatch(r"-[a-z]*e[a-z]*", text) for text in strings) or {"-o", "errexit"} <= set(strings):
        call.scan.stops = True
    if any(re.fullmatch(r"\+[a-zA-Z]*P[a-zA-Z]*", text) for text in strings) or {"+o", "physical"} <= set(strings):
        call.raise_to("HIGH", "changes where cd leads")
    _options_set(call, strings)


def _options_set(call: Call, options: list[str]) -> None:
    """Rate shell options: those that make the shell stricter or show its commands are harmless, all others MEDIUM."""
    for text in takewhile(lambda text: text[:1] in {"-", "+"} and text not in {"-", "--"}, options):
        if not _HARMLESS_SET.fullmatch(text):
            call.raise_to("MEDIUM", _LASTS)
    named = [value for flag, value in pairwise(options) if re.fullmatch(r"[-+][a-z]*o", flag)]
    if not _HARMLESS_OPTIONS.issuperset(named):
        call.raise_to("MEDIUM", _LASTS)


def _shopt(call: Call) -> None:
    sets = any(re.fullmatch(r"-[a-z]*[su][a-z]*", word.text) for word in call.words)
    if sets:
        call.raise_to("MEDIUM", _LASTS)
    if sets and not _MEANINGS.isdisjoint(word.text for word in call.words):
        call.raise_to("HIGH", Reason("changes what the shell makes of names", Trait.RUNS))


def _hash(call: Call) -> None:
    if any(word.text.startswith("-") and set(word.text) & set("pd") for word in call.words):
        call.raise_to("HIGH", Reason("replaces a command with another program", Trait.RUNS))
        call.opaque = "*"


def _complete(call: Call) -> None:
    call.raise_to(
        "HIGH" if any(word.text in {"-C", "-F", "-x", "-X"} for word in call.words) else "LOW",
        Reason("runs a command at a key", Trait.RUNS),
    )


def _compgen(call: Call) -> None:
    for flag, value in pairwise(call.words):
        if not flag.text.startswith("-"):
            continue
        if {*flag.text} & {"C", "F"} or ("W" in flag.text and re.search(rf"[$`{UNKNOWN}]", value.text)):
            call.raise_to("HIGH", Reason("runs a command to complete a word", Trait.RUNS))


def _sets_a_limit(call: Call) -> None:
    """Rate `umask` and `ulimit`, which print a limit or, with a value, change it for all later commands."""
    if any(not word.text.startswith("-") for word in call.words):
        call.raise_to("MEDIUM", _LASTS)


def _jobs(call: Call) -> None:
    if call.words and re.fullmatch(r"-[lnprs]*x", call.words[0].text):
        call.run_words(call.words[1:])


def _wait(call: Call) -> None:
    for flag, name in pairwise(call.words):
        if re.fullmatch(r"-[a-z]*p", flag.text):
            _names(call)
            _name_recognized(call, [name])


def _test(call: Call) -> None:
    paths, is_unplaced = files_tested(call.scan, call.words)
    call.paths += paths
    call.unplaced |= is_unplaced
    if any_holds_command(call.words):
        call.raise_to("HIGH", RUNS)
    if may_add_test(call.words):
        call.raise_to("MEDIUM", _MAY_RUN)
    for flag, name in pairwise(call.words):
        if flag.text in {"-v", "-R"}:
            _name_recognized(call, [name])


RULES: dict[str, Rule] = {
    "echo": _prints,
    "printf": _prints,
    "read": _read,
    "getopts": _getopts,
    "let": _let,
    "unset": _names,
    "export": _names,
    "declare": _names,
    "typeset": _names,
    "local": _names,
    "readonly": _names,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "cd": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "alias": _alias,
    "unalias": Spec("MEDIUM", "changes the shell", operands="text"),
    "set": _set,
    "shopt": _shopt,
    "hash": _hash,
    "bind": Spec("HIGH", Reason("runs a command at a key", Trait.RUNS), operands="text"),
    "complete": _complete,
    "enable": Spec("HIGH", Reason("changes what the shell does itself", Trait.RUNS), operands="text"),
    "test": _test,
    "[": _test,
    "history": Spec(
        "MEDIUM",
        Reason("shows or changes what was typed", Trait.PRINTS_VARIABLES),
        operands="text",
        flags=flags("HIGH", "changes the history", "-c -d -w -a"),
        paths=uses("write", "-w -a"),
    ),
    "fc": Spec("HIGH", Reason("runs an earlier command again", Trait.RUNS), operands="text"),
    "compgen": _compgen,
    "wait": _wait,
    "jobs": _jobs,
    "umask": _sets_a_limit,
    "ulimit": _sets_a_limit,
    **dict.fromkeys(words("bg fg disown suspend"), Spec("MEDIUM", _LASTS, operands="text")),
}
