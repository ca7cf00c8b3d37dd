"""The return values of known Python functions and methods: paths, lists of files, file contents."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.risk.paths import words
from workbench.risk.python.values import (
    CONTENT,
    PLAIN,
    UNKNOWN,
    UNRESOLVED,
    Fields,
    Items,
    Values,
    elements,
    joined,
    limited,
    parent,
    path,
    split,
    strings,
)

if TYPE_CHECKING:
    from workbench.risk.python.resolver import Reading

_READERS = words("read readline readlines read_text read_bytes communicate getvalue json read_csv")
_SAME_TEXT = words(
    "resolve absolute as_posix strip rstrip lstrip encode decode copy casefold expanduser __str__ __fspath__ "
    "removeprefix removesuffix"
)


def home_of(reading: Reading, text: str) -> str:
    """Return a path with the home directory in place of `~`."""
    return f"{reading.home}{text[1:]}" if text == "~" or text.startswith("~/") else text


def of_method(reading: Reading, func: ast.Attribute, call: ast.Call) -> Values:
    """Return the possible results of calling a method of a string, path, dict or file."""
    verb = func.attr
    created = _METHODS.get(verb)
    if created is not None:
        return created(reading, func.value, call)
    if verb in _SAME_TEXT:
        return tuple(home_of(reading, text) for text in strings(reading.values(func.value)))
    return (CONTENT,) if verb in _READERS else UNRESOLVED


def _joined(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    parts = reading.values(call.args[0]) if call.args else UNRESOLVED
    between = strings(reading.values(of))[0]
    return joined(parts[0].items, between) if isinstance(parts[0], Items) and len(parts) == 1 else UNRESOLVED


def _formatted(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    """Return the strings with `{}` filled in; UNKNOWN for each value that is not exactly one string."""
    arguments = [reading.text(each) for each in call.args]
    named = {each.arg: reading.text(each.value) for each in call.keywords if each.arg}
    rest = iter(arguments)

    def put(match: re.Match[str]) -> str:
        name = re.split(r"[.!:\[]", match[1])[0]
        if name.isdigit():
            return arguments[int(name)] if int(name) < len(arguments) else UNKNOWN
        return named.get(name, UNKNOWN) if name else next(rest, UNKNOWN)

    return tuple(re.sub(r"\{([^{}]*)\}", put, text) for text in strings(reading.values(of)))


def _replaced(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    if len(call.args) < 2:  # `Path.replace`, which returns the target
        return reading.values(call.args[0]) if call.args else UNRESOLVED
    old, new = reading.text(call.args[0]), reading.text(call.args[1])
    is_literal = UNKNOWN not in old + new and old != ""
    return tuple(text.replace(old, new) if is_literal else UNKNOWN for text in strings(reading.values(of)))


def _split_text(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    text, sign = reading.text(of), reading.text(call.args[0]) if call.args else ""
    if sign == UNKNOWN or text in {UNKNOWN, CONTENT}:
        return (Items(((CONTENT if text == CONTENT else UNKNOWN,),)),)
    return (Items(tuple((word,) for word in (text.split(sign) if sign else text.split()))),)


def _fetched(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    key = reading.text(call.args[0]) if call.args else UNKNOWN
    more = reading.values(call.args[1]) if len(call.args) > 1 else ()
    results = [each for value in reading.values(of) if isinstance(value, Fields) for each in value.items.get(key, ())]
    return limited([*results, *more])


def _pairs(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    results = reading.values(of)
    if not isinstance(results[0], Fields):
        return (Items(((Items((UNRESOLVED, UNRESOLVED)),),)),)
    return (Items(tuple((Items(((key,), value)),) for key, value in results[0].items.items())),)


def _held(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    results = reading.values(of)
    return (Items(tuple(results[0].items.values())),) if isinstance(results[0], Fields) else UNRESOLVED


def _entries_under(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    name = reading.text(call.args[0]) if call.args else PLAIN
    names = (re.sub(r"\*+", PLAIN, name),) if name != UNKNOWN else (PLAIN,)
    return (Items((path([reading.values(of), names]),)),)


def _beside(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    names = reading.values(call.args[0]) if call.args else UNRESOLVED
    return path([tuple(map(parent, strings(reading.values(of)))), names])


def _with_ending(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    ending = reading.text(call.args[0]) if call.args else UNKNOWN
    whole = strings(reading.values(of))
    return tuple(f"{re.sub(r'[.][^./]*$', '', text)}{PLAIN if ending == UNKNOWN else ending}" for text in whole)


_METHODS: dict[str, Callable[[Reading, ast.expr, ast.Call], Values]] = {
    "join": _joined,
    "format": _formatted,
    "replace": _replaced,
    "split": _split_text,
    "splitlines": lambda reading, of, call: (Items((elements(reading.values(of)),)),),
    "get": _fetched,
    "pop": _fetched,
    "items": _pairs,
    "values": _held,
    "keys": lambda reading, of, call: reading.values(of),
    "joinpath": lambda reading, of, call: path([reading.values(each) for each in (of, *call.args)]),
    "glob": _entries_under,
    "rglob": _entries_under,
    "iterdir": _entries_under,
    "with_name": _beside,
    "with_suffix": _with_ending,
    "with_stem": _beside,
    "strftime": lambda reading, of, call: (PLAIN,),
    "lower": lambda reading, of, call: tuple(text.lower() for text in strings(reading.values(of))),
    "upper": lambda reading, of, call: tuple(text.upper() for text in strings(reading.values(of))),
}


_TEMPORARY: Values = (f"/tmp/{PLAIN}",)
ATTRIBUTES: dict[str, Values] = {
    "sys.executable": ("python3",),
    "os.sep": ("/",),
    "os.curdir": (".",),
    "os.pardir": ("..",),
    "os.devnull": ("/dev/null",),
    "os.linesep": ("\n",),
    "tempfile.tempdir": ("/tmp",),
    "tempfile.NamedTemporaryFile().name": _TEMPORARY,
    "tempfile.TemporaryDirectory().name": _TEMPORARY,
    "string.ascii_letters": (PLAIN,),
    "sys.platform": (PLAIN,),
    "os.name": (PLAIN,),
    "subprocess.PIPE": (PLAIN,),
    "subprocess.DEVNULL": (PLAIN,),
    "subprocess.STDOUT": (PLAIN,),
}
_SAME = words(
    "str os.fspath list tuple set sorted reversed iter next frozenset os.path.abspath os.path.realpath "
    "os.path.normpath "
    "os.fsencode os.fsdecode bytes bytearray copy.copy copy.deepcopy tqdm tqdm.tqdm "
    "contextlib.closing"
)
_NUMBERS = words(
    "int float len range round abs sum hash id ord time.time time.strftime random.randint random.random "
    "random.choice datetime.datetime.now uuid.uuid4 os.getpid time.time_ns datetime.date.today math.floor math.ceil "
    "os.getuid os.cpu_count"
)
_PATHS = words("pathlib.Path pathlib.PurePath pathlib.PosixPath pathlib.PurePosixPath os.path.join Path")
_LISTS = words("os.listdir os.scandir")
_READS = words(
    "subprocess.check_output subprocess.getoutput subprocess.getstatusoutput subprocess.run subprocess.Popen os.popen "
    "dict(os.environ)"
)
_TEMPORARIES = words(
    "tempfile.mkdtemp tempfile.mktemp tempfile.gettempdir tempfile.TemporaryDirectory tempfile.NamedTemporaryFile "
    "tempfile.mkstemp"
)


def result(reading: Reading, call: ast.Call) -> Values:
    """Return the possible results of a call."""
    for name in reading.names(call.func):
        results = _of_function(reading, name, call)
        if results:
            return results
    if isinstance(call.func, ast.Attribute):
        return of_method(reading, call.func, call)
    return UNRESOLVED


def _of_function(reading: Reading, name: str, call: ast.Call) -> Values:
    created = _FUNCTIONS.get(name)
    if created is not None:
        return created(reading, call)
    first = call.args[0] if call.args else None
    if name in _SAME and first is not None:
        return reading.values(first)
    if name in _PATHS:
        return path(reading.values(each) for each in call.args) if call.args else (".",)
    if name in _LISTS:
        return _listing(reading, first)
    return (PLAIN,) if name in _NUMBERS else (CONTENT,) if name in _READS else _TEMPORARY * (name in _TEMPORARIES)


def _listing(reading: Reading, directory: ast.expr | None, *, full_paths: bool = False) -> Values:
    """Return a list of the names in a directory; with `full_paths`, each name follows the directory's path."""
    recognized = strings(reading.values(directory)) if full_paths and directory is not None else [""]
    return (Items((tuple(f"{each.rstrip('/')}/{PLAIN}" if full_paths else PLAIN for each in recognized),)),)


