"""Calls of Python that start other programs, and the variables that those are given; for `calls`."""

from __future__ import annotations

import ast

from workbench.risk.python import table
from workbench.risk.python.judge import Judge, line_of
from workbench.risk.python.methods import given
from workbench.risk.python.net import asks, sends
from workbench.risk.python.table import Use
from workbench.risk.python.values import NOTHING_KNOWN, UNKNOWN, Fields, Items, Values, joined, texts
from workbench.risk.shell.variables import poisons


def starts(judge: Judge, call: ast.Call, name: str) -> bool:
    """Whether it starts a program."""
    first = given(judge, call, Use("read", 0, "args")) or given(judge, call, Use("read", 0, "cmd")) or NOTHING_KNOWN
    if name in table.SHELLS:
        judge.runs_any(call, first, is_line=True)
    elif name in table.RUNS:
        _runs(judge, call, first)
    elif name in table.RUNS_WORDS or name in table.SPAWNS:
        words = call.args[1:] if name in table.SPAWNS else call.args
        rest = [judge.reading.values(word) for word in words]
        listed = next((value for word in rest[1:] for value in word if isinstance(value, Items)), None)
        judge.runs_words(call, listed.items if listed else rest[:1] + rest[2:] if "exec" in name[:7] else rest)
    elif name in table.SENDS:
        sends(judge, call, given(judge, call, Use("url", 0, "url")))
    elif name in table.ASKS_BY_METHOD:
        method = texts(given(judge, call, Use("url", 0, "method")) or (UNKNOWN,))
        at = given(judge, call, Use("url", 1, "url"))
        (asks if {each.upper() for each in method} <= {"GET", "HEAD", "OPTIONS"} else sends)(judge, call, at)
    else:
        return False
    return True


def _runs(judge: Judge, call: ast.Call, command: Values) -> None:
    folder = given(judge, call, Use("read", 9, "cwd"))
    for variables in given(judge, call, Use("read", 9, "env")):
        if isinstance(variables, Fields):
            sets_variables(judge, call, variables)
    shell = given(judge, call, Use("read", 9, "shell"))
    program = given(judge, call, Use("read", 9, "executable"))
    if program and program != ("None",):
        judge.runs_words(call, [program])
    if folder and folder != ("None",) and UNKNOWN not in texts(folder):
        command = _moved(folder, command)
    judge.runs_any(call, command, is_line=bool(shell) and shell != ("False",))


def _moved(folder: Values, command: Values) -> Values:
    """A command with the change of folder before it; as a list it stays one word each."""
    lines = tuple(line_of(value.items) if isinstance(value, Items) else value for value in command)
    return joined([("cd ",), tuple(map(line_of, (((text,),) for text in texts(folder)))), (" && ",), lines])


def sets_variables(judge: Judge, node: ast.expr, variables: Fields) -> None:
    """Several are set."""
    for name, values in variables.items.items():
        sets_variable(judge, node, name, texts(values)[0])


def sets_variable(judge: Judge, node: ast.expr, name: str, value: str) -> None:
    """A variable of the surroundings is set for programs that are started."""
    rated = poisons(name, value, here=not value.startswith(("/", UNKNOWN)))
    if rated:
        judge.found(node, *rated)
