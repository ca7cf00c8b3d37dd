"""Detects writes to unknown paths, which may be protected; every mode asks about them.

What a program itself writes (tests, builds, scripts) is not examined here: the integrity guard compares the protected
files before and after it runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import ANY, Part
from workbench.risk.paths import PathContext, within, words
from workbench.risk.protected_names import code_reason
from workbench.rules.subject import Subject

_LARGEST_PATCH: Final = 1_000_000
_WRITES_NOTHING: Final = words("--abort --continue --skip --quit --check --stat --numstat --summary")
_PATCH_PATH = lazy_pattern(
    r"(?m)^[> ]*(?:(?:---|\+\+\+|\*\*\*|Index:|rename to|rename from|copy to) |diff --git )([^\t\n]+)"
)
_COMMAND: Final = "it runs a command only known at run time, which may write to protected paths"
_WRITE: Final = "it writes to a path only known at run time, which may be a protected one"
_PATCH: Final = "it applies a patch that cannot be read before it runs, which may change protected files"


def unplaced_write(subject: Subject) -> str:
    """Return why a command line may write to a protected path that is unknown before it runs; empty if it cannot."""
    reasons = (_by_patch(part, subject) if _is_patch(part) else _reason(part, subject) for part in subject.commands)
    return next(filter(None, reasons), "")


def _reason(part: Part, subject: Subject) -> str:
    # git checks out committed content, which the integrity guard compares afterwards
    if "git" in part.words[:1] or not (part.unplaced or part.words):
        return ""
    if part.opaque == "*" and part.risk == "HIGH" and (part.changes or not part.deletes):
        return _COMMAND
    return _WRITE if _may_reach(part, subject.workspace, subject.home) else ""


def _may_reach(part: Part, workspace: str, home: str) -> bool:
    """Return whether a part may write to protected files: into a directory that contains some, or to an unknown
    path.
    """
    if part.unplaced and part.risk == "HIGH" and not (part.changes or part.deletes):
        return True
    # deleted files can be restored
    return any(
        path.endswith(ANY) and _holds_protected(path.removesuffix(ANY), workspace, home) for path in part.changes
    )


def _holds_protected(directory: str, workspace: str, home: str) -> bool:
    directory = real_path(directory)
    if within(real_path(workspace), directory) or PathContext(workspace, home).protects(directory):
        return True
    try:
        return any(code_reason(f"/{name}") for name in os.listdir(directory))  # noqa: PTH208 - strings come out
    except OSError:
        return False


def _is_patch(part: Part) -> bool:
    name = part.words[0].rpartition("/")[2] if part.words else ""
    return name in {"patch", "gpatch"} or (name == "git" and not {"apply", "am"}.isdisjoint(part.words[1:6]))


def _by_patch(part: Part, subject: Subject) -> str:
    """Return why a patch needs approval: it names a protected path, or cannot be read; empty if neither applies."""
    if part.words[0] == "git" and not _WRITES_NOTHING.isdisjoint(part.words):
        return ""
    strings = list(_patch_contents(part, subject))
    result = [match for text in strings for match in _PATCH_PATH.findall(text)]
    if not all(_PATCH_PATH.search(text) for text in strings) or not result or any("\\" in match for match in result):
        return _PATCH
    context = PathContext(subject.workspace, subject.home).remembering()
    directory = part.directories[0] if part.directories else subject.workspace
    for match in result:
        for path in match.strip().strip('"').split(" "):
            named = [os.path.join(directory, each) for each in (path, path.partition("/")[2])]  # noqa: PTH118
            if code_reason(f"/{path}") or any(map(context.protects, map(os.path.normpath, named))):
                return f"it applies a patch that changes {path}, which is protected"
    return ""


def _patch_contents(part: Part, subject: Subject) -> Iterator[str]:
    """Yield the contents of files that may contain the patch ("" for an unreadable one), and the command line if it
    contains a patch.
    """
    directory = part.directories[0] if part.directories else subject.workspace
    redirects = [path for each in subject.parts if each.text.startswith("<") for path in each.paths]
    named = [os.path.join(directory, word.partition("=")[2] or word) for word in part.words[1:]]  # noqa: PTH118
    written = {os.path.normpath(path) for each in subject.parts for path in each.changes if each is not part}
    for path in map(os.path.normpath, (*named, *redirects, *part.paths)):
        # a file that the same command line writes will have different content
        if path in written:
            yield ""
        elif os.path.isfile(path):  # noqa: PTH113 - asked for each action
            yield _read(path)
    if _PATCH_PATH.search(subject.command):
        yield subject.command


def _read(path: str) -> str:
    """Return the text of a patch; empty if it cannot be read completely."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - asked for each action
            content = file.read(_LARGEST_PATCH + 1)
    except OSError:
        return ""
    return content.decode(errors="replace") if len(content) <= _LARGEST_PATCH else ""