def _globbed(reading: Reading, call: ast.Call) -> Values:
    first = strings(reading.values(call.args[0])) if call.args else [UNKNOWN]
    root = next((reading.values(each.value) for each in call.keywords if each.arg == "root_dir"), None)
    names = tuple(re.sub(r"\*+", PLAIN, text) for text in first)
    return (Items((names if root is None else path([root, names]),)),)


def _walked(reading: Reading, call: ast.Call) -> Values:
    start = strings(reading.values(call.args[0])) if call.args else [UNKNOWN]
    names: Values = (Items(((PLAIN,),)),)
    directory: Values = tuple(f"{each.rstrip('/')}/{PLAIN}" for each in start)
    return (Items(((Items((directory, names, names)),),)),)


def _counted(reading: Reading, call: ast.Call) -> Values:
    each = elements(reading.values(call.args[0])) if call.args else UNRESOLVED
    return (Items(((Items(((PLAIN,), each)),),)),)


def _zipped(reading: Reading, call: ast.Call) -> Values:
    columns = tuple(elements(reading.values(each)) for each in call.args)
    return (Items(((Items(columns),),)),)


def _named_values(reading: Reading, call: ast.Call) -> Values:
    return (Fields({each.arg: reading.values(each.value) for each in call.keywords if each.arg}),)


