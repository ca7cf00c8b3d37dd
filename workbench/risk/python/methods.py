"""Rates methods of objects of unknown type, and calls that start programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.environment import poisons
from workbench.risk.python import table
from workbench.risk.python.rate import Judge, asks, line_of, sends
from workbench.risk.python.table import Use
from workbench.risk.python.values import PLAIN, UNKNOWN, UNRESOLVED, Fields, Items, Values, joined, strings
from workbench.risk.reason import Reason, Trait

_MODE: Final = lazy_pattern(r"[rwaxbtU+]{1,4}")
WRITING: Final = lazy_pattern(r"[wax+]")
_LOSES_DATA: Final = lazy_pattern(r"\b(?:drop|delete|truncate|update|alter|grant|revoke|attach|load_extension)\b", re.I)


def argument(judge: Judge, call: ast.Call, use: Use) -> Values:
    """Return the possible values of an argument, or its default; empty if it is omitted and has no default."""
    for keyword in call.keywords:
        if keyword.arg == use.name:
            return judge.reading.values(keyword.value)
    before = call.args[: use.at + 1]
    if any(isinstance(each, ast.Starred) for each in before):
        return UNRESOLVED
    if len(before) > use.at:
        return judge.reading.values(before[use.at])
    if use.default:
        return (use.default,)
    return UNRESOLVED if any(keyword.arg is None for keyword in call.keywords) else ()


def _of_path(kind: table.Kind) -> Callable[[Judge, ast.Call, ast.expr], None]:
    def rate(judge: Judge, call: ast.Call, of: ast.expr) -> None:
        judge.uses(call, judge.reading.values(of), kind)

    return rate


def _open_method(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    mode = argument(judge, call, Use("read", 0, "mode")) or ("r",)
    modes = [text for text in strings(mode) if _MODE.fullmatch(text)]
    if modes or not call.args:
        judge.uses(call, judge.reading.values(of), "write" if any(WRITING.search(text) for text in modes) else "read")


def _moves(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    """Rate `rename` and `replace` of a path; strings and data tables have other methods with these names."""
    if len(call.args) != 1 or call.keywords:
        return
    here, there = judge.reading.values(of), judge.reading.values(call.args[0])
    is_path = any(name.startswith("pathlib.") for name in judge.reading.names(of)) or strings(here) != [UNKNOWN]
    if is_path:
        judge.uses(call, here, "move")
    if is_path or strings(there) != [UNKNOWN]:
        judge.uses(call, there, "write")


def _linked_paths(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    judge.uses(call, judge.reading.values(of), "write")
    for each in call.args[:1]:
        judge.uses(call, judge.reading.values(each), "link")


def _saves(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    """Rate methods of images and tables whose first argument is usually the file to write."""
    for text in strings(judge.reading.values(call.args[0])) if call.args else []:
        if text != UNKNOWN:
            judge.uses(call, (text,), "write")


def _unpacks(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    at = 0 if isinstance(call.func, ast.Attribute) and call.func.attr == "extractall" else 1
    judge.uses(call, argument(judge, call, Use("below", at, "path", ".")), "below")


def _queries(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    for text in strings(judge.reading.values(call.args[0])) if call.args else []:
        if _LOSES_DATA.search(text):
            judge.report(call, "HIGH", "changes or deletes data in a database")


def _loses(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    judge.report(call, "HIGH", "deletes data in a database")


def _deletes(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    """Rate `delete`: of all rows that a query found, or a request to a URL."""
    if not call.args and any(isinstance(each, ast.Attribute) and each.attr in _FINDS for each in ast.walk(of)):
        _loses(judge, call, of)
    _posts_somewhere(judge, call, of)


_FINDS: Final = frozenset({"objects", "query", "filter", "filter_by"})


def _posts_somewhere(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    url = argument(judge, call, Use("url", 0, "url"))
    if any(re.match(r"(?:https?|wss?|ftp)://", text, re.I) for text in strings(url)):
        verb = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        (asks if verb in {"get", "head"} else sends)(judge, call, url)


def _connects(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    if any(
        isinstance(value, Items) and len(value.items) == 2 for value in argument(judge, call, Use("url", 0, "address"))
    ):
        judge.report(call, "HIGH", "connects to any host")


def _system(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    if call.args:
        judge.runs_any(call, judge.reading.values(call.args[0]), is_line=True)


def _trick(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    judge.report(call, "HIGH", Reason("reaches what it does not name", Trait.RUNS))


METHODS: Final[dict[str, Callable[[Judge, ast.Call, ast.expr], None]]] = {
    **dict.fromkeys(("read_text", "read_bytes", "iterdir"), _of_path("read")),
    **dict.fromkeys(("write_text", "write_bytes"), _of_path("write")),
    "touch": _of_path("keep"),
    "mkdir": _of_path("keep"),
    "unlink": _of_path("delete"),
    "rmdir": _of_path("delete"),
    "rmtree": _of_path("rmtree"),
    "open": _open_method,
    "rename": _moves,
    "replace": _moves,
    "symlink_to": _linked_paths,
    "hardlink_to": _linked_paths,
    **dict.fromkeys(("extractall", "extract"), _unpacks),
    **dict.fromkeys(
        [
            "savefig",
            "to_csv",
            "to_json",
            "to_parquet",
            "to_excel",
            "to_pickle",
            "to_html",
            "to_feather",
            "to_markdown",
            "write_image",
            "write_html",
            "write_csv",
            "write_parquet",
            "save",
            "imsave",
            "tofile",
            "to_hdf",
            "dump_stats",
            "to_sql",
            "export",
        ],
        _saves,
    ),
    **dict.fromkeys(("execute", "executescript", "executemany"), _queries),
    **dict.fromkeys(
        (
            "drop_all",
            "drop_database",
            "drop_collection",
            "drop_table",
            "delete_many",
            "delete_all",
            "flushall",
            "flushdb",
        ),
        _loses,
    ),
    "delete": _deletes,
    **dict.fromkeys(("post", "put", "patch", "get", "urlopen"), _posts_somewhere),
    **dict.fromkeys(("connect", "connect_ex", "sendto", "create_connection"), _connects),
    **dict.fromkeys(("system", "popen", "getoutput"), _system),
    **dict.fromkeys(("__getattribute__", "__subclasses__"), _trick),
}


_STARTS: Final = frozenset(
    {*table.SHELLS, *table.RUNS, *table.RUNS_WORDS, *table.SPAWNS, *table.SENDS, *table.ASKS_BY_METHOD}
)


def starts(judge: Judge, call: ast.Call, name: str) -> bool:
    """Rate the call if it starts a program or sends a request; return whether it does."""
    if name not in _STARTS:
        return False
    first = argument(judge, call, Use("read", 0, "args")) or argument(judge, call, Use("read", 0, "cmd")) or UNRESOLVED
    if name in table.SHELLS:
        judge.runs_any(call, first, is_line=True)
    elif name in table.RUNS:
        _runs(judge, call, first)
    elif name in table.RUNS_WORDS or name in table.SPAWNS:
        _runs_program(judge, call, name)
    elif name in table.SENDS:
        sends(judge, call, argument(judge, call, Use("url", 0, "url")))
    else:
        method = strings(argument(judge, call, Use("url", 0, "method")) or (UNKNOWN,))
        at = argument(judge, call, Use("url", 1, "url"))
        (asks if {each.upper() for each in method} <= {"GET", "HEAD", "OPTIONS"} else sends)(judge, call, at)
    return True


def _runs_program(judge: Judge, call: ast.Call, name: str) -> None:
    """Rate a program that is passed separately from its arguments; the first argument is only the name that it sees."""
    arguments = [judge.reading.values(word) for word in (call.args[1:] if name in table.SPAWNS else call.args)]
    program = argument(judge, call, Use("read", 9, "executable"))
    if name in table.WITHOUT_NAME:
        words = (program, *arguments[1:]) if program else tuple(arguments)
    elif table.TAKES_LIST.search(name):
        words = (*arguments[:1], *_behind_name(arguments[1:2]))
        if any(text.rpartition("/")[2] in table.MANY_IN_ONE for each in arguments[:1] for text in strings(each)):
            judge.runs_any(call, arguments[1] if len(arguments) > 1 else UNRESOLVED, is_line=False)
    else:
        words = (*arguments[:1], *arguments[2:])
    judge.runs_words(call, words)


def _behind_name(listed: Sequence[Values]) -> tuple[Values, ...]:
    """Return the arguments in a list after the first one, or an unknown argument if the list is unknown."""
    items = next((value.items for values in listed for value in values if isinstance(value, Items)), None)
    return (UNRESOLVED,) if items is None else items[1:]


_NONE: Final = (PLAIN,)
"""The value of `None` and of numbers other than integers."""


def _runs(judge: Judge, call: ast.Call, command: Values) -> None:
    directory = argument(judge, call, Use("read", 9, "cwd"))
    for variables in argument(judge, call, Use("read", 9, "env")):
        if isinstance(variables, Fields):
            sets_variables(judge, call, variables)
    shell = argument(judge, call, Use("read", 9, "shell"))
    is_line = bool(shell) and shell != ("False",)
    program = argument(judge, call, Use("read", 9, "executable"))
    if program and program != _NONE:
        judge.runs_words(call, (program, ("-c",), command) if is_line else (program, *_behind_name([command])))
    if directory and directory != _NONE and UNKNOWN not in strings(directory):
        command = _moved(directory, command)
    judge.runs_any(call, command, is_line=is_line)


def _moved(directory: Values, command: Values) -> Values:
    """Return the command line with a change of directory before it; a list is quoted word by word."""
    lines = tuple(line_of(value.items) if isinstance(value, Items) else value for value in command)
    return joined([("cd ",), tuple(map(line_of, (((text,),) for text in strings(directory)))), (" && ",), lines])


def sets_variables(judge: Judge, node: ast.expr, variables: Fields) -> None:
    """Rate several environment variables that are set for started programs."""
    for name, values in variables.items.items():
        sets_variable(judge, node, name, strings(values)[0])


def sets_variable(judge: Judge, node: ast.expr, name: str, value: str) -> None:
    """Rate an environment variable that is set for started programs."""
    rated = poisons(name, value, here=not value.startswith(("/", UNKNOWN)))
    if rated:
        judge.report(node, *rated)
