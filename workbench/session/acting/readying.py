"""What would run, and what a decision on it is bound to; worked out when an action is assessed and before it starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from workbench.protocol.events import FileDelta
from workbench.security.local import executed_by
from workbench.security.secrets import masks_in
from workbench.session.acting.fingerprint import executed_changes, fingerprint
from workbench.session.acting.running import Readied
from workbench.session.acting.stacking import left_before, stacked, stacking_reasons
from workbench.session.acting.stale import stale_files
from workbench.session.ledger import Ledger
from workbench.tools.arguments import ArgumentError
from workbench.tools.beneath import on_top_of
from workbench.tools.tool import ToolDefinition

_NO_TOOL = "there is no tool {name!r} here. The tools are: {tools}."
_MASKED = (
    "it holds {mask}, which stands where a secret is hidden from you; written down it would destroy the secret. "
    "Leave that place as it is: change only what stands around it, or ask the person."
)


class Readying:
    """Makes actions of one session ready with its tools."""

    def __init__(self, tools: Mapping[str, ToolDefinition], ledger: Ledger) -> None:
        self._tools = tools
        self._ledger = ledger

    def ready(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        action_id: str = "",
        shown_stacked: Collection[str] | None = None,
    ) -> Readied:
        """What would run; raises ArgumentError when the tool is gone or does not take these arguments.

        An action that is named is shown on top of what the ones before it in its batch will leave; `shown_stacked` are
        the files it was shown so with, where its fingerprint is to be compared.
        """
        tool = self._tools.get(tool_name)
        if tool is None:
            raise ArgumentError(_NO_TOOL.format(name=tool_name, tools=", ".join(sorted(self._tools))))
        action = tool.action_from_arguments(arguments)
        _check_masks(tool, arguments)
        beneath = self.beneath(action_id)
        with on_top_of(beneath):
            preparation = tool.preparation(action)
            changes = () if preparation else tool.preview(action)
        files = tuple(FileDelta(path=f.path, before=f.before, after=f.after) for f in changes)
        folder = tool.working_dir() or self._ledger.workspace
        on_top = stacked(changes, beneath) if shown_stacked is None else tuple(shown_stacked)
        executes = executed_by(tool, arguments, self._ledger.workspace, folder, beneath)
        print_ = fingerprint(tool.name, arguments, folder, files, on_top, executes=executes)
        return Readied(
            tool,
            action,
            files,
            folder,
            print_,
            preparation,
            stale=stale_files(changes, self._ledger.writers),
            stacked=on_top,
            beside=stacking_reasons(changes, beneath),
            executes=executes,
            difference=partial(self._differs, tool, arguments, folder, beneath, executes),
        )

    def _differs(
        self,
        tool: ToolDefinition,
        arguments: dict[str, Any],
        cwd: str,
        before: Mapping[str, str | None],
        executes: Mapping[str, str],
    ) -> str:
        """Return what differs now from the files that an action was checked to execute, in a line.

        `before` holds the files that earlier actions of its batch write.
        """
        if not executes:
            return ""
        return executed_changes(executes, executed_by(tool, arguments, self._ledger.workspace, cwd, before), cwd)

    def beneath(self, action_id: str) -> dict[str, str | None]:
        """What files will hold once the actions before this one have run."""
        return left_before(self._ledger, action_id) if action_id else {}


def _check_masks(tool: ToolDefinition, arguments: dict[str, Any]) -> None:
    masked = None if tool.is_read_only else masks_in(arguments.values())
    if masked:
        raise ArgumentError(_MASKED.format(mask=masked))