def _variable(reading: Reading, call: ast.Call) -> Values:
    name = reading.text(call.args[0]) if call.args else UNKNOWN
    more = reading.values(call.args[1]) if len(call.args) > 1 else ()
    return limited([*variable(reading, name), *more])


def variable(reading: Reading, name: str) -> Values:
    """Return the possible values of an environment variable; UNRESOLVED if unknown."""
    return (reading.home,) if name == "HOME" else (PLAIN,) if name in {"USER", "LOGNAME", "LANG"} else UNRESOLVED


def _expanded(reading: Reading, call: ast.Call) -> Values:
    return tuple(home_of(reading, text) for text in strings(reading.values(call.args[0]))) if call.args else ()


def _directory_of(reading: Reading, call: ast.Call) -> Values:
    return tuple(map(parent, strings(reading.values(call.args[0])))) if call.args else ()


def _base_of(reading: Reading, call: ast.Call) -> Values:
    results = strings(reading.values(call.args[0])) if call.args else []
    return tuple(text.rpartition("/")[2] for text in results)


def _split(reading: Reading, call: ast.Call) -> Values:
    return split(reading.text(call.args[0])) if call.args else UNRESOLVED


def _letter(reading: Reading, call: ast.Call) -> Values:
    code = reading.text(call.args[0]) if call.args else ""
    return (chr(int(code)),) if code.isdigit() and len(code) < 5 else UNRESOLVED


_FUNCTIONS: dict[str, Callable[[Reading, ast.Call], Values]] = {
    "glob.glob": _globbed,
    "glob.iglob": _globbed,
    "os.walk": _walked,
    "enumerate": _counted,
    "zip": _zipped,
    "dict": lambda reading, call: (
        reading.values(call.args[0]) if call.args and not call.keywords else _named_values(reading, call)
    ),
    "os.getenv": _variable,
    "os.environ.get": _variable,
    "os.path.expanduser": _expanded,
    "os.path.dirname": _directory_of,
    "os.path.basename": _base_of,
    "shlex.split": _split,
    "chr": _letter,
    "pathlib.Path.home": lambda reading, call: (reading.home,),
    "pathlib.Path.cwd": lambda reading, call: (".",),
    "os.getcwd": lambda reading, call: (".",),
    "os.chdir": lambda reading, call: (UNKNOWN,),
}


def fetched(reading: Reading, name: str, call: ast.Call) -> list[str]:
    """Return the names of an object that a call gets by name: `getattr(os, "system")`, `import_module("os")`."""
    if name == "getattr" and len(call.args) > 1:
        return [
            f"{base}.{text}" for base in reading.names(call.args[0]) for text in strings(reading.values(call.args[1]))
        ]
    if name in {"__import__", "importlib.import_module", "importlib.__import__"} and call.args:
        return [text for text in strings(reading.values(call.args[0])) if text != UNKNOWN]
    if name in {"importlib.reload", "functools.partial"} and call.args:
        return list(reading.names(call.args[0]))
    return []


def looked_up(reading: Reading, node: ast.Subscript) -> list[str]:
    """Return the names of an object looked up in a namespace: `sys.modules["os"]`, `vars(os)["system"]`."""
    results: list[str] = []
    for name in reading.names(node.value):
        key = reading.text(node.slice)
        if name in {"sys.modules", "globals()", "locals()", "vars()", "__builtins__"}:
            inner = node.value.args if isinstance(node.value, ast.Call) else []
            results += [f"{base}.{key}" for each in inner for base in reading.names(each)] or [key]
        elif name.endswith(".__dict__"):
            results.append(f"{name.removesuffix('.__dict__')}.{key}")
    return results
