"""Reports of crashes: one file for each, which the user may attach to an issue.

A report says where the program failed and on what system. It has no messages of exceptions, no arguments and no values
of variables, because these may contain what is in files, messages and keys. Nothing is ever sent.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from datetime import datetime
from importlib import metadata
from pathlib import Path

from workbench import __version__
from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.files.state_files import discard_file
from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.masker import MASKER
from workbench.text import first_line, visible, visible_path

_KEEP = 20
_FIRST, _LAST = 15, 45
"""How many frames of a long traceback are listed, at its start and at its end."""
_MOST_CAUSES = 8
_PACKAGE = Path(__file__).parent.parent
_SITE = lazy_pattern(r".*/(?:site|dist)-packages/")
_HEAD = """\
ohw crashed. You may attach this file to an issue; it was not sent anywhere.
It contains no messages, no content of files and no values, only where the program failed.
"""


def crash_line(part: str, error: BaseException, locations: Locations) -> str:
    """Write the report of a crash; return one line with the error and the path, safe to show.

    `part` is the part of the program that failed, such as `screen`. If the report cannot be written, the line says why.
    """
    message = first_line(str(error).strip(), 200)
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    try:
        where = f"a report without your data is in {visible_path(str(_write(part, error, locations)))}"
    except (OSError, WorkbenchError) as problem:
        where = f"no report could be written: {problem}"
    return MASKER.masked(visible(f"a fault of the workbench itself: {what}; {where}", lines=False))


def crash_directory(locations: Locations) -> Path:
    """Return the directory of the reports."""
    return locations.state / "crashes"


def _write(part: str, error: BaseException, locations: Locations) -> Path:
    directory = private_directory(crash_directory(locations))
    path = directory / f"{datetime.now():%Y%m%d-%H%M%S-%f}-{part}.txt"
    text = MASKER.masked(visible("\n".join(_lines(part, error))))
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    for old in sorted(directory.glob("*.txt"), reverse=True)[_KEEP:]:
        discard_file(old)
    return path


def _lines(part: str, error: BaseException) -> Iterator[str]:
    yield _HEAD
    yield f"part      {part}"
    yield f"ohw       {__version__}"
    yield f"Python    {platform.python_version()} ({platform.python_implementation()})"
    yield f"system    {platform.platform()}"
    yield f"terminal  {os.environ.get('TERM', 'none')}"
    yield f"packages  {', '.join(_packages())}"
    for number, each in enumerate(_chain(error)):
        yield ""
        yield f"{'because of ' if number else ''}{_kind(each)}"
        yield from _frames(each)


def _packages() -> Iterator[str]:
    """Yield the packages that ohw depends on, with their versions."""
    try:
        requirements = metadata.requires("workbench") or []
    except metadata.PackageNotFoundError:
        return
    for requirement in requirements:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue  # an extra that is not installed


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, then the exceptions that led to it, as far as Python would print them."""
    current: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _kind(error: BaseException) -> str:
    """Return the type of an exception, and the symbol of its error number; never its message."""
    number = error.errno if isinstance(error, OSError) else None
    symbol = f" ({errno.errorcode.get(number, number)})" if number else ""
    return f"{type(error).__module__}.{type(error).__qualname__}{symbol}"


def _frames(error: BaseException) -> Iterator[str]:
    """Yield a line for each frame, except for the middle of a long traceback. Only code of ohw, of installed packages
    and of Python is named.
    """
    frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
    omitted = len(frames) - _FIRST - _LAST
    for index, frame in enumerate(frames):
        if omitted > 0 and index == _FIRST:
            yield f"  … {omitted} frames …"
        if omitted <= 0 or index < _FIRST or index >= _FIRST + omitted:
            module = _module(frame.filename)
            yield f"  {module}:{frame.lineno} in {frame.name}" if module else "  code that is not part of ohw"


def _module(file: str) -> str:
    """Return the path of a module inside ohw, an installed package or Python; empty for any other file."""
    path = Path(file)
    if path.is_relative_to(_PACKAGE):
        return f"workbench/{path.relative_to(_PACKAGE)}"
    if _SITE.match(file):
        return _SITE.sub("", file)
    for root in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")):
        if path.is_relative_to(root):
            return f"python{sys.version_info.major}.{sys.version_info.minor}/{path.relative_to(root)}"
    return file if file.startswith("<frozen ") else ""
