"""Questions of one model response that are open together: asked ahead of their turn and kept up to date.

Nothing runs ahead of its turn. An action that a mode or rule allows or denies, or that is invalid, is handled when its
turn comes.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from workbench.llm.model import Cancel
from workbench.protocol.events import ActionAssessed, ActionProposed, Event
from workbench.protocol.live import Notice
from workbench.session.actions.assess import EDITED
from workbench.session.actions.fingerprint import is_same_action
from workbench.session.actions.hook_gate import is_by_hook
from workbench.session.actions.lifecycle import Actions
from workbench.session.log import Log
from workbench.session.state import OpenAction
from workbench.tools.arguments import ArgumentError
from workbench.tools.tool import ToolDefinition


class OpenQuestions:
    """The questions of one session that are open in addition to the next action's."""

    def __init__(self, log: Log, tools: Mapping[str, ToolDefinition], actions: Actions) -> None:
        self._log = log
        self._tools = tools
        self._actions = actions

    def advance(self, cancel: Cancel, *, after_a_run: bool) -> None:
        """Update the open questions after a unit of work (all if something ran), and ask ahead. Raises StoreError."""
        self._renew(cancel, only_stacked=not after_a_run)
        self._ask_ahead(cancel)

    def _ask_ahead(self, cancel: Cancel) -> None:
        """If a question is open, ask the user about the later actions too.

        Stop at an action that asks the user something or ends the run: later actions may not be needed.
        """
        for action in self._behind():
            with self._log.lock:
                if cancel.is_set or not self._is_behind_a_question(action):
                    return
                events = self._actions.assessed(action.proposed)
                if events and isinstance(events[0], ActionAssessed) and events[0].needs_decision:
                    self._log.commit(*events)

    def _behind(self) -> list[OpenAction]:
        """Return, in order, the actions to ask about ahead of their turn: they are neither decided nor waiting."""
        with self._log.lock:
            batch = list(self._log.state.batch.values())
        actions = []
        for action in batch:
            tool = self._tools.get(action.proposed.tool)
            if tool is not None and not action.proposed.error and (tool.asks_user or tool.ends_run):
                break
            if action.decided is None and not action.is_waiting and not action.proposed.error:
                actions.append(action)
        return actions

    def _is_behind_a_question(self, action: OpenAction) -> bool:
        state = self._log.state
        first = state.next_action
        is_open = state.batch.get(action.proposed.action_id) is action and action.decided is None
        return is_open and state.phase == "deciding" and first is not action

    def _renew(self, cancel: Cancel, *, only_stacked: bool) -> None:
        """Ask again about actions that are no longer as shown, for example after a decision on an earlier one."""
        with self._log.lock:
            waiting = self._log.state.waiting
        for action in waiting:
            if only_stacked and not action.stacked:
                continue
            with self._log.lock:
                if cancel.is_set or not action.is_waiting:
                    return
                self._log.commit(*self._reassessed(action))

    def offer(self, what: str) -> Notice | None:
        """Return a notice of how many waiting actions `what` would allow, or None if none; it decides none of them."""
        rater, state = self._actions.rater, self._log.state
        with self._log.lock:
            waiting = [(action, self._tools.get(action.proposed.tool)) for action in state.waiting]
            fitting = sum(
                tool is not None and not action.asks_user and rater.verdict(action, tool).verdict == "allow"
                for action, tool in waiting
            )
        if not fitting:
            return None
        words = "1 pending action matches" if fitting == 1 else f"{fitting} pending actions match"
        still = "it still needs" if fitting == 1 else "they still need"
        return Notice(text=f"{words} {what}; {still} your decision")

    def _reassessed(self, action: OpenAction) -> list[Event]:
        assessed = action.assessed
        if assessed is None or action.asks_user or self._is_unchanged(action, assessed):
            return []
        is_users = assessed.edited is not None and not is_by_hook(action, assessed.edited)
        events = self._actions.assessed(action.proposed, ask=EDITED if is_users else "", edited=assessed.edited)
        if events and isinstance(events[0], ActionAssessed):
            return events
        # it would fail now, or its effect is not known yet: it is assessed again when its turn comes
        return [ActionAssessed(action_id=assessed.action_id, risk=assessed.risk, needs_decision=False)]

    def _is_unchanged(self, action: OpenAction, assessed: ActionAssessed) -> bool:
        proposed = replace(action.proposed, arguments=action.arguments)
        tool = self._tools.get(proposed.tool)
        if tool is None or not is_same_action(self._fingerprint(proposed, assessed), assessed.fingerprint):
            return False
        return self._actions.rater.ruling(proposed, tool)[0] == assessed.risk

    def _fingerprint(self, proposed: ActionProposed, assessed: ActionAssessed) -> str:
        """Return the fingerprint that a decision on the action would have now; empty if the action could not run."""
        try:
            arguments = (proposed.tool, proposed.arguments, proposed.action_id, assessed.stacked)
            return self._actions.ready(*arguments).fingerprint
        except ArgumentError:
            return ""
