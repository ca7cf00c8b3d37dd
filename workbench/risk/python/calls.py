"""Rate a Python call by the function's full name or, if that is unknown, by the method's name."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.python import table
from workbench.risk.python.methods import METHODS, WRITING, argument, sets_variable, sets_variables, starts
from workbench.risk.python.rate import Judge, asks, sends
from workbench.risk.python.table import Use
from workbench.risk.python.values import UNKNOWN, UNRESOLVED, Fields, Items, Values, strings
from workbench.risk.reason import RUNS_UNKNOWN_CODE, Reason, Trait, reworded

_OF_IPYTHON: Final = frozenset(
    {"system", "getoutput", "run_line_magic", "magic", "run_cell_magic", "run_cell", "ex", "ev", "system_raw"}
)
SECRET: Final = lazy_pattern(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|CREDENTIAL|ACCESS_KEY", re.I)


def judge_call(judge: Judge, call: ast.Call) -> None:
    """Rate a call; an unknown call adds no part."""
    verdicts = [_by_name(judge, call, name) for name in judge.reading.names(call.func)]
    if not any(verdicts) and isinstance(call.func, ast.Attribute):
        rate = METHODS.get(call.func.attr)
        if rate is not None:
            rate(judge, call, call.func.value)


def _by_name(judge: Judge, call: ast.Call, name: str) -> bool:
    """Rate a call if the function's name is known; return whether it is."""
    special = _SPECIAL.get(name) or (_of_ipython if name.startswith("get_ipython().") else None)
    if UNKNOWN in name:
        judge.report(
            call,
            "HIGH",
            Reason(f"calls something of {name.partition('.')[0]} only known at run time", Trait.RUNS | Trait.UNCERTAIN),
        )
    elif special is not None:
        special(judge, call)
    elif name in table.FILES:
        _uses(judge, call, table.FILES[name])
    elif name in table.OPENS:
        _opens(judge, call, Use("read", 0, "file"), Use("read", 1, "mode"))
    else:
        return name in table.HARMLESS or starts(judge, call, name) or _is_high(judge, call, name)
    return True


@lru_cache(4_096)
def _why_high(name: str) -> str:
    """Return why each call of a function, or of anything in its module, is HIGH; empty if it is not."""
    reason = table.ALWAYS_HIGH.get(name, "")
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        reason = reason or table.ALWAYS_HIGH_PREFIXES.get(".".join(parts[:length]).removesuffix("()"), "")
    return reason


def _is_high(judge: Judge, call: ast.Call, name: str) -> bool:
    reason = _why_high(name)
    if reason:
        judge.report(call, "HIGH", reworded(reason, f"{name.rstrip('()')}: {reason}"))
    return bool(reason)


def _uses(judge: Judge, call: ast.Call, uses: tuple[Use, ...]) -> None:
    for use in uses:
        values = argument(judge, call, use)
        if use.kind == "url":
            _visits(judge, call, values)
        elif use.kind == "code":
            judge.loads(call, values or UNRESOLVED)
        elif values:
            judge.uses(call, values, use.kind)


def _visits(judge: Judge, call: ast.Call, urls: Values) -> None:
    """Rate reading a URL, or sending to it if the request carries data."""
    names = judge.reading.names(call.func)
    posts = len(call.args) > 1 and any(name.startswith("urllib.") and "urlretrieve" not in name for name in names)
    carries = any(keyword.arg in {"data", "json", "files", "method"} for keyword in call.keywords)
    request = call.args[0] if call.args else None
    if isinstance(request, ast.Call) and "urllib.request.Request" in judge.reading.names(request.func):
        return  # the `Request` call is rated separately
    (sends if posts or carries else asks)(judge, call, urls)


def _opens(judge: Judge, call: ast.Call, file: Use, mode: Use) -> None:
    how = argument(judge, call, mode) or ("r",)
    writes = any(UNKNOWN in text or WRITING.search(text) for text in strings(how))
    path = argument(judge, call, file) or argument(judge, call, file._replace(name="name")) or UNRESOLVED
    if all(text.isdigit() for text in strings(path)):
        return  # a number is a descriptor that is already open
    judge.uses(call, path, "write" if writes else "read")


