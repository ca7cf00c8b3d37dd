"""Rates IPython cells: their Python by what it calls, their magics and shell lines by what they run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.actions import assess_file
from workbench.risk.assessment import ANY, Assessment, Part, hides, losing, one, shortened, string_literals, summed
from workbench.risk.commands import assess_command
from workbench.risk.environment import poisons
from workbench.risk.paths import PathContext, words
from workbench.risk.python.analysis import Surroundings, parts_of
from workbench.risk.python.source import LONGEST, TooMuchCode, parsed
from workbench.risk.reason import RUNS_CODE, RUNS_SHELL_COMMAND, Reason, Trait, too_long

_JOINED = lazy_pattern(r"\\\r?\n")
_LINE = lazy_pattern(r"\s*(?P<sign>!{1,2}|%{1,2}|[,;/](?=\s*\w))(?P<rest>.*)\Z")
_ASSIGNED = lazy_pattern(r"=\s*(?P<sign>!{1,2}(?!=)|%{1,2}(?=[A-Za-z]))(?P<rest>.*)\Z")
_HELP = lazy_pattern(r"^[ \t]*(?:\?{1,2}[\w.*%]+|%{0,2}[\w.*]+\?{1,2})[ \t]*$")
_INSERTED = lazy_pattern(r"\{[^}]*\}|\$(?:\w+|\{)")
_SHELLS = words("bash sh system sx ! script")
_QUIET = words("who who_ls whos matplotlib pwd page pinfo pinfo2 pdoc pdef psource precision pprint xmode time timeit")
_OF_PYTHON = words("time timeit capture prun")
_PACKAGES = words("pip uv conda mamba micromamba")
_SETTLES = words("cd pushd popd env set_env autoreload")
_EXTENSIONS = words("autoreload line_profiler memory_profiler tensorboard rich snakeviz cython")
_WRITES = words("writefile file")


def assess_cell(code: str, context: PathContext, directory: str = "") -> Assessment:
    """Rate an IPython cell that runs in `directory` (default: the workspace)."""
    why = _unreadable(code)
    if why:
        return _not_read(code, why, context)
    text = _JOINED.sub(" ", code)
    first, _, body = text.lstrip().partition("\n")
    if first.startswith("%%"):
        return _whole(first[2:], body, context, directory)
    return summed(_parts(code, text, context, directory))


def assess_python(code: str, context: PathContext, directory: str = "") -> Assessment:
    """Rate plain Python code that runs in `directory` (default: the workspace)."""
    why = _unreadable(code)
    return _not_read(code, why, context) if why else summed(_python(code, context, directory))


def _unreadable(code: str) -> str:
    """Return why the code cannot be analyzed; empty if it can."""
    return too_long(LONGEST) if len(code) > LONGEST else hides(code)


def _not_read(code: str, why: str, context: PathContext) -> Assessment:
    """Rate code that is not analyzed: HIGH, and as if it might delete any file in the workspace."""
    return summed([Part(shortened(code), "HIGH", why, deletes=(f"{context.workspace}{ANY}",), opaque="*")])


def _parts(code: str, text: str, context: PathContext, directory: str) -> Iterator[Part]:
    """Yield the parts of a cell without a cell magic.

    A cell that parses as Python is only Python, because IPython treats it as such too.
    """
    tree = _tree(code)
    if tree is not None:
        yield from _python(code, context, directory, tree)
        return
    plain: list[str] = []
    for line in text.splitlines():
        result = _LINE.match(line) or _assigned(line)
        if result is None or _HELP.match(line):
            plain.append("" if _HELP.match(line) else line)
            continue
        sign, rest = result["sign"], result["rest"].strip()
        plain.append(line if sign in ",;/" else f"{line[: result.start('sign')]}{_as_python(rest)}")
        if sign.startswith("!"):
            yield from _command(rest.lstrip("!"), context, directory)
        elif sign.startswith("%"):
            yield from _magic(rest.lstrip("%"), context, directory)
    source = "\n".join(plain)
    if set(source.split()) - {"None"}:
        yield from _python(source, context, directory)


def _as_python(magic: str) -> str:
    """Return Python code to replace a magic; a change of directory is preserved, because it affects later lines."""
    name, _, rest = magic.lstrip("%").partition(" ")
    return f"os.chdir({rest.strip() or '~'!r})" if name in {"cd", "pushd"} else "None"


def _tree(code: str) -> ast.Module | None:
    try:
        return parsed(code)
    except (SyntaxError, TooMuchCode):
        return None


def _assigned(line: str) -> re.Match[str] | None:
    """Return the match of a shell command or magic whose result is assigned, ignoring matches in string literals."""
    for match in _ASSIGNED.finditer(line):
        before = line[: match.start()]
        if before.count("'") % 2 == 0 and before.count('"') % 2 == 0:
            return match
    return None


def _python(code: str, context: PathContext, directory: str, tree: ast.Module | None = None) -> Iterator[Part]:
    """Yield a part for the code as a whole, then a part for each of its effects."""

    def rate(command: str) -> tuple[Part, ...]:
        return assess_command(command, context, directory).parts

    context = context.remembering()
    names, directories = string_literals(code), (directory or context.workspace,)
    yield Part(shortened(code.strip()), "MEDIUM", RUNS_CODE, mentions=names, directories=directories)
    around = Surroundings(context, directory or context.workspace, rate, magic=_called(context, directory))
    yield from parts_of(code, around, tree)


def _called(context: PathContext, directory: str) -> Callable[[str, str], tuple[Part, ...]]:
    """Return a function that rates `get_ipython().NAME(text)`."""

    def rate(name: str, text: str) -> tuple[Part, ...]:
        if name in {"system", "getoutput", "getoutput_raw", "system_raw"}:
            return tuple(_command(text, context, directory))
        if name in {"run_line_magic", "magic"}:
            return tuple(_magic(text, context, directory))
        return assess_cell(text, context, directory).parts

    return rate


def _command(command: str, context: PathContext, directory: str) -> Iterator[Part]:
    """Yield the parts of a shell line; HIGH if IPython inserts values, which are unknown until it runs."""
    if _INSERTED.search(command):
        why = Reason("runs a command that contains values only known at run time", Trait.RUNS | Trait.UNCERTAIN)
        yield losing(Part(shortened(f"!{command}"), "HIGH", why), command, context.workspace)
        return
    result = assess_command(command, context, directory)
    yield from result.parts
    yield Part(shortened(f"!{command}"), result.risk if result.risk != "LOW" else "MEDIUM", RUNS_SHELL_COMMAND)


def _magic(line: str, context: PathContext, directory: str) -> Iterator[Part]:
    name, _, rest = line.partition(" ")
    if name in _PACKAGES:
        yield from _command(f"{name} {rest}", context, directory)
    elif name in _OF_PYTHON and rest:
        yield from _python(_behind_flags(rest), context, directory)
    elif name in _QUIET:
        yield Part(shortened(f"%{line}"), "LOW")
    elif name in _SHELLS:
        yield from _command(rest, context, directory)
    elif name == "run":
        yield from _command(f"python {rest}", context, directory)
    elif name in _SETTLES or (name == "load_ext" and rest.strip() in _EXTENSIONS):
        yield _settled(line, name, rest)
    else:
        yield losing(
            Part(
                shortened(f"%{line}"),
                "HIGH",
                Reason("uses an unknown magic", Trait.RUNS | Trait.UNCERTAIN | Trait.UNRECOGNIZED),
            ),
            line,
            context.workspace,
        )


def _settled(line: str, name: str, rest: str) -> Part:
    """Rate a magic that changes the state of later cells, such as the directory or a variable."""
    variable, _, value = rest.replace("=", " ", 1).strip().partition(" ")
    value = value.strip()
    sets = name in {"env", "set_env"} and variable
    rated = poisons(variable, value, here=not value.startswith("/")) if sets else None
    risk, reason = rated or ("MEDIUM", "changes the environment of later cells")
    return Part(shortened(f"%{line}"), risk, reason)


def _behind_flags(rest: str) -> str:
    """Return the statement without the preceding flags of `%timeit`, which consist of letters and numbers."""
    return re.sub(r"\A(?:-[a-z]\s*[\d.]*\s+)+", "", rest)


def _whole(first: str, body: str, context: PathContext, directory: str) -> Assessment:
    """Rate a cell whose first line is a cell magic."""
    name, _, rest = first.partition(" ")
    if name in _WRITES:
        path = rest.split()[-1].strip("'\"") if rest.split() else ""
        return assess_file(
            "create", path if path.startswith("/") else f"{directory or context.workspace}/{path}", context
        )
    if name in {"bash", "sh"} and not rest.strip():
        result = assess_command(body, context, directory)
        return summed([*result.parts, Part(shortened(f"%%{name}"), "MEDIUM", RUNS_SHELL_COMMAND)])
    if name in _OF_PYTHON:
        inner = f"{_behind_flags(rest) if name != 'capture' else ''}\n{body}"
        return summed(_parts(inner, inner, context, directory))
    unknown = one(
        "HIGH",
        Reason("runs the cell with an unknown magic", Trait.RUNS | Trait.UNCERTAIN | Trait.UNRECOGNIZED),
        f"%%{first}\n{body}",
    )
    return unknown._replace(parts=tuple(losing(part, body, context.workspace) for part in unknown.parts))
