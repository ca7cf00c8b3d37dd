"""Hashes the content of executed files, and extracts the names of further files from their text for the finder.

Commands, imports and includes are found by regular expressions, not by a parser. A name is used only if such a file
exists, so a wrong match costs no more than a hash.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePath
from typing import Final, Literal, NamedTuple, TypeAlias

from workbench.files.stat_keys import has_settled
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.executed_files.control_files import inputs_named
from workbench.risk.executed_files.python_settings import code_in, directories_named, plugins_named
from workbench.risk.paths import words

Kind: TypeAlias = Literal["", "shell", "python", "recipes", "other"]

LARGEST: Final = 8_000_000
"""The size in bytes up to which a file is hashed; a larger file is identified by its size, times and inode."""
_LONGEST_TEXT: Final = 256_000
_MOST_COMMANDS: Final = 400
_MOST_NAMES: Final = 200
_MOST_CACHED: Final = 1_024
CODE_ENDINGS: Final = tuple(
    f".{ending}"
    for ending in words(
        "sh bash zsh ksh fish py pyw pyz js mjs cjs jsx ts mts cts tsx rb pl pm php lua r jl awk "
        "sed tcl groovy kts exs ex ps1 mk ipynb bats go rs java jar scala clj nu scm el c cc cpp "
        "cxx h hpp cs swift kt zig hs ml split rake gradle cmake "
    )
)
_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh", ".bats", ".envrc"), "shell"),
    **dict.fromkeys((".py", ".pyw"), "python"),
    ".mk": "recipes",
}
_PROGRAM_MAGIC: Final = (b"#!", b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"PK\x03\x04")
_SHEBANG: Final = lazy_pattern(r"#![ \t]*(\S+)(?:[ \t]+(?:-\S+[ \t]+)*(\S+)(?:[ \t]+(\S+))?)?")
_SHELLS: Final = lazy_pattern(r"(?:ba|z|k|da|a|mk)?sh\Z|bats\Z")
_INNER: Final = lazy_pattern(r"\$\(([^()]{0,400})\)|`([^`]{0,400})`")
_SEPARATORS: Final = lazy_pattern(r"&&|\|[|&]?|;+|&|\n|[(){}`]")
_WORD: Final = lazy_pattern(r"""(?:"[^"\n]*"|'[^'\n]*'|\$\{[^}\n]*\}|[^\s"'])+""")
_REDIRECT: Final = lazy_pattern(r"\d*[<>]")
_IMPORTS: Final = lazy_pattern(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]{0,2000}\)|[\w ,*\t]+)|import[ \t]+([\w., \t]+))", re.M
)
_LOADED: Final = lazy_pattern(
    r"""(?:\b(?:require(?:_relative|_once)?|include(?:_once|_str|_bytes)?|import|from|load|dofile|use|source|input|do)\b!?\s*\(?\s*)["']([^"'\n]{1,200})["']"""
)
_LOADED_PLAIN: Final = lazy_pattern(
    r"(?:^|;)[ \t]*(?:source|load|include|require|use|import|\.|\\ir?|\\include(?:_relative)?|\\\.|\.read|\.load|"
    r"%run|-r|--require|--import|//go:generate)"
    r"[ \t]+(?:qualified[ \t]+|static[ \t]+)?[\"']?([\w./:@-]+)",
    re.M,
)
"""Matches an unquoted name after `source`, `load` and similar words, as in bats, Tcl, Perl, SQL and option files."""
_RUST_MODULE: Final = lazy_pattern(r"\bmod[ \t]+(?:r#)?(\w{1,100})[ \t]*;")
_JAVA_CLASS: Final = lazy_pattern(r"\b[A-Z]\w{0,100}\b")
_WILDCARD: Final = lazy_pattern(r"\$\(wildcard[ \t]+([^()]{1,200})\)")
_FILE_BY_KEY: Final = lazy_pattern(
    r"""\b(?:env_file|dockerfile|extends|include|file|path|from|src|source|config|playbook|inventory|vars_files|template|"""
    r"""(?:import|include)_\w+)["']?[ \t]*[:=]\s*\[?\s*(?:-[ \t]+)?["']?([\w@.-]{1,200})"""
)
"""Matches the value of a key in settings that may name a file without a directory."""
_PATHS_IN_SETTINGS: Final = lazy_pattern(r"(?<![\w./@+-])\.?[\w@+.-]*(?:/[\w@+.-]+)+")
_ENTRY_POINTS: Final = lazy_pattern(r"""["']?\b([A-Za-z_][\w.]*):[A-Za-z_]\w*\b["']?|\bsettings[ \t]*=[ \t]*([\w.]+)""")
_NAMED_BY_KEY: Final = lazy_pattern(
    r"""\b(?:main|bin|module|app|entry\w*|preload|require|script|file|plugins?|bootstrap|processor|hooks)["']?"""
    r"""[ \t]*[:=]\s*\[?\s*["']?([\w./-]{1,200})"""
)
_SETTINGS_FILES: Final = (
    ".toml",
    ".yml",
    ".yaml",
    ".json",
    ".ini",
    ".cfg",
    ".xml",
    ".conf",
    "Procfile",
    "Pipfile",
    ".flake8",
    "rc",
)
_EXPANSION: Final = lazy_pattern(r"\$\{[^}\n]{0,200}\}")
_DOTTED: Final = lazy_pattern(r"""["']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)["']""")
_LOADS_NAMED: Final = lazy_pattern(
    r"import_module|__import__|pytest_plugins|SETTINGS_MODULE|import_string|run_module|resolve_name"
)
"""Calls by which Python loads modules named in strings; without these, a dotted string is rarely a module."""
_MODULE_BY_NAME: Final = lazy_pattern(
    r"""(?:import_module|__import__|run_module|import_string|resolve_name)\s*\(\s*["']([\w.]{1,200})["']"""
)
_MODULE_OF_PACKAGE: Final = lazy_pattern(r"""\(\s*["'](\.[\w.]{0,200})["']\s*,\s*["']([\w.]{1,200})["']""")
"""Matches a module that is named relative to a package: `import_module(".x", "package")`."""
_JOINED: Final = lazy_pattern(
    r"""["'`][\w@+.-]{1,100}["'`]\)?(?:\s*[,/+]\s*(?:["'`]/["'`]\s*\+\s*)?["'`]/?[\w@+./-]{1,100}["'`]){1,6}"""
)
"""Matches strings that a call such as `join`, or an operator, may join to a path: `join(here, "lib", "x")`."""
_BEHIND_VARIABLE: Final = lazy_pattern(r"""(?:[+.]\s*["'`]|[})]|\$[\w:]+)/([\w@+.-][\w@+./-]{0,200})["'`]""")
"""Matches the end of a path after a directory in a variable: `__dirname + "/x"`, `${here}/x`, `#{dir}/x`."""
_RUNS_TEXT: Final = lazy_pattern(
    r"(?<![\w.])(?:exec|eval|compile|execfile)\s*\(|run_path|spec_from_file_location|"
    r"\b(?:pickle|cPickle|dill|joblib|marshal|shelve|torch)\.(?:load|open)|\bunsafe_load|\bread_pickle"
)
"""Python calls that run what they read: text, or serialized objects that may construct anything."""
_GLOBBED: Final = lazy_pattern(r"""["']([\w@+./-]{0,100}\*[\w@+./*-]{0,100})["']""")
_LIBRARIES_ADDED: Final = lazy_pattern(r"(?:\buse lib\b|\$:|\$LOAD_PATH\b|@INC\b|\bpackage\.c?path\b)([^\n]{1,300})")
"""Matches where Perl, Ruby and Lua code adds directories to the module search path."""
_PATH_ADDED: Final = lazy_pattern(r"\bsys\.path\b([^\n;]{1,300})")
_STRING: Final = lazy_pattern(r"""["']([\w@+./-]{1,200})["']""")
_PATH_PART: Final = lazy_pattern(r"[\w@.-][\w@+./-]{0,200}(?<!/)")
_PATH: Final = lazy_pattern(r"[\w@+./-]{3,200}")
_MOST_DOTTED: Final = 40
_MOST_PLAIN: Final = 40
_MOST_PATHS: Final = 60
_QUOTED: Final = lazy_pattern(r"""["']((?:\.{1,2}/|/)?[\w@+./-]{1,200})["']""")