def _os_open(judge: Judge, call: ast.Call) -> None:
    flags = ast.dump(call.args[1]) if len(call.args) > 1 else ""
    only_reads = "O_RDONLY" in flags and not re.search(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)", flags)
    judge.uses(call, argument(judge, call, Use("read", 0, "path")) or UNRESOLVED, "read" if only_reads else "write")


def _code(judge: Judge, call: ast.Call) -> None:
    """Rate eval, exec and compile."""
    from workbench.risk.python.analysis import parts_of

    first = call.args[0] if call.args else None
    if isinstance(first, ast.Call) and judge.reading.names(first.func) in (("compile",), ("ast.parse",)):
        return  # the inner call is rated separately
    script = _source(judge, first)
    if script is not None:
        judge.loads(call, script)
        return
    for text in strings(judge.reading.values(first)) if first is not None else [UNKNOWN]:
        if not text.isprintable() and re.search("[\0-\2]", text):
            judge.report(call, "HIGH", RUNS_UNKNOWN_CODE)
        else:
            judge.used.add(text)
            judge.report(call, "MEDIUM", "runs code from a string")
            judge.parts += parts_of(text, judge.around)


def _source(judge: Judge, node: ast.expr | None) -> Values | None:
    """Return the possible paths of the file that an expression reads, as in `open("a.py").read()`, or None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"read", "read_text"}:
        opened = node.func.value
        if (
            isinstance(opened, ast.Call)
            and judge.reading.names(opened.func) in (("open",), ("io.open",))
            and opened.args
        ):
            return judge.reading.values(opened.args[0])
        return judge.reading.values(opened) if node.func.attr == "read_text" else None
    return None


def _imports(judge: Judge, call: ast.Call) -> None:
    names = strings(judge.reading.values(call.args[0])) if call.args else [UNKNOWN]
    if any(UNKNOWN in name for name in names):
        judge.report(call, "HIGH", Reason("imports what is only known at run time", Trait.RUNS | Trait.UNCERTAIN))


def _hides_import(judge: Judge, call: ast.Call) -> None:
    judge.report(call, "HIGH", Reason("hides what it imports in __import__", Trait.RUNS))


def _variable(judge: Judge, call: ast.Call) -> None:
    if call.args and SECRET.search(judge.reading.text(call.args[0])):
        judge.report(call, "HIGH", "exposes a secret")


def _set_variable(judge: Judge, call: ast.Call) -> None:
    for keyword in call.keywords:
        sets_variable(judge, call, keyword.arg or UNKNOWN, judge.reading.text(keyword.value))
    for value in argument(judge, call, Use("read", 0, "")):
        if isinstance(value, Fields):
            sets_variables(judge, call, value)
        elif isinstance(value, str):
            sets_variable(judge, call, value, judge.reading.text(call.args[1]) if len(call.args) > 1 else UNKNOWN)


def _adds_code_path(judge: Judge, call: ast.Call) -> None:
    for text in strings(judge.reading.values(call.args[-1])) if call.args else []:
        judge.used.add(text)
        for path in judge.paths_of(text):
            inside = path is not None and judge.around.context.reading(path)[0] == "LOW" and not path.startswith("/tmp")
            if inside:
                judge.report(call, "MEDIUM", "Python searches the workspace for code first")
            elif path is None and _is_own_directory(call.args[-1]):
                continue
            else:
                judge.report(call, "HIGH", Reason("loads code from outside the workspace", Trait.RUNS))


def _is_own_directory(node: ast.expr) -> bool:
    """Return whether a directory is derived from the location of the code itself."""
    return any(isinstance(each, ast.Name) and each.id == "__file__" for each in ast.walk(node))


def _edits_inplace(judge: Judge, call: ast.Call) -> None:
    writes = argument(judge, call, Use("write", 9, "inplace")) not in ((), ("False",))
    for value in argument(judge, call, Use("read", 0, "files")):
        every = [each for item in value.items for each in item] if isinstance(value, Items) else [value]
        judge.uses(call, tuple(every), "write" if writes else "read")


def _fetches(judge: Judge, call: ast.Call) -> None:
    """Rate getattr: HIGH if it gets a computed name from a powerful module, because that disguises the name."""
    if len(call.args) > 1 and not isinstance(call.args[1], ast.Constant):
        for base in judge.reading.names(call.args[0]):
            if base in POWERS:
                judge.report(call, "HIGH", Reason(f"disguises what it takes out of {base}", Trait.RUNS))


POWERS: Final = frozenset(
    {
        "os",
        "subprocess",
        "shutil",
        "builtins",
        "__builtins__",
        "sys",
        "socket",
        "ctypes",
        "importlib",
        "pty",
        "__builtin__",
    }
)


def _ends(judge: Judge, call: ast.Call) -> None:
    if call.args and isinstance(call.args[0], ast.Call) and judge.reading.names(call.args[0].func) == ("os.getpid",):
        return
    judge.report(call, "HIGH", "ends programs that it may not have started")


def _unpickles(judge: Judge, call: ast.Call) -> None:
    """Rate unpickling like running code from the same file, or unknown code if the source is unknown."""
    if "numpy.load" in judge.reading.names(call.func):
        judge.uses(call, argument(judge, call, Use("read", 0, "file")) or UNRESOLVED, "read")
        if argument(judge, call, Use("read", 2, "allow_pickle")) in ((), ("False",)):
            return
    source = call.args[0] if call.args else None
    opened = judge.reading.opened(source) if source is not None else None
    judge.loads(call, opened or (judge.reading.values(source) if source is not None else UNRESOLVED))


def _sets_rights(judge: Judge, call: ast.Call) -> None:
    mode = argument(judge, call, Use("keep", 1, "mode"))
    message = ast.dump(call) if UNKNOWN in strings(mode) else ""
    if "S_IS" in message or any(text.isdigit() and int(text) & 0o6000 for text in strings(mode)):
        judge.report(call, "HIGH", "sets setuid: the program runs with the rights of its owner")
    judge.uses(call, argument(judge, call, Use("keep", 0, "path")) or UNRESOLVED, "keep")


def _yaml(judge: Judge, call: ast.Call) -> None:
    loader = (
        call.args[1]
        if len(call.args) > 1
        else next((each.value for each in call.keywords if each.arg == "Loader"), None)
    )
    if loader is None or not any("Safe" in name or "Base" in name for name in judge.reading.names(loader)):
        judge.report(call, "HIGH", Reason("loads YAML that may run code", Trait.RUNS))


def _of_ipython(judge: Judge, call: ast.Call) -> None:
    verb = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    message = [judge.reading.text(each) for each in call.args]
    if judge.around.magic is None or verb not in _OF_IPYTHON or not message or UNKNOWN in "".join(message):
        judge.report(call, "HIGH", Reason("runs code that uses get_ipython", Trait.RUNS))
        return
    joint = (
        message[0]
        if len(message) == 1
        else f"%%{message[0]} {message[1]}\n{message[2]}"
        if len(message) > 2
        else " ".join(message)
    )
    judge.used.update(message)
    judge.parts += judge.around.magic(verb, joint)


_SPECIAL: Final[dict[str, Callable[[Judge, ast.Call], None]]] = {
    **dict.fromkeys(("eval", "exec", "compile", "timeit.timeit", "timeit.repeat", "timeit.Timer"), _code),
    **dict.fromkeys(("cProfile.run", "cProfile.runctx", "profile.run", "profile.runctx"), _code),
    **dict.fromkeys(("pdb.run", "pdb.runeval", "bdb.Bdb().run", "trace.Trace().run"), _code),
    "os.open": _os_open,
    "importlib.import_module": _imports,
    "runpy.run_module": _imports,
    "__import__": _hides_import,
    "importlib.__import__": _hides_import,
    "os.getenv": _variable,
    "os.environ.get": _variable,
    "os.environ.pop": _variable,
    "os.putenv": _set_variable,
    "os.environ.update": _set_variable,
    "os.environ.setdefault": _set_variable,
    "sys.path.append": _adds_code_path,
    "sys.path.insert": _adds_code_path,
    "sys.path.extend": _adds_code_path,
    "fileinput.input": _edits_inplace,
    "fileinput.FileInput": _edits_inplace,
    "getattr": _fetches,
    "os.kill": _ends,
    "os.killpg": _ends,
    **dict.fromkeys((*table.LOADS_FILE, "numpy.load"), _unpickles),
    "os.chmod": _sets_rights,
    "yaml.load": _yaml,
    "yaml.load_all": _yaml,
}
