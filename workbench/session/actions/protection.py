"""Applies the integrity guard to the actions of a session: before each, after each, and into the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from workbench.protocol.events import ActionObserved, Event
from workbench.session.actions.assess import Rater
from workbench.session.actions.integrity_guard import ALL_CHANGES, IntegrityGuard, Permit, permit_of
from workbench.session.actions.record import with_text
from workbench.session.actions.run import Result, Run
from workbench.session.log import Journal
from workbench.session.state import OpenAction
from workbench.tools.tool import ToolDefinition


class Protection:
    """The integrity guard of one session, and what its running actions may change."""

    def __init__(self, journal: Journal, rater: Rater, state: Path | None) -> None:
        """What is put back is kept in `state`; without it nothing is put back, only asked about."""
        self._journal = journal
        self._rater = rater
        self._permits: dict[str, Permit] = {}
        self.guard = IntegrityGuard(journal.ledger.workspace, state)

    def compare(self) -> None:
        """Record, and say, which protected files have changed since the last action; raises StoreError."""
        intrusion = self.guard.compare()
        if intrusion.paths:
            self._journal.commit(intrusion.event(), happened=True)

    def doubt(self, tool: ToolDefinition) -> str:
        """Why a call of this tool is asked about because of protected files that have changed; empty otherwise."""
        return self.guard.question if may_change(tool) else ""

    def objection(self, action: OpenAction, tool: ToolDefinition) -> str | None:
        """The doubt, where the user has not approved the action with it; what they have approved is settled."""
        doubt = self.doubt(tool)
        decided, shown = action.decided, action.assessed
        if not doubt:
            return None
        if decided is None or decided.by != "person" or shown is None or doubt not in shown.reasons:
            return doubt
        self.guard.accept()
        return None

    def begin(self, run: Run) -> None:
        """Note what an action that starts may change of the protected files."""
        tool = run.readied.tool
        if not may_change(tool):
            return
        action = self._journal.ledger.batch.get(run.proposed.action_id)
        decided = action.decided if action else None
        proposed = replace(run.proposed, arguments=action.arguments) if action else run.proposed
        local = self._rater.local(proposed, tool)
        permit = permit_of(
            local,
            self._journal.ledger.workspace,
            [file.path for file in run.readied.files],
            by_user=decided is not None and decided.by == "person",
            by_rule=not self._rater.guarded(proposed, local),
        )
        self._permits[run.proposed.action_id] = permit
        self.guard.begin(permit)

    @contextmanager
    def own_command(self, run: Run | None) -> Iterator[None]:
        """While a command of the user's runs: it may change anything, and what it does not name is said afterwards."""
        if run is None:
            yield
            return
        local = self._rater.local(run.proposed, run.readied.tool)
        permit = permit_of(local, self._journal.ledger.workspace, (), by_user=True, by_rule=False)
        self.guard.begin(ALL_CHANGES)
        try:
            yield
        finally:
            intrusion = self.guard.end_own(permit)
        if intrusion.paths:
            self._journal.commit(intrusion.event(run.proposed.action_id), happened=True)

    def ended(self, run: Run, result: Result) -> tuple[Result, Sequence[Event]]:
        """The result with what the model is told of protected files that the action changed unshown, and the event."""
        permit = self._permits.pop(run.proposed.action_id, None)
        intrusion = self.guard.end(permit) if permit is not None else None
        if intrusion is None or not intrusion.paths:
            return result, ()
        if isinstance(result, ActionObserved) and intrusion.model_note:
            result = with_text(result, intrusion.model_note)
        return result, (intrusion.event(run.proposed.action_id),)


def may_change(tool: ToolDefinition) -> bool:
    """Whether calls of the tool may change files; what a server says of its own tools is not relied upon."""
    is_ours = getattr(tool, "foreign", None) is None
    return not (is_ours and (tool.is_read_only or tool.ends_run or tool.asks_person))