class ScannedFile(NamedTuple):
    """The hash of a file's content, and the names of the code that it would run or load."""

    digest: str
    shebang: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    modules: tuple[str, ...] = ()
    """Python modules that it imports; leading dots mark relative imports."""
    names: tuple[str, ...] = ()
    """Files that it may load or run, as written in its text."""
    search_paths: tuple[str, ...] = ()
    """Directories that it adds to Python's module search path."""
    kind: Kind = ""
    """The language as which its text was analyzed."""


_RECOGNIZED: dict[tuple[str, str, int, int, int, int, int], ScannedFile] = {}
_ANALYSED: dict[tuple[str, str, str], ScannedFile] = {}
"""Results of the analysis by digest, ending and kind."""


def source_of(path: str, kind: Kind = "") -> ScannedFile | None:
    """Scan the regular file at a path. Never blocks.

    Returns only its state if it is unreadable or too large, and None if there is no such file or reading fails.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:  # an executable file need not be readable
        return state_of(path)
    except (OSError, ValueError):
        return None
    try:
        return _read(descriptor, path, kind)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def state_of(path: str) -> ScannedFile | None:
    """Return a regular file identified by size, times and inode, without reading it; None if there is no such file."""
    try:
        info = os.stat(path)  # noqa: PTH116 - a string comes in
    except (OSError, ValueError):
        return None
    return ScannedFile(_state(info)) if stat.S_ISREG(info.st_mode) else None


def is_program(path: str) -> bool:
    """Return whether a file is executable and starts like a script or binary; permissions do not suffice, because some
    file systems mark all files executable.
    """
    try:
        if not os.access(path, os.X_OK):
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(descriptor, 4).startswith(_PROGRAM_MAGIC)
        finally:
            os.close(descriptor)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def source_of_text(path: str, text: str, kind: Kind = "") -> ScannedFile:
    """Scan a file with the content that an earlier action will write."""
    return _analyzed(path, text.encode(errors="surrogatepass"), kind)


def _state(info: os.stat_result) -> str:
    return f"{info.st_size}.{info.st_mtime_ns}.{info.st_ctime_ns}.{info.st_ino}"


def _read(descriptor: int, path: str, kind: Kind) -> ScannedFile | None:
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        return None
    if info.st_size > LARGEST:
        return ScannedFile(_state(info))
    key = (path, kind, info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    if (cached := _RECOGNIZED.get(key)) is not None:
        return cached
    is_settled = has_settled(info)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        source = _analyzed(path, file.read(LARGEST + 1), kind)
    if is_settled and _state(os.fstat(descriptor)) == _state(info):
        if len(_RECOGNIZED) >= _MOST_CACHED:
            _RECOGNIZED.clear()
        _RECOGNIZED[key] = source
    return source


def _analyzed(path: str, content: bytes, kind: Kind) -> ScannedFile:
    """Return the analysis of the content, cached by its hash."""
    digest = hashlib.sha256(content).hexdigest()[:32]
    key = (digest, PurePath(path).suffix, kind)
    if key not in _ANALYSED:
        if len(_ANALYSED) >= _MOST_CACHED:
            _ANALYSED.clear()
        _ANALYSED[key] = _looked_through(path, digest, content, kind)
    return _ANALYSED[key]


def _looked_through(path: str, digest: str, content: bytes, kind: Kind) -> ScannedFile:
    if len(content) > _LONGEST_TEXT or b"\0" in content[:4_000]:
        return ScannedFile(digest)
    text = content.decode(errors="replace")
    first = _SHEBANG.match(text)
    shebang = tuple(filter(None, first.groups())) if first else ()
    kind = (
        _KINDS.get(PurePath(path).suffix.casefold()) or _KINDS.get(PurePath(path).name) or _by_shebang(shebang) or kind
    )
    if kind == "python":
        dotted = _DOTTED.findall(text)[:_MOST_DOTTED] if _LOADS_NAMED.search(text) else ()
        modules = (*modules_in(text), *dict.fromkeys((*dotted, *_modules_by_name(text))))
        named = (
            *quoted_names(text, any_name=_runs_text(text)),
            *joined_names(text),
            *(_GLOBBED.findall(text)[:_MOST_PLAIN] if _runs_text(text) else ()),
            *(plain_names(text) if "%run" in text else ()),
        )
        paths = search_paths_in(text)
        return ScannedFile(digest, shebang, modules=modules, names=named, search_paths=paths, kind=kind)
    if kind in {"shell", "recipes"}:
        patterns = (name for match in _WILDCARD.findall(text)[:_MOST_PLAIN] for name in match.split())
        commands = tuple(commands_in(text))
        inputs = inputs_named(text, [command[0] for command in commands])
        programs = _PROGRAM_SET.findall(text)[:_MOST_PLAIN] if kind == "recipes" else ()
        names = (*scripts_named(text), *plain_names(text), *patterns, *programs, *islice(inputs, _MOST_NAMES))
        return ScannedFile(digest, shebang, commands, names=names, kind=kind)
    if path.endswith(_SETTINGS_FILES):
        paths, modules = _named_in_settings(text)
        code = "\n".join(code_in(text))
        modules = (*modules, *plugins_named(text), *modules_in(code))
        names, searched = (*scripts_named(text), *paths), (*directories_named(text), *search_paths_in(code))
        return ScannedFile(digest, shebang, modules=modules, names=names, search_paths=searched, kind=kind)
    loaded = (*loaded_names(text), *plain_names(text))
    names = (*loaded, *_beside(PurePath(path).suffix, text, loaded), *quoted_names(text), *joined_names(text))
    names = tuple(dict.fromkeys((*names, *scripts_named(text))))
    added = (name for line in islice(_LIBRARIES_ADDED.findall(text), _MOST_PLAIN) for name in _PATH_PART.findall(line))
    return ScannedFile(digest, shebang, names=names, search_paths=tuple(islice(added, _MOST_PLAIN)), kind=kind)


def _beside(suffix: str, text: str, loaded: Sequence[str]) -> Iterator[str]:
    """Yield the files in the same language that code loads by names of modules or classes: `a/b.hs` for `a.b`."""
    if suffix not in CODE_ENDINGS:
        return
    yield from (f"{name.replace('.', '/')}{suffix}" for name in loaded if "/" not in name)
    for module in islice(_RUST_MODULE.findall(text), _MOST_PLAIN) if suffix == ".rs" else ():
        yield from (f"{directory}{module}{ending}" for directory in ("", "*/") for ending in (".rs", "/mod.rs"))
    for name in islice(dict.fromkeys(_JAVA_CLASS.findall(text)), _MOST_NAMES) if suffix == ".java" else ():
        yield f"{name}.java"


_PROGRAM_SET: Final = lazy_pattern(
    r"^[ \t]*(?:override\s+|export\s+)*[\w.-]+\s*[:?!]{0,3}=\s*([\w.-]*/\S+)", re.MULTILINE
)
"""Matches an assignment to a variable that names a program, such as `SHELL := ./sh` or `CC = tools/cc`."""


def _modules_by_name(text: str) -> list[str]:
    """Return the modules that calls load by a name in a string."""
    if not _LOADS_NAMED.search(text):
        return []
    relative = (f"{package}{name}" for name, package in _MODULE_OF_PACKAGE.findall(text)[:_MOST_DOTTED])
    return [*_MODULE_BY_NAME.findall(text)[:_MOST_DOTTED], *relative]


def plain_names(text: str) -> list[str]:
    """Return the unquoted names after `source`, `load`, `use` and similar words."""
    names = (match[1].rstrip(";").replace("::", "/") for match in _LOADED_PLAIN.finditer(text))
    return [name for name, _ in zip(dict.fromkeys(names), range(_MOST_PLAIN), strict=False)]


def _named_in_settings(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths, and the modules of entry points (`package.module:function`), that a settings file names."""
    paths = dict.fromkeys(
        match[0] for match, _ in zip(_PATHS_IN_SETTINGS.finditer(text), range(_MOST_NAMES), strict=False)
    )
    paths |= dict.fromkeys(match[1] for match in _FILE_BY_KEY.finditer(text))
    paths |= dict.fromkeys(match[1] for match in _NAMED_BY_KEY.finditer(text))
    entries = zip(_ENTRY_POINTS.finditer(text), range(_MOST_DOTTED), strict=False)
    modules = dict.fromkeys(match[1] or match[2] for match, _ in entries)
    return tuple(paths)[:_MOST_PATHS], tuple(modules)


