"""A session as a state machine on its log: the engine, the headless command and the tests all drive this class.

One thread calls `step()`; commands come from any other thread. Nothing runs before its decision is on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from workbench.files.anchored import Root
from workbench.llm.model import Cancel, Model
from workbench.protocol.events import ActionDecided, Event, Verdict
from workbench.protocol.live import EngineState, LiveEvent
from workbench.protocol.risk import Mode
from workbench.rules.book import RuleBook
from workbench.session.actions.actions import Actions
from workbench.session.actions.ahead import Ahead
from workbench.session.actions.decide import (
    Always,
    Refused,
    Said,
    Wishes,
    answer_to,
    condensing_wish,
    decision_on,
    remembered,
    settings_change,
)
from workbench.session.actions.record import Recall, not_run
from workbench.session.actions.recovery import after_a_fault, after_a_stop, after_an_interrupt
from workbench.session.actions.run import Writing
from workbench.session.actions.user_commands import OwnCommands
from workbench.session.limits.budget import Allowance
from workbench.session.limits.limits import USUAL_LIMITS, Limits
from workbench.session.log import Journal
from workbench.session.messages import Messages
from workbench.session.state import OpenAction, Phase
from workbench.session.storage.store import Store, StoreError
from workbench.session.turn.resources import Source
from workbench.session.turn.turn import Responder, Thinking
from workbench.session.workspace.files import Files
from workbench.session.workspace.snapshots import Recorder
from workbench.text import visible
from workbench.tools.tool import ToolDefinition

__all__ = ["Refused", "Session"]

EXIT = "/exit"
"""What a person writes to end the run."""


def _ignore(event: object) -> None:
    """The listener where nobody listens."""


def _nowhere(model: str) -> str:
    """The address of models where nobody says."""
    return ""


class Session:
    """One session. `step()` works until a person is needed; StoreErrors of commands mean: nothing was accepted."""

    def __init__(
        self,
        store: Store,
        agent: Responder,
        tools: Mapping[str, ToolDefinition],
        *,
        limits: Limits = USUAL_LIMITS,
        rules: RuleBook | None = None,
        on_event: Callable[[Event], None] = _ignore,
        on_live: Callable[[LiveEvent], None] = _ignore,
        open_model: Callable[[str], Model] | None = None,
        state_dir: Path | None = None,
        recorder: Recorder | None = None,
        resources: Source | None = None,
        address_of: Callable[[str], str] = _nowhere,
    ) -> None:
        self.files = Files(tools, recorder)
        journal = self._journal = Journal(store, self.files.heard_by(on_event), limits.max_observe, Recall(tools).apply)
        self.files.use(journal)
        self.questions = journal.questions
        self._lock, self._on_live, self.sub_agents_asking = journal.lock, on_live, journal.ledger.sub_agents_asking
        self._limits, self.allowance = limits, Allowance(limits, journal)
        self._actions = Actions(
            journal, tools, on_live, rules, Writing(state_dir, journal.ledger.workspace), files=self.files
        )
        self.refused = self._actions.refused
        self._ahead = Ahead(journal, tools, self._actions)
        self.own = OwnCommands(journal, self._actions, self.files.settle_own)
        self._thinking = Thinking(
            journal, agent, tools, self._actions, open_model=open_model, on_live=on_live, resources=resources
        )
        self.messages = Messages(journal, self._thinking.check_images, self._announce)
        self._workspace = Root.at(journal.ledger.workspace)
        self._held = self._workspace.hold()
        self._cancel: Cancel | None = None  # of the unit of work that runs now
        self._stop_after: int | None = None  # how far the log was when the person interrupted the unit
        self._stop_reason = ""
        self._address_of = address_of
        self._said: EngineState | None = None

    @property
    def state(self) -> EngineState:
        """What the screens are told of it now."""
        ledger = self._journal.ledger
        work = "acting" if self.own.is_waiting else self.phase
        return EngineState(
            state=work, detail=self.unsaved, queued=ledger.queued, address=self._address_of(ledger.model)
        )

    @property
    def unsaved(self) -> str:
        """One line while the log cannot be written, from the first write that fails to the next that succeeds."""
        return f"not being saved: {self._journal.fault}" if self._journal.fault else ""

    @property
    def phase(self) -> Phase:
        """What the session does now; "deciding" while the person is asked."""
        with self._lock:
            return self._journal.ledger.phase

    @property
    def ended(self) -> str:
        """Why the last run ended; empty while one runs."""
        return self._journal.ledger.ended

    @property
    def chosen(self) -> tuple[str, Mode, tuple[str, ...]]:
        """The model's name, when to ask, and the rules of the session, as set last."""
        return self._journal.ledger.model, self._journal.ledger.mode, self._journal.ledger.rules

    @property
    def question(self) -> OpenAction | None:
        """The action whose turn it is, while it waits for the person's decision or answer; others may wait too."""
        with self._lock:
            return self._journal.ledger.next_action if self.phase == "deciding" else None

    @property
    def workspace_gone(self) -> str:
        """One line where the folder was moved, deleted or replaced since the session was opened; empty otherwise."""
        if self._workspace.is_there:
            return ""
        return f"the folder {visible(str(self._workspace.path), lines=False)} was moved, deleted or replaced"

    def recover(self) -> None:
        """Make the log whole after a stop in the middle; call once after opening. Raises StoreError."""
        with self._lock:
            self._journal.commit(*self.own.after_a_stop(), *after_a_stop(self._journal.ledger))

    def send(self, text: str, mentions: Sequence[str] = ()) -> None:
        """A message of the person's; while the agent works it waits for the next call. Never a decision."""
        if text.strip() == EXIT:
            self.interrupt()
        else:
            self.messages.add(text, mentions)

    def decide(
        self, action_id: str, verdict: Verdict, *, fingerprint: str, always: Always | None = None, **said: Unpack[Said]
    ) -> None:
        """The person's decision on the action shown with this fingerprint, and a rule to save; raises Refused."""
        with self._lock:
            self._journal.save()
            decided = ActionDecided(action_id=action_id, verdict=verdict, by="person", fingerprint=fingerprint, **said)
            waiting = self._journal.ledger.question(action_id)
            events = decision_on(waiting, decided, self._actions)
            if always is not None:
                events = remembered(waiting, always, self._actions.rules, events)
            self._journal.commit(*events)
            if always is not None and (offer := self._ahead.offer("the new rule")):
                self._on_live(offer)
            self._announce()

    def answer(self, action_id: str, text: str) -> None:
        """The person's answer to a question of the agent's; raises Refused."""
        with self._lock:
            self._journal.save()
            self._journal.commit(*answer_to(self._journal.ledger.question(action_id), action_id, text))
            self._announce()

    def interrupt(self) -> None:
        """Stop the agent, whatever it does; everything is kept. Does nothing when it is idle.

        What the person sends while the unit of work still comes to its end is taken up right after it.
        """
        with self._lock:
            if self.own.interrupt() or self.phase == "idle":
                return
            if self._cancel is None:
                self._end_interrupted()
                self._announce()
                return
            self._stop_after = self._journal.history.last_seq
            cancel = self._cancel
        cancel.set()

    def stop(self, reason: str) -> None:
        """End the run before anything else starts, with this reason in the log; what runs now comes to its end.

        Takes no lock, so that a listener of events may call it.
        """
        self._stop_reason = reason
        self._stop_after = self._journal.history.last_seq

    def compact(self, *, undo: bool = False) -> None:
        """Have the history condensed, now or before the next call, or the last time undone; raises Refused."""
        with self._lock:
            self._journal.commit(condensing_wish(self._journal.history, undo=undo))
            self._announce()

    def set(self, **wishes: Unpack[Wishes]) -> None:
        """Change what is given from here on; raises Refused, ModelError. It never decides an action that waits."""
        change = settings_change(wishes)
        if change is None:
            return
        self._thinking.check_model(change.model)
        with self._lock:
            self._journal.commit(change)
            what = "the new mode" if change.mode else "the new rules" if change.rule or change.dropped_rule else ""
            if what and (offer := self._ahead.offer(what)):
                self._on_live(offer)
            self._announce()

    def step(self) -> bool:
        """One unit of work (a call of the model, or an action); whether more is to be done without a person.

        Where the log cannot be written nothing more is done: `unsaved` says why, and the next step tries again.
        """
        try:
            with self._lock:
                self._journal.save()
                cancel = self._cancel = Cancel()
                self._announce()
            self._unit(cancel)
        except StoreError as error:
            return self._fail_to_save(error)
        finally:
            self._cancel = None
        return self._settle()

    def _unit(self, cancel: Cancel) -> None:
        gone = self.workspace_gone
        if gone and (self.own.is_waiting or self.phase in ("thinking", "acting")):
            self._give_up(gone)
        has_run = self.own.advance(cancel)
        phase = "idle" if has_run or self._stop_after is not None else self.phase
        if phase == "thinking":
            self._actions.protection.compare()
            self._thinking.advance(self._limits, cancel)
        elif phase == "acting":
            self.files.settle(cancel)
            has_run = self._actions.advance(cancel)
        if self.phase == "idle":
            self._actions.protection.compare()
        self._ahead.advance(cancel, after_a_run=has_run)

    def _give_up(self, reason: str) -> None:
        """Run nothing that waits, the user's own commands neither, and end the run."""
        with self._lock:
            self._journal.commit(*(not_run(name, f"Not run: {reason}.") for name in self._journal.ledger.own))
        self.stop(reason)

    def _settle(self) -> bool:
        """End the unit: carry out an interrupt that came meanwhile."""
        try:
            with self._lock:
                if self._stop_after is not None:
                    self._end_interrupted()
                self._announce()
                return self.own.is_waiting or self.phase in ("thinking", "acting")
        except StoreError as error:
            return self._fail_to_save(error)

    def _end_interrupted(self) -> None:
        self._journal.save()
        self._journal.commit(*after_an_interrupt(self._journal.ledger, self._stop_after, self._stop_reason))
        self._stop_after, self._stop_reason = None, ""

    def fail(self, detail: str) -> None:
        """End the run with one line because a step raised what it never should; raises StoreError."""
        with self._lock:
            self._journal.save()
            self._journal.commit(*after_a_fault(self._journal.ledger, detail))
            self._stop_after = None
            self._announce()

    def _fail_to_save(self, error: StoreError) -> bool:
        with self._lock:
            self._journal.fault = str(error)
            self._announce()
        return False

    def _announce(self) -> None:
        """Tell the listener what the engine does now, when that has changed."""
        now = self.state
        if now != self._said:
            self._said = now
            self._on_live(now)

    def close(self) -> None:
        """Let the session's threads end; store and tools belong to whoever opened them."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1
        self._thinking.close()
        self._actions.close()
        self.files.close()
