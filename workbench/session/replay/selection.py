"""Decides which recorded actions run again: those that stay inside the directory, as far as that can be told."""

from __future__ import annotations

from typing import Literal, TypeAlias

from workbench.risk import RatingContext
from workbench.risk.paths import within
from workbench.risk.reach import Reach, reach_of
from workbench.session.replay.rerun import Rerun
from workbench.session.state import OpenAction
from workbench.tools.manifest import kind_of
from workbench.tools.tool import ToolDefinition

Reason: TypeAlias = (
    Reach | Literal["a question to the user", "a sub-agent", "a model", "a tool that is not here", "an interrupt"]
)
_ALWAYS: dict[str, Reason] = {"question": "a question to the user", "sub_agent": "a sub-agent"}
_ONLINE = frozenset({"pages", "fetch"})
_ASKING = frozenset({"create_chat_completion", "edit_file"})


def why_not_rerun(rerun: Rerun, workspace: str, action: OpenAction, *, directory: str, is_live: bool) -> Reason:
    """Return why an action is not run again, such as what it reaches outside the workspace; empty if it is.

    `directory` is the one in which it ran, empty if unknown. With `is_live`, only what needs a user, a sub-agent, a
    model or a missing tool is not run again.
    """
    tool, kind = rerun.tools.get(action.proposed.tool), kind_of(action.proposed.tool)
    if kind in _ALWAYS:
        return _ALWAYS[kind]
    if action.proposed.tool in _ASKING:
        return "a model"
    if tool is None:
        return "a tool that is not here"
    if is_live:
        return ""
    if directory and not within(directory, workspace):
        return "files outside the directory"
    return "the network" if kind in _ONLINE or tool.is_remote else _reach(rerun, workspace, action, tool)


def _reach(rerun: Rerun, workspace: str, action: OpenAction, tool: ToolDefinition) -> Reason:
    rated = rerun.assessments.of(tool, action.arguments)
    try:
        return reach_of(tool, action.arguments, rated, RatingContext(workspace, tool.working_dir() or workspace))
    except Exception:  # noqa: BLE001 - the tool's own code cannot tell
        return "a tool that is not here"
