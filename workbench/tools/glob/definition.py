"""The tool `glob` as model and session see it: which files there are, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.tools.context import ConversationState
from workbench.tools.declared import DeclaredTool
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

MOST = 100
"""Files that one call gives back."""
SECONDS = 30.0
"""How long a search may take."""

_DESCRIPTION = f"""Find files by the shape of their path; the result is their absolute paths, the newest first, {MOST} at most.

* `*` and `?` stay within one name, `**` stands for any number of folders: `src/**/*.ts`, `**/test_*.py`, `*.{{yml,yaml}}`.
* A pattern without `/` is looked for in every folder; one with `/` begins at `path`.
* Hidden files are found only by a pattern that names the dot (`**/.env*`). Files that .gitignore or .ignore leave out are not found.

Use `grep` to look for what stands in files."""  # noqa: E501
_SHORT = f"Find files by a pattern such as `src/**/*.ts`; absolute paths, newest first, {MOST} at most."


class GlobAction(Action):
    """A pattern for paths, and where to look."""

    pattern: str = Field(min_length=1, description="What the path must look like, for example `**/*.py`.")
    path: str | None = Field(None, description="The folder to look in; the workspace when left out.")


class GlobObservation(Observation):
    """The files found; `found` counts those that are not shown too."""

    files: list[str] = Field(default_factory=list)
    found: int = 0
    truncated: bool = False


class GlobTool(DeclaredTool[GlobAction, GlobObservation]):
    """Finding files, ready to use."""

    name = "glob"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = GlobAction
    observation_type = GlobObservation
    annotations = ToolAnnotations.reading("Find files")

    def __init__(self, workspace: str | Path | None = None, *, seconds: float = SECONDS) -> None:
        from workbench.tools.glob.impl import GlobExecutor

        super().__init__(GlobExecutor(str(Path(workspace or ".").absolute()), seconds))

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Finding files of a session; relative paths are below its workspace."""
        return (cls(**{"workspace": conv_state.workspace, **params}),)
