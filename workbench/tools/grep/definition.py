"""The tool `grep` as model and session see it: which lines match a regular expression."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from workbench.tools.context import ConversationState
from workbench.tools.declared import DeclaredTool
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

SECONDS = 30.0
"""How long a search may take."""

_DESCRIPTION = r"""Find lines in files by a regular expression; the result is `file:line:text`, in the order of the paths.

* `pattern` is matched line by line, upper and lower case apart unless `ignore_case`. Escape signs that are meant as they are: `foo\(`, `a\.b`. Lookaround and back references work, more slowly.
* `include` limits the search to files whose name fits: `*.py`, `*.{ts,tsx}`; with a `/` it is the path below `path`: `src/**/*.py`.
* `output` "files" gives only the names of the files; `context` adds that many lines around each match.
* Hidden files, files that .gitignore or .ignore leave out, binary files and files over 10 MB are not searched. A long result is cut at 30,000 characters and says so.

Use `glob` to find files by their name."""  # noqa: E501
_SHORT = "Find lines in files by a regular expression: `file:line:text`, or names with `output` files."


class GrepAction(Action):
    """A regular expression, and where to look for it."""

    pattern: str = Field(min_length=1, description="The regular expression.")
    path: str | None = Field(None, description="The folder or file to search; the workspace when left out.")
    include: str | None = Field(None, min_length=1, description="Only files that fit this glob, such as `*.py`.")
    output: Literal["lines", "files"] = Field("lines", description="What to give back.")
    ignore_case: bool = Field(False, description="True: upper and lower case are the same.")
    context: int = Field(0, ge=0, le=20, description="Lines to show before and after each match.")


class GrepObservation(Observation):
    """The lines found; the counts include those that are not shown."""

    matched_files: int = 0
    matched_lines: int = 0
    truncated: bool = False


class GrepTool(DeclaredTool[GrepAction, GrepObservation]):
    """Searching files, ready to use."""

    name = "grep"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = GrepAction
    observation_type = GrepObservation
    annotations = ToolAnnotations.reading("Search files")

    def __init__(self, workspace: str | Path | None = None, *, seconds: float = SECONDS) -> None:
        from workbench.tools.grep.impl import GrepExecutor

        super().__init__(GrepExecutor(str(Path(workspace or ".").absolute()), seconds))

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Searching files of a session; relative paths are below its workspace."""
        return (cls(**{"workspace": conv_state.workspace, **params}),)
