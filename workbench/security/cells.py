"""The risk of a cell of IPython: its Python by the words in it, its magics and shell lines by what they run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.security.assessment import Assessment, Part, one, shortened, summed
from workbench.security.file_actions import assess_file
from workbench.security.hidden import hides
from workbench.security.places import Places
from workbench.security.protected import words
from workbench.security.shell.scan import assess_command
from workbench.security.shell.tools.interpreters import rated_code
from workbench.security.taking_away import losing

_JOINED = re.compile(r"\\\r?\n")
_LINE = re.compile(r"\s*(?P<sign>!{1,2}|%{1,2}|[,;/](?=\s*\w))(?P<rest>.*)\Z")
_ASSIGNED = re.compile(r"=\s*(?P<sign>!{1,2}(?!=)|%{1,2}(?=[A-Za-z]))(?P<rest>.*)\Z")
_HELP = re.compile(r"^[ \t]*(?:\?{1,2}[\w.*%]+|%{0,2}[\w.*]+\?{1,2})[ \t]*$")
_INSERTED = re.compile(r"\{[^}]*\}|\$(?:\w+|\{)")
_SHELLS = words("bash sh system sx ! script")
_QUIET = words("who who_ls whos matplotlib pwd page pinfo pinfo2 pdoc pdef psource precision pprint xmode time timeit")
_OF_PYTHON = words("time timeit capture prun")
_PACKAGES = words("pip uv conda mamba micromamba")
_WRITES = words("writefile file")


def assess_cell(code: str, places: Places, folder: str = "") -> Assessment:
    """The rating of a cell that runs in `folder`."""
    text = _JOINED.sub(" ", code)
    if hides(code):
        return one("HIGH", hides(code), code)
    first, _, body = text.lstrip().partition("\n")
    if first.startswith("%%"):
        return _whole(first[2:], body, places, folder)
    return summed(_parts(text, places, folder))


def _parts(text: str, places: Places, folder: str) -> Iterator[Part]:
    """The parts of a cell without a magic of its own."""
    plain: list[str] = []
    for line in text.splitlines():
        found = _LINE.match(line) or _assigned(line)
        if found is None or _HELP.match(line):
            plain.append(line)
            continue
        sign, rest = found["sign"], found["rest"].strip()
        plain.append(line if sign in ",;/" else "")
        if sign.startswith("!"):
            yield from _command(rest.lstrip("!"), places, folder)
        elif sign.startswith("%"):
            yield from _magic(rest.lstrip("%"), places, folder)
    source = "\n".join(plain)
    if source.strip():
        yield losing(_python(source), source, places.workspace)


def _assigned(line: str) -> re.Match[str] | None:
    """What a line assigns of a command or a magic, outside of its texts."""
    for found in _ASSIGNED.finditer(line):
        before = line[: found.start()]
        if before.count("'") % 2 == 0 and before.count('"') % 2 == 0:
            return found
    return None


def _python(code: str) -> Part:
    if "get_ipython" in code:
        return Part(shortened(code.strip()), "HIGH", "runs code that uses get_ipython")
    risk, reason = rated_code(code)
    return Part(shortened(code.strip()), risk, reason)


def _command(command: str, places: Places, folder: str) -> Iterator[Part]:
    """A shell line; what IPython puts into it is not known before."""
    if _INSERTED.search(command):
        why = "runs a command into which values are put that are not known before"
        yield losing(Part(shortened(f"!{command}"), "HIGH", why), command, places.workspace)
        return
    found = assess_command(command, places, folder)
    yield from found.parts
    yield Part(shortened(f"!{command}"), found.risk if found.risk != "LOW" else "MEDIUM", "runs a shell command")


def _magic(line: str, places: Places, folder: str) -> Iterator[Part]:
    name, _, rest = line.partition(" ")
    if name in _PACKAGES:
        yield from _command(f"{name} {rest}", places, folder)
    elif name in _OF_PYTHON and rest:
        yield losing(_python(rest), rest, places.workspace)
    elif name in _QUIET:
        yield Part(shortened(f"%{line}"), "LOW")
    elif name in _SHELLS:
        yield from _command(rest, places, folder)
    elif name == "run":
        yield from _command(f"python {rest}", places, folder)
    elif name in {"cd", "env", "set_env"}:
        yield Part(shortened(f"%{line}"), "MEDIUM", "changes the surroundings of later cells")
    else:
        yield losing(Part(shortened(f"%{line}"), "HIGH", "uses a magic that is not known here"), line, places.workspace)


def _whole(first: str, body: str, places: Places, folder: str) -> Assessment:
    """A cell whose first line is a magic."""
    name, _, rest = first.partition(" ")
    if name in _WRITES:
        path = rest.split()[-1].strip("'\"") if rest.split() else ""
        return assess_file("create", path if path.startswith("/") else f"{folder or places.workspace}/{path}", places)
    if name in {"bash", "sh"} and not rest.strip():
        found = assess_command(body, places, folder)
        return summed([*found.parts, Part(shortened(f"%%{name}"), "MEDIUM", "runs a shell command")])
    if name in _OF_PYTHON:
        return summed(_parts(f"{rest if name != 'capture' else ''}\n{body}", places, folder))
    unknown = one("HIGH", "runs the cell with a magic that is not known here", f"%%{first}\n{body}")
    return unknown._replace(parts=tuple(losing(part, body, places.workspace) for part in unknown.parts))
