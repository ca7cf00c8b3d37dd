"""Programs that run another program which stands in their words."""

from __future__ import annotations

import re
from collections.abc import Callable

from workbench.security.shell.call import Call, Spec, uses
from workbench.security.shell.tools.rule import Rule, words
from workbench.security.shell.variables import poisons
from workbench.security.shell.words import UNKNOWN, Word, literal


def _wrapper(values: str = "", skip: int = 0, *, high: str = "") -> Callable[[Call], None]:
    """A rule: flags (`values` take a word), `skip` operands, and then a command."""
    taking, bad = words(values), words(high)

    def rule(call: Call) -> None:
        """Rate the wrapped command."""
        rest = list(call.words)
        left = skip
        while rest and (rest[0].text.startswith("-") or left):
            word = rest.pop(0)
            if word.text == "--":
                break
            if not word.text.startswith("-"):
                left -= 1
            elif word.text in bad:
                call.raise_to("HIGH", "runs what stands in a flag")
            elif word.text in taking and rest:
                rest.pop(0)
        call.run_words(rest[left:] if rest and rest[0].text == "--" else rest)

    return rule


def _env(call: Call) -> None:
    rest = list(call.words)
    while rest:
        text = rest[0].text
        name, equals, value = text.partition("=")
        if text in {"-S", "--split-string"} or text.startswith(("-S", "--split-string=")):
            given = (
                rest[1].text
                if text in {"-S", "--split-string"} and len(rest) > 1
                else re.sub(r"^(?:-S|--split-string=)", "", text)
            )
            call.run_text(Word(" ".join([given, *(word.raw for word in rest[2:])]), call.text))
            return
        if text.startswith("-"):
            takes = text in {"-u", "-C", "--unset", "--chdir", "-a"}
            rest = rest[2:] if takes else rest[1:]
        elif equals and re.fullmatch(r"\w+", name):
            found = poisons(name, value)
            if found:
                call.raise_to(*found)
            rest.pop(0)
        else:
            call.run_words(rest)
            return
    call.raise_to("MEDIUM", "prints the variables of the surroundings, secrets among them")


_XARGS = Spec(
    values=words("-n -P -s -d -E -L --max-args --max-procs --delimiter --max-lines --max-chars -I -J -R"),
    paths=uses("read", "-a --arg-file"),
)


def _xargs(call: Call) -> None:
    rest = list(call.words)
    mark = ""
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        value = rest.pop(0) if rest and (flag in _XARGS.values or flag in _XARGS.paths) else None
        if flag in _XARGS.paths and value:
            call.use(value, "read")
        if flag.startswith(("-I", "-i", "--replace")):
            mark = value.text if value else re.sub(r"^(?:-[Ii]|--replace=?)", "", flag) or "{}"
    if not rest:
        return
    call.raise_to("MEDIUM", "runs a command with what it reads")
    unknown = Word(UNKNOWN, "…")
    marked = [Word(word.text.replace(mark, UNKNOWN), word.raw) if mark and mark in word.text else word for word in rest]
    call.run_words(marked if mark else [*rest, unknown])


def _exec(call: Call) -> None:
    if not call.words:
        return
    call.raise_to("MEDIUM", "puts a program in the place of the shell")
    _wrapper("-a")(call)


def _command(call: Call) -> None:
    if call.words and call.words[0].text in {"-v", "-V"}:
        return
    _wrapper()(call)


def _coproc(call: Call) -> None:
    call.raise_to("MEDIUM", "runs a command beside the others")
    call.run_words(call.words)
    call.run_words(call.words[1:])


def _flock(call: Call) -> None:
    texts = [word.text for word in call.words]
    if "-c" in texts and texts.index("-c") + 1 < len(texts):
        call.run_text(call.words[texts.index("-c") + 1])
    lock = next((word for word in call.words if not word.text.startswith("-")), literal("-"))
    call.use(lock, "write") if not lock.text.isdigit() and lock.text != "-" else None
    _wrapper("-w -E --timeout", skip=1)(call)


def _runs_text(call: Call) -> None:
    """watch, entr, parallel: the words together are a command line."""
    rest = list(call.words)
    taking = words("-n -d -j -I --interval --jobs -N -a --delay")
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        if flag in taking and rest:
            rest.pop(0)
    call.raise_to("MEDIUM", "runs a command again and again")
    if any(word.text in {":::", "::::"} for word in rest) or not rest:
        call.raise_to("HIGH", "runs commands that are not known before")
    call.run_text(Word(" ".join(word.text for word in rest), call.text))


RULES: dict[str, Rule] = {
    "env": _env,
    "xargs": _xargs,
    "gxargs": _xargs,
    "exec": _exec,
    "command": _command,
    "builtin": _wrapper(),
    "time": _wrapper("-o -f --output --format"),
    "gtime": _wrapper("-o -f"),
    "coproc": _coproc,
    "!": _wrapper(),
    "timeout": _wrapper("-s -k --signal --kill-after", skip=1),
    "gtimeout": _wrapper("-s -k --signal --kill-after", skip=1),
    "nohup": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p -P -u --class --classdata"),
    "chrt": _wrapper(skip=1),
    "taskset": _wrapper(skip=1),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "unbuffer": _wrapper(),
    "setarch": _wrapper(skip=1),
    "faketime": _wrapper(skip=1),
    "xvfb-run": _wrapper("-n -s -e -f -l -p"),
    "dbus-run-session": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "winpty": _wrapper(),
    "direnv": _wrapper(skip=2),
    "dotenv": _wrapper("-f -e"),
    "start-stop-daemon": _wrapper(high="--start -S"),
    "flock": _flock,
    **dict.fromkeys(("watch", "parallel", "entr", "hyperfine", "nodemon", "watchexec"), _runs_text),
}
