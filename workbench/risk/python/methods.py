"""The rating of a method of something whose kind is not known: a path, a table, a connection; for `calls`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Final

from workbench.risk.python import table
from workbench.risk.python.judge import Judge
from workbench.risk.python.net import asks, sends
from workbench.risk.python.table import Use
from workbench.risk.python.values import NOTHING_KNOWN, UNKNOWN, Items, Values, texts

_MODE: Final = re.compile(r"[rwaxbtU+]{1,4}")
WRITING: Final = re.compile(r"[wax+]")
_LOSES_DATA: Final = re.compile(r"\b(?:drop|delete|truncate|update|alter|grant|revoke|attach|load_extension)\b", re.I)


def given(judge: Judge, call: ast.Call, use: Use) -> Values:
    """What an argument may be; empty when it is not given at all."""
    for keyword in call.keywords:
        if keyword.arg == use.name:
            return judge.reading.values(keyword.value)
    before = call.args[: use.at + 1]
    if any(isinstance(each, ast.Starred) for each in before):
        return NOTHING_KNOWN
    if len(before) > use.at:
        return judge.reading.values(before[use.at])
    if use.default:
        return (use.default,)
    return NOTHING_KNOWN if any(keyword.arg is None for keyword in call.keywords) else ()


def _of_path(kind: table.Kind) -> Callable[[Judge, ast.Call, ast.expr], None]:
    def rate(judge: Judge, call: ast.Call, of: ast.expr) -> None:
        judge.uses(call, judge.reading.values(of), kind)

    return rate


def _open_method(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    mode = given(judge, call, Use("read", 0, "mode")) or ("r",)
    known = [text for text in texts(mode) if _MODE.fullmatch(text)]
    if known or not call.args:
        judge.uses(call, judge.reading.values(of), "write" if any(WRITING.search(text) for text in known) else "read")


def _moves(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    """`rename` and `replace` of a path; of a text or a table of data they are something else."""
    if len(call.args) != 1 or call.keywords:
        return
    here, there = judge.reading.values(of), judge.reading.values(call.args[0])
    is_path = any(name.startswith("pathlib.") for name in judge.reading.names(of)) or texts(here) != [UNKNOWN]
    if is_path:
        judge.uses(call, here, "move")
    if is_path or texts(there) != [UNKNOWN]:
        judge.uses(call, there, "write")


def _links(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    judge.uses(call, judge.reading.values(of), "write")
    for each in call.args[:1]:
        judge.uses(call, judge.reading.values(each), "link")


def _saves(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    """Methods of pictures and tables whose first argument usually is the file."""
    for text in texts(judge.reading.values(call.args[0])) if call.args else []:
        if text != UNKNOWN:
            judge.uses(call, (text,), "write")


def _unpacks(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    at = 0 if isinstance(call.func, ast.Attribute) and call.func.attr == "extractall" else 1
    judge.uses(call, given(judge, call, Use("below", at, "path", ".")), "below")


def _queries(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    for text in texts(judge.reading.values(call.args[0])) if call.args else []:
        if _LOSES_DATA.search(text):
            judge.found(call, "HIGH", "changes or deletes data of a data base")


def _posts_somewhere(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    address = given(judge, call, Use("url", 0, "url"))
    if any(re.match(r"(?:https?|wss?|ftp)://", text, re.I) for text in texts(address)):
        verb = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        (asks if verb in {"get", "head"} else sends)(judge, call, address)


def _connects(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    if any(
        isinstance(value, Items) and len(value.items) == 2 for value in given(judge, call, Use("url", 0, "address"))
    ):
        judge.found(call, "HIGH", "opens a connection to anywhere")


def _system(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    if call.args:
        judge.runs_any(call, judge.reading.values(call.args[0]), is_line=True)


def _trick(judge: Judge, call: ast.Call, of: ast.expr) -> None:
    judge.found(call, "HIGH", "reaches what it does not name")


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
    "symlink_to": _links,
    "hardlink_to": _links,
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
    **dict.fromkeys(("post", "put", "patch", "get", "delete", "urlopen"), _posts_somewhere),
    **dict.fromkeys(("connect", "connect_ex", "sendto", "create_connection"), _connects),
    **dict.fromkeys(("system", "popen", "getoutput"), _system),
    **dict.fromkeys(("__getattribute__", "__subclasses__"), _trick),
}
