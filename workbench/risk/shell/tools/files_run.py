"""What an interpreter is given to run: a script file, or a module of Python (`python -m`); for `interpreters`."""

from __future__ import annotations

import re

from workbench.risk.paths import within
from workbench.risk.shell.call import Call, Spec, uses
from workbench.risk.shell.tools.rule import words
from workbench.risk.shell.words import UNKNOWN, Word, literal
from workbench.risk.shell.written import run_written

UNKNOWN_CODE = "runs code that is not known before"
_MODULES_HIGH = {
    "pty": "starts a shell",
    "code": "starts a shell",
    "smtpd": "opens a port",
    "pyftpdlib": "opens a port",
    **dict.fromkeys(("ftplib", "telnetlib", "smtplib", "poplib", "nntplib"), "opens a connection to anywhere"),
    **dict.fromkeys(("webbrowser", "turtledemo", "idlelib"), "runs a program in a place that nobody sees"),
    **dict.fromkeys(("keyring", "pickle"), "hands out what is stored, or runs it"),
    "ensurepip": "changes what Python is made of",
}
_MODULES = words("pip uv pipx poetry pipenv hatch pdm twine pytest black isort mypy ruff tox nox build coverage")
_LOW_MODULES = {"json.tool", "this", "platform", "site", "sysconfig", "calendar", "tokenize", "ast", "dis"}


def run_script(call: Call, script: Word) -> None:
    """A script file that is run: of the project, or from elsewhere."""
    call.raise_to("MEDIUM", "runs a script of the project")
    path = call.scan.absolute(script)
    if script.runs or path is None or UNKNOWN in script.text or _anybody_writes(call, path):
        call.raise_to("HIGH", "runs a script that is not known before")
        return
    call.paths.append(path)
    run_written(call, path)
    risk, reason = call.scan.rating(path, "read")
    if risk != "LOW":
        call.raise_to("HIGH", "runs a script from outside the workspace" if risk == "MEDIUM" else reason)


def _anybody_writes(call: Call, path: str) -> bool:
    """Whether the script lies where anything may have put it; a workspace in /tmp is the person's own."""
    places = call.scan.places
    return path.startswith(("/dev/", "/proc/", "/tmp/")) and not within(places.resolved(path), places.workspace)


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
    elif name.casefold() == "ipython":
        call.run_words([literal("ipython"), *rest[1:]])
    elif name in _MODULES:
        call.run_words(rest)
    elif UNKNOWN in name:
        call.raise_to("HIGH", UNKNOWN_CODE)
    else:
        call.raise_to("MEDIUM", "runs code of the project")
        _module_files(call, name, rest[1:])


def _unpacks(call: Call, rest: list[Word], operands: list[Word]) -> None:
    if {"-e", "--extract"} & {word.text for word in rest} and len(operands) > 1:
        call.use(operands[1], "write")
    call.writes_anywhere()


_SERVER = Spec(values=words("-b --bind -p --protocol"), paths=uses("deep", "-d --directory"), operands="text")


def _serves(call: Call, rest: list[Word]) -> None:
    """`python -m http.server`: other machines see the files unless it is bound to this one."""
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
_THIS_MACHINE = re.compile(r"127(?:\.\d+){3}|localhost|::1")


def _module_files(call: Call, name: str, rest: list[Word]) -> None:
    """Modules of Python itself that write where their words say, or run what stands in them."""
    operands = [word for word in rest if not word.text.startswith("-")]
    if name == "http.server":
        _serves(call, rest)
    elif name in {"venv", "virtualenv", "zipapp", "compileall", "py_compile"}:
        for word in operands:
            call.use(word._replace(text=f"{word.text.rstrip('/')}/made"), "write")
    elif name in {"zipfile", "tarfile"}:
        _unpacks(call, rest, operands)
    elif name == "timeit":
        for word in rest:
            call.runs_python(word.text) if not re.match(r"-[nrusvp]|\d", word.text) else None
    elif name in {"pdb", "trace", "cProfile", "profile", "runpy"} and operands:
        run_script(call, operands[-1] if name == "trace" else operands[0])
