"""The risk of an action on one file: by its real path and what is done; used by `local` and by `ohw risk`."""

from __future__ import annotations

import os

from workbench.security.assessment import Assessment, one
from workbench.security.hidden import hides
from workbench.security.places import Places

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
    return one(risk, reason, f"{operation} {path}", (path,))


def _has_other_names(path: str) -> bool:
    try:
        found = os.stat(path)  # noqa: PTH116 - a string comes in, and Path costs more than the call
    except OSError:
        return False
    return found.st_nlink > 1 and not os.path.isdir(path)  # noqa: PTH112
