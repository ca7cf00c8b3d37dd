"""A person's own tools: announced by installed packages, or kept by a trusted folder in `.ohw/tools`; for `selection`.

Nothing of a tool runs before `load` is called, and nothing of an untrusted folder is even read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from workbench.tools.registry import resolve_alias
from workbench.tools.trust import is_trusted, left_out

GROUP = "workbench.tools"
FOLDER = ".ohw/tools"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What every provider takes as the name of a tool."""


@dataclass(frozen=True)
class OwnTool:
    """A tool found by name; `load` gives the instance, class or factory, or raises whatever its code raises."""

    name: str
    source: str
    load: Callable[[], object]


def is_name(name: str) -> bool:
    """Whether providers take the name for a tool."""
    return _NAME.fullmatch(name) is not None


def find_own(
    workspace: Path, trusted: Iterable[str], settings_file: Path, taken: Iterable[str]
) -> tuple[list[OwnTool], list[str]]:
    """All of them, and a line for each that cannot be offered; names in `taken` belong to others."""
    trusted = tuple(trusted)
    files, notices = tool_files(workspace), left_out(workspace, trusted)
    is_free = is_trusted(workspace, trusted) if files else True
    if not is_free:
        line = f"trusted = [{json.dumps(str(workspace))}]"
        notices.append(
            f"the tools in {workspace / FOLDER} are left out: the folder is not trusted. `ohw` in it asks whether "
            f"to trust it; or write {line} into {settings_file}, above the tables"
        )
    found: dict[str, OwnTool] = {}
    names = set(taken)
    for own in (*announced(), *(in_folder(workspace) if is_free else ())):
        if own.name in names or resolve_alias(own.name) != own.name or not is_name(own.name):
            why = "that is no name for a tool" if not is_name(own.name) else "the name belongs to another tool"
            notices.append(f"the tool {own.name} of {own.source} is left out: {why}")
            continue
        found[own.name] = own
        names.add(own.name)
    return list(found.values()), notices


def announced() -> list[OwnTool]:
    """What installed packages announce under the entry point group, by name."""
    found = [OwnTool(entry.name, _package(entry), entry.load) for entry in entry_points(group=GROUP)]
    return sorted(found, key=lambda own: own.name)


def in_folder(workspace: Path) -> list[OwnTool]:
    """One tool a file, named after it; files that begin with `_` are none."""
    return [OwnTool(path.stem, str(path), _loader(path)) for path in tool_files(workspace)]


def tool_files(workspace: Path) -> Sequence[Path]:
    """The files that would be loaded if the folder were trusted."""
    try:
        return sorted(path for path in (workspace / FOLDER).glob("*.py") if not path.name.startswith("_"))
    except OSError:
        return ()


def _package(entry: EntryPoint) -> str:
    return f"package {entry.dist.name} {entry.dist.version}" if entry.dist else "a package"


def _loader(path: Path) -> Callable[[], object]:
    return lambda: _run(path)


def _run(path: Path) -> object:
    """The `tool` of a file; run from its text, so that no compiled copy is left in the person's folder.

    Nor of what it imports, now or later: that would be a change of what the person agreed to.
    """
    sys.dont_write_bytecode = True
    module = ModuleType(f"ohw_own_tools.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # type hints of its classes are looked up there
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    if not hasattr(module, "tool"):
        raise AttributeError("the file sets no `tool`")
    return module.tool
