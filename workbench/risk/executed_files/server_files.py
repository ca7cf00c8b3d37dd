"""Finds the files that control what a long-running program, such as an MCP server, does."""

from __future__ import annotations

import os
from collections.abc import Sequence

from workbench.risk.assessment import NOT_COMPARED, Part
from workbench.risk.executed_files.action_files import finder_of
from workbench.risk.executed_files.project_files import REST


def files_started(parts: Sequence[Part], directory: str, argv: Sequence[str], *, text: str) -> dict[str, str]:
    """Return the files that a program started in `directory` runs or reads as code: a hash of each content by path.

    `parts` are those of the assessment of the command line `text`. A file that is not certain to run is included only
    if it is directly in `directory` or in a directory that `argv` names: the other sources of a project change too
    often. The result contains NOT_COMPARED if there are more files than can be examined.
    """
    finder = finder_of(parts, directory, directory, text=text)
    starts = {os.path.normpath(f"{finder.workspace}/{word}") for word in (".", *argv) if not word.startswith("/")}
    files = {
        path: digest
        for path, digest in finder.files.items()
        if path in finder.scripts or (os.path.dirname(path) in starts and not path.endswith(REST))  # noqa: PTH120
    }
    return files | ({NOT_COMPARED: ""} if finder.is_script_cut else {})
