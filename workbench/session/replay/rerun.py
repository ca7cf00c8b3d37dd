"""Runs recorded actions again, using the parts of a session that prepare and run actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.agent.agent_kinds import can_only_read
from workbench.llm.model import Cancel
from workbench.protocol.events import ActionObserved, Event
from workbench.protocol.live import LiveEvent
from workbench.session.actions.assess import Preparer
from workbench.session.actions.run import PartialWriter, PreparedAction, Result, Runner, RunningAction
from workbench.session.assessments import Assessments
from workbench.session.loop_watch import Failures
from workbench.session.results import not_run
from workbench.session.state import OpenAction, State
from workbench.tools.arguments import ArgumentError
from workbench.tools.tool import ToolDefinition


def _ignore(event: Event | LiveEvent) -> None:
    """Do nothing; the events of a running action are not needed."""


class Rerun:
    """Runs the actions of one replay; `state` is the state of the log, with paths in the scratch directory."""

    def __init__(self, tools: Mapping[str, ToolDefinition], state: State, writer: PartialWriter) -> None:
        self.tools = tools
        self.assessments = Assessments(state)
        self._state = state
        self._writer = writer
        self._preparer = Preparer(tools, state, self.assessments)
        self._runner = Runner(_ignore, _ignore, self._usable)
        self._failures = Failures()

    def _usable(self) -> list[str]:
        is_plan = self._state.mode == "plan"
        return [name for name, tool in self.tools.items() if not is_plan or can_only_read(tool)]

    def results(self, actions: Sequence[OpenAction], cancel: Cancel) -> dict[str, Result]:
        """Run the actions, in parallel if there are several, and return their results by action id."""
        results: dict[str, Result] = {}
        group: list[RunningAction] = []
        for action in actions:
            proposed = action.proposed
            try:
                group.append(RunningAction(proposed, self._prepared(action)))
            except ArgumentError as error:
                results[proposed.action_id] = not_run(proposed.action_id, f"{proposed.tool} was not run: {error}")
        for run, result in self._runner.results(group, cancel):
            if isinstance(result, ActionObserved):
                result = self._failures.advised(run.proposed, result, self.tools)
            results[run.proposed.action_id] = result
        return results

    def _prepared(self, action: OpenAction) -> PreparedAction:
        proposed, decided = action.proposed, action.decided
        stacked = action.stacked if action.assessed is not None else None
        readied = self._preparer.ready(proposed.tool, action.arguments, proposed.action_id, stacked)
        if decided is None or decided.written is None:
            return readied
        return self._writer.in_part(readied, decided)

    def refusal(self, action: OpenAction) -> ActionObserved | None:
        """Return the result of a call that is refused, or None if the call can run."""
        proposed = action.proposed
        try:
            self._preparer.ready(proposed.tool, action.arguments, proposed.action_id)
        except ArgumentError as error:
            refused = not_run(proposed.action_id, f"{proposed.tool} was not run: {error}", refused=True)
            return self._failures.advised(proposed, refused, self.tools)
        return None

    def follow(self, event: Event) -> None:
        """Apply the next event of the log; it is needed for the advice that repeated failures get."""
        self._failures.apply(event)

    def rewound(self, *, files: bool) -> None:
        """Inform the tools of a rewind; `files` says whether files were changed."""
        for tool in self.tools.values():
            if tool.executor is not None:
                tool.executor.rewound(files=files)

    def close(self) -> None:
        """End the threads of the tools."""
        self._runner.close()
