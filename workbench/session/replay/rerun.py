"""Runs recorded actions again, with the parts of a session that prepare and run them."""

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
    """Do nothing with an event of a running action."""


class Rerun:
    """The actions of one replay; `state` is what the log leads to, with the paths of the scratch directory."""

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
        """Run the actions, at the same time if there are several, and return their results by id."""
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
        """Return the result of an action that cannot become one, or None if it can."""
        proposed = action.proposed
        try:
            self._preparer.ready(proposed.tool, action.arguments, proposed.action_id)
        except ArgumentError as error:
            refused = not_run(proposed.action_id, f"{proposed.tool} was not run: {error}", refused=True)
            return self._failures.advised(proposed, refused, self.tools)
        return None

    def follow(self, event: Event) -> None:
        """Consume the next event of the log, for the advice after repeated failures."""
        self._failures.apply(event)

    def rewound(self, *, files: bool) -> None:
        """Let the tools adapt to a rewind; `files` says whether files changed."""
        for tool in self.tools.values():
            if tool.executor is not None:
                tool.executor.rewound(files=files)

    def close(self) -> None:
        """End the threads of the tools."""
        self._runner.close()
