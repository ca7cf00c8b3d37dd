"""The risk of an action on one file: by its real path and what is done; used by `local` and by `ohw risk`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from workbench.security.assessment import Assessment, Part, one, shortened, summed
from workbench.security.hidden import hides
from workbench.security.places import Places
from workbench.security.protected import words

_PATH_NAMES = words("path paths file files file_path filename folder directory dir")
READS = frozenset({"view", "read"})


def assess_file(operation: str, path: str, places: Places) -> Assessment:
    """The rating of `view`, `create`, `str_replace` … on a path; it never raises."""
    try:
        return _assessed(operation, path, places)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        return one("HIGH", f"the analysis failed ({type(error).__name__})")


def _assessed(operation: str, path: str, places: Places) -> Assessment:
    if not path.startswith("/") or hides(path):
        return one("HIGH", "the path is not plain", f"{operation} {path}")
    risk, reason = places.reading(path) if operation in READS else places.writing(path)
    if operation == "delete":
        risk, reason = places.deleting(path)
    if risk == "MEDIUM" and operation not in READS and _has_other_names(places.resolved(path)):
        risk, reason = "HIGH", "the file has another name elsewhere, which changes too"
    found = one(risk, reason, f"{operation} {path}", (path,))
    if operation in READS or not places.protects(path):
        return found
    return found._replace(parts=tuple(part._replace(protected=(path,)) for part in found.parts))


def assess_reading(arguments: Mapping[str, Any], places: Places) -> Assessment:
    """The rating of a tool that only reads: by the files and folders it names, with all that is below them."""
    return summed(_read(path, places) for path in named_paths(arguments, places.workspace))


def _read(path: str, places: Places) -> Part:
    risk, reason = places.reading(path, deep=True)
    if hides(path):
        risk, reason = "HIGH", "the path is not plain"
    return Part(shortened(path), risk, reason, (path,))


def named_paths(arguments: Mapping[str, Any], folder: str) -> list[str]:
    """The absolute paths that arguments name, by what those are called; relative ones lie below the folder."""
    found: list[str] = []
    for name, value in arguments.items():
        if name.casefold() in _PATH_NAMES:
            found += [
                each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str) and each
            ]
    return list(dict.fromkeys(_absolute(path, folder) for path in found))


def _absolute(path: str, folder: str) -> str:
    whole = os.path.expanduser(path) if path.startswith("~") else path  # noqa: PTH111 - Path costs more
    return os.path.normpath(whole if whole.startswith("/") else f"{folder}/{whole}")


def _has_other_names(path: str) -> bool:
    try:
        found = os.stat(path)  # noqa: PTH116 - a string comes in, and Path costs more than the call
    except OSError:
        return False
    return found.st_nlink > 1 and not os.path.isdir(path)  # noqa: PTH112
