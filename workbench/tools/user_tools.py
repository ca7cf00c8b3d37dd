"""The user's own tools: from entry points of installed packages, or from `.ohw/tools` of a trusted directory.

No code of a tool runs before `load` is called, and files of an untrusted directory are at most hashed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.registry import resolve_alias
from workbench.tools.trust import is_trusted, untrusted_notices

GROUP = "workbench.tools"
DIRECTORY = ".ohw/tools"
_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names that every provider accepts."""


class OwnTool(msgspec.Struct, frozen=True):
    """A tool by name; `load` returns its instance, class or factory, or raises any exception of its code."""

    name: str
    source: str
    load: Callable[[], object]


def is_name(name: str) -> bool:
    """Return whether every provider accepts the name for a tool."""
    return _NAME.fullmatch(name) is not None


def find_own(
    workspace: Path, trusted: Iterable[str], settings_file: Path, taken: Iterable[str]
) -> tuple[list[OwnTool], list[str]]:
    """Return all of the user's own tools, and a line for each that cannot be offered; names in `taken` are in use."""
    trusted = tuple(trusted)
    files, notices = tool_files(workspace), untrusted_notices(workspace, trusted)
    is_free = is_trusted(workspace, trusted) if files else True
    if not is_free:
        line = f"trusted = [{json.dumps(str(workspace))}]"
        notices.append(
            f"the tools in {workspace / DIRECTORY} are ignored: the directory is not trusted. `ohw` in it asks whether "
            f"to trust it; or write {line} into {settings_file}, above the tables"
        )
    tools: dict[str, OwnTool] = {}
    names = set(taken)
    for own in (*announced(), *(tools_in_workspace(workspace) if is_free else ())):
        if own.name in names or resolve_alias(own.name) != own.name or not is_name(own.name):
            why = "that is not a name for a tool" if not is_name(own.name) else "the name belongs to another tool"
            notices.append(f"the tool {own.name} of {own.source} is ignored: {why}")
            continue
        tools[own.name] = own
        names.add(own.name)
    return list(tools.values()), notices


def announced() -> list[OwnTool]:
    """Return the tools that installed packages announce as entry points, ordered by name."""
    return list(_announced(tuple(map(_changed_at, sys.path))))


@lru_cache(maxsize=1)
def _announced(import_path: tuple[tuple[str, int], ...]) -> Sequence[OwnTool]:
    """Return the tools as of the state of the import path: to read all packages takes longer than to open a session."""
    tools = [OwnTool(entry.name, _package(entry), entry.load) for entry in entry_points(group=GROUP)]
    return sorted(tools, key=lambda own: own.name)


def _changed_at(path: str) -> tuple[str, int]:
    """Return when a package was installed into a directory or removed from it last, or 0 if there is no directory."""
    try:
        return path, Path(path).stat().st_mtime_ns
    except (OSError, ValueError):
        return path, 0


def tools_in_workspace(workspace: Path) -> list[OwnTool]:
    """Return one tool per file, named after it; files that start with `_` are skipped."""
    return [OwnTool(path.stem, str(path), _loader(path)) for path in tool_files(workspace)]


def tool_files(workspace: Path) -> Sequence[Path]:
    """Return the files that would be loaded if the directory were trusted."""
    try:
        paths = (workspace / DIRECTORY).glob("*.py")
        return sorted(path for path in paths if not path.name.startswith("_") and path.is_file())
    except OSError:
        return ()


def _package(entry: EntryPoint) -> str:
    return f"package {entry.dist.name} {entry.dist.version}" if entry.dist else "a package"


def _loader(path: Path) -> Callable[[], object]:
    return lambda: _run(path)


def _run(path: Path) -> object:
    """Run the source of a file and return its `tool`; no compiled copy is left in the user's directory.

    Modules that the file imports, now or later, are not compiled to disk either: that would change what the user
    agreed to.
    """
    sys.dont_write_bytecode = True
    module = ModuleType(f"ohw_own_tools.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # type hints of its classes are looked up there
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    if not hasattr(module, "tool"):
        raise AttributeError("the file sets no `tool`")
    return module.tool