def _runs_text(text: str) -> bool:
    """Return whether Python code runs text that it reads, so that any file may be code."""
    return bool(_RUNS_TEXT.search(text))


def scripts_named(text: str) -> list[str]:
    """Return the paths in a text that end like a script, as in variables of a Makefile or in settings."""
    paths = dict.fromkeys(path for path in _PATH.findall(text) if path.endswith(CODE_ENDINGS))
    return [path for path, _ in zip(paths, range(_MOST_NAMES), strict=False)]


def _by_shebang(shebang: tuple[str, ...]) -> Kind:
    for word in shebang:
        name = word.rpartition("/")[2]
        if _SHELLS.match(name):
            return "shell"
        if name.startswith(("python", "pypy", "uv")):
            return "python"
    return "other" if shebang else ""


def commands_in(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command in a shell script or recipe, unquoted; variables are not expanded."""
    text = _EXPANSION.sub("$_", text.replace("\\\n", " "))
    pieces = []
    for _ in range(3):
        pieces += [one or other for one, other in _INNER.findall(text)]
        text = _INNER.sub("$_", text)
    remaining = _MOST_COMMANDS
    for piece in (*_SEPARATORS.split(text), *(part for inner in pieces for part in _SEPARATORS.split(inner))):
        words = tuple(word.replace('"', "").replace("'", "") for word in _WORD.findall(piece))
        if not words or words[0].startswith("#"):
            continue
        remaining -= 1
        if remaining < 0:
            return
        yield words


def modules_in(text: str) -> Iterator[str]:
    """Yield the modules that Python code imports, and the names imported from them, which may be modules too."""
    remaining = _MOST_NAMES
    for match in _IMPORTS.finditer(text):
        origin, names, plain = match.groups()
        if plain:
            names_read = [name.split()[0] for name in plain.split(",") if name.split()]
        else:
            dot = "" if origin.endswith(".") else "."
            listed = [name.split()[0] for name in names.strip("()").split(",") if name.split()]
            names_read = [origin, *(f"{origin}{dot}{name}" for name in listed if name != "*")]
        for name in names_read:
            remaining -= 1
            if remaining < 0:
                return
            yield name


def search_paths_in(text: str) -> tuple[str, ...]:
    """Return the directories that Python code adds to the module search path."""
    lines = _PATH_ADDED.findall(text)[:_MOST_PLAIN] if "sys.path" in text else []
    return tuple(dict.fromkeys(name for line in lines for name in _STRING.findall(line)))


def loaded_names(text: str) -> list[str]:
    """Return the quoted names after `require`, `import`, `include` and similar words."""
    return [match[1] for match, _ in zip(_LOADED.finditer(text), range(_MOST_NAMES), strict=False)]


def quoted_names(text: str, *, any_name: bool = False) -> list[str]:
    """Return the quoted strings that look like scripts or paths; with `any_name`, all quoted names."""
    names = (match[1] for match in _QUOTED.finditer(text))
    named = (name for name in names if any_name or name.endswith(CODE_ENDINGS) or "/" in name)
    return [name for name, _ in zip(named, range(_MOST_NAMES), strict=False)]


def joined_names(text: str) -> list[str]:
    """Return the paths that code may join from strings, or append to a directory in a variable."""
    names: dict[str, None] = {}
    for match in islice(_JOINED.finditer(text), _MOST_NAMES):
        parts = [part.strip("/") for part in _STRING.findall(match[0].replace("`", '"'))]
        names["/".join(filter(None, parts))] = None
    names |= dict.fromkeys(match[1] for match in islice(_BEHIND_VARIABLE.finditer(text), _MOST_NAMES))
    return list(names)[:_MOST_NAMES]


def paths_named(text: str) -> list[str]:
    """Return the paths in settings: scripts, and everything that contains a slash."""
    paths = (match[0] for match in islice(_PATHS_IN_SETTINGS.finditer(text), _MOST_PATHS))
    return list(dict.fromkeys((*scripts_named(text), *paths)))


def is_redirect(word: str) -> bool:
    """Return whether a word of a command starts like a redirect."""
    return bool(_REDIRECT.match(word))
