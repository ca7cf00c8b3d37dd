"""What known functions of Python give back: paths, lists of files, what they read; for the reading of values."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.risk.paths import words
from workbench.risk.python.known_methods import home_of, of_method
from workbench.risk.python.values import (
    CONTENT,
    NOTHING_KNOWN,
    PLAIN,
    UNKNOWN,
    Fields,
    Items,
    Values,
    elements,
    limited,
    parent,
    path,
    split,
    texts,
)

if TYPE_CHECKING:
    from workbench.risk.python.reading import Reading

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
    """What a call gives back."""
    for name in reading.names(call.func):
        found = _of_function(reading, name, call)
        if found:
            return found
    if isinstance(call.func, ast.Attribute):
        return of_method(reading, call.func, call)
    return NOTHING_KNOWN


def _of_function(reading: Reading, name: str, call: ast.Call) -> Values:
    made = _FUNCTIONS.get(name)
    if made is not None:
        return made(reading, call)
    first = call.args[0] if call.args else None
    if name in _SAME and first is not None:
        return reading.values(first)
    if name in _PATHS:
        return path(reading.values(each) for each in call.args) if call.args else (".",)
    if name in _LISTS:
        return _listing(reading, first)
    return (PLAIN,) if name in _NUMBERS else (CONTENT,) if name in _READS else _TEMPORARY * (name in _TEMPORARIES)


def _listing(reading: Reading, folder: ast.expr | None, *, below: bool = False) -> Values:
    """Names in a folder; `below` the folder with a name in it."""
    known = texts(reading.values(folder)) if below and folder is not None else [""]
    return (Items((tuple(f"{each.rstrip('/')}/{PLAIN}" if below else PLAIN for each in known),)),)


def _globbed(reading: Reading, call: ast.Call) -> Values:
    first = texts(reading.values(call.args[0])) if call.args else [UNKNOWN]
    root = next((reading.values(each.value) for each in call.keywords if each.arg == "root_dir"), None)
    names = tuple(re.sub(r"\*+", PLAIN, text) for text in first)
    return (Items((names if root is None else path([root, names]),)),)


def _walked(reading: Reading, call: ast.Call) -> Values:
    start = texts(reading.values(call.args[0])) if call.args else [UNKNOWN]
    names: Values = (Items(((PLAIN,),)),)
    folder: Values = tuple(f"{each.rstrip('/')}/{PLAIN}" for each in start)
    return (Items(((Items((folder, names, names)),),)),)


def _counted(reading: Reading, call: ast.Call) -> Values:
    each = elements(reading.values(call.args[0])) if call.args else NOTHING_KNOWN
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
    """What a variable of the surroundings holds."""
    return (reading.home,) if name == "HOME" else (PLAIN,) if name in {"USER", "LOGNAME", "LANG"} else NOTHING_KNOWN


def _expanded(reading: Reading, call: ast.Call) -> Values:
    return tuple(home_of(reading, text) for text in texts(reading.values(call.args[0]))) if call.args else ()


def _folder_of(reading: Reading, call: ast.Call) -> Values:
    return tuple(map(parent, texts(reading.values(call.args[0])))) if call.args else ()


def _base_of(reading: Reading, call: ast.Call) -> Values:
    found = texts(reading.values(call.args[0])) if call.args else []
    return tuple(text.rpartition("/")[2] for text in found)


def _split(reading: Reading, call: ast.Call) -> Values:
    return split(reading.text(call.args[0])) if call.args else NOTHING_KNOWN


def _letter(reading: Reading, call: ast.Call) -> Values:
    code = reading.text(call.args[0]) if call.args else ""
    return (chr(int(code)),) if code.isdigit() and len(code) < 5 else NOTHING_KNOWN


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
    "os.path.dirname": _folder_of,
    "os.path.basename": _base_of,
    "shlex.split": _split,
    "chr": _letter,
    "pathlib.Path.home": lambda reading, call: (reading.home,),
    "pathlib.Path.cwd": lambda reading, call: (".",),
    "os.getcwd": lambda reading, call: (".",),
    "os.chdir": lambda reading, call: (UNKNOWN,),
}


def fetched(reading: Reading, name: str, call: ast.Call) -> list[str]:
    """What a call fetches by its name: `getattr(os, "system")`, `importlib.import_module("os")`."""
    if name == "getattr" and len(call.args) > 1:
        return [
            f"{base}.{text}" for base in reading.names(call.args[0]) for text in texts(reading.values(call.args[1]))
        ]
    if name in {"__import__", "importlib.import_module", "importlib.__import__"} and call.args:
        return [text for text in texts(reading.values(call.args[0])) if text != UNKNOWN]
    if name in {"importlib.reload", "functools.partial"} and call.args:
        return list(reading.names(call.args[0]))
    return []


def looked_up(reading: Reading, node: ast.Subscript) -> list[str]:
    """What is fetched out of a table of names: `sys.modules["os"]`, `vars(os)["system"]`, `os.__dict__["system"]`."""
    found: list[str] = []
    for name in reading.names(node.value):
        key = reading.text(node.slice)
        if name in {"sys.modules", "globals()", "locals()", "vars()", "__builtins__"}:
            inner = node.value.args if isinstance(node.value, ast.Call) else []
            found += [f"{base}.{key}" for each in inner for base in reading.names(each)] or [key]
        elif name.endswith(".__dict__"):
            found.append(f"{name.removesuffix('.__dict__')}.{key}")
    return found
