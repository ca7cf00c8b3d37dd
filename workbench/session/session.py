"""A session as a state machine on its log; the engine, the headless command and the tests drive this class.

One thread calls `step()`; commands may come from any thread. No action starts before its decision is on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec

from workbench.files.root_directory import Root
from workbench.llm.model import Cancel, Model
from workbench.protocol.events import ActionDecided, CustomCommand, Event, Verdict
from workbench.protocol.live import NOT_SAVED, EngineState, LiveEvent
from workbench.rules.rule_set import RuleSet
from workbench.sandbox.container import Container
from workbench.sandbox.session_sandbox import SessionSandbox
from workbench.session.actions.decide import (
    AlwaysRule,
    CommandError,
    DecisionFields,
    SettingFields,
    answer_to,
    decision_on,
    remembered,
    settings_change,
)
from workbench.session.actions.lifecycle import Actions
from workbench.session.actions.open_questions import OpenQuestions
from workbench.session.actions.question_watch import QuestionWatch
from workbench.session.actions.refusals import Refusals
from workbench.session.actions.run import AskToPutBack, PartialWriter, RunningCalls
from workbench.session.actions.unsaved_files import EditorChecks
from workbench.session.actions.user_changes import UserChanges
from workbench.session.actions.user_commands import UserCommands
from workbench.session.assessments import Assessments
from workbench.session.limits import USUAL_LIMITS, Limits, TokenCount
from workbench.session.log import Log
from workbench.session.mentions import ResourceSource
from workbench.session.message_queue import MessageQueue
from workbench.session.recovery import after_a_fault, after_a_stop, after_an_interrupt
from workbench.session.rewind.rewinder import Rewinder
from workbench.session.saved_state import Reducers, StateCache
from workbench.session.state import OpenAction, Phase, State
from workbench.session.storage.store import Store, StoreError
from workbench.session.turn.condenser import condensation_request
from workbench.session.turn.context_window import ModelContext
from workbench.session.turn.turn import ModelTurn, Responder
from workbench.session.workspace.files import WorkspaceFiles
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.watcher import Changes, native_changes
from workbench.text import visible_path
from workbench.tools.tool import ToolDefinition

if TYPE_CHECKING:
    from workbench.session.hooks import SessionHooks
    from workbench.session.telemetry import SessionTelemetry

__all__ = ["CommandError", "Session"]

EXIT = "/exit"
"""The message that interrupts the agent instead of being sent."""


def _ignore(event: object) -> None:
    """Do nothing; the default listener."""


class SessionOptions(msgspec.Struct, frozen=True):
    """The optional parts of a session, besides its store, its agent and its tools."""

    limits: Limits = USUAL_LIMITS
    rules: RuleSet = msgspec.field(default_factory=RuleSet)
    on_event: Callable[[Event], None] = _ignore
    on_live: Callable[[LiveEvent], None] = _ignore
    open_model: Callable[[str], Model] | None = None
    reload_models: Callable[[], None] = lambda: None
    """Reads the saved models again, for `open_model`."""
    sandbox: SessionSandbox | None = None
    """The sandbox of the programs that tools run."""
    container: Container | None = None
    """The container in which commands run."""
    host_of: Callable[[str], str] = lambda model: ""
    """Returns the host at which a model is called if it is not its provider's own; otherwise empty."""
    resources: ResourceSource | None = None
    """The source of the resources that messages mention."""
    state_dir: Path | None = None
    """The directory for files that outlive the process."""
    repository: SnapshotRepository | None = None
    """The repository for safety copies, and for snapshots if the session `takes_snapshots`."""
    takes_snapshots: bool = True
    is_foreign: bool = False
    """Whether the log may be somebody else's: then only unprotected files of the workspace are reverted."""
    changes: Changes = native_changes
    """The source of file changes for the watcher."""
    state: State = msgspec.field(default_factory=State)
    """The state, empty at first, which other parts read too."""
    tokens: TokenCount = msgspec.field(default_factory=TokenCount)
    """The token count, empty at first, which other parts read too."""
    refusals: Refusals | None = None
    """The refused actions, read from `state`."""
    calls: RunningCalls = msgspec.field(default_factory=RunningCalls)
    """Lists the running tool calls, for other parts."""
    put_back: AskToPutBack | None = None
    editor_checks: EditorChecks | None = None
    hooks: SessionHooks | None = None
    """The hooks; None if there are none."""
    telemetry: SessionTelemetry | None = None
    """Sends spans; None if the settings do not ask for that."""
    cache: StateCache | None = None
    """Stores the state that the log leads to."""


class SessionParts:
    """The parts of one session, connected through their constructors; a Session drives them."""

    def __init__(
        self,
        store: Store,
        agent: Responder,
        tools: Mapping[str, ToolDefinition],
        options: SessionOptions | None = None,
    ) -> None:
        """Replay the store, starting from the stored state if there is one, and connect the parts."""
        options = self.options = options or SessionOptions()
        self.context = ModelContext(options.limits.max_observe)
        self.log = log = self._log(store, tools)
        assessments = Assessments(log.state)
        self.files = self._workspace_files(tools, assessments)
        self.actions = Actions(
            log,
            tools,
            self.reducers.failures,
            on_live=options.on_live,
            rules=options.rules,
            writer=PartialWriter(options.state_dir, log.state.workspace),
            refusals=options.refusals or Refusals(log.state),
            assessments=assessments,
            copies=self.files,
            calls=options.calls,
            put_back=options.put_back,
            hooks=options.hooks,
            editor_checks=options.editor_checks,
        )
        self.questions = OpenQuestions(log, tools, self.actions)
        self.watch = QuestionWatch()
        self.changes = UserChanges(self.actions.rater, self.files)
        self.user_commands = UserCommands(log, self.actions, self.files.prepare_command)
        self.turn = self._model_turn(agent)
        self.tools = tools
        if options.hooks is not None:
            options.hooks.follow(log, tools, self._show_hook)
        if options.telemetry is not None:
            options.telemetry.follow(log)

    def engine_state(self, phase: Phase, detail: str) -> EngineState:
        """Return the state of the engine as front ends show it."""
        state, options = self.turn.engine_state(phase, detail), self.options
        state = options.sandbox.with_sandbox(state) if options.sandbox is not None else state
        return options.container.with_container(state) if options.container is not None else state

    def _log(self, store: Store, tools: Mapping[str, ToolDefinition]) -> Log:
        options, context = self.options, self.context
        parts = self.reducers = Reducers.of(options.state, options.tokens, context, tools)
        after = options.cache.load(parts) if options.cache is not None else 0
        log = Log(
            store,
            options.on_event,
            state=parts.state,
            path_reducers=(context, parts.results),
            reducers=(parts.tokens, parts.loops, parts.failures),
            after=after,
        )
        self.recall = partial(parts.results.recall, tools, lambda seq: store.events(seq - 1, 1))
        self.recall()
        if options.cache is not None:
            options.cache.follow(log, parts)
        return log

    def _workspace_files(self, tools: Mapping[str, ToolDefinition], assessments: Assessments) -> WorkspaceFiles:
        options = self.options
        return WorkspaceFiles(
            self.log,
            tools,
            options.repository,
            assessments,
            takes_snapshots=options.takes_snapshots,
            is_foreign=options.is_foreign,
            changes=options.changes,
        )

    def _model_turn(self, agent: Responder) -> ModelTurn:
        options = self.options
        return ModelTurn(
            self.log,
            self.context,
            agent,
            self.actions,
            limits=options.limits,
            tokens=options.tokens,
            loops=self.reducers.loops,
            open_model=options.open_model,
            reload_models=options.reload_models,
            on_live=options.on_live,
            host_of=options.host_of,
            resources=options.resources,
            before_compaction=self._before_compaction,
        )

    def begin_unit(self, cancel: Cancel) -> bool:
        """Run the hooks of what has happened, then the user's next command; return whether there was a command.

        Raises StoreError.
        """
        self._run_hooks(cancel)
        return self.user_commands.advance(cancel)

    def _run_hooks(self, cancel: Cancel) -> None:
        if self.options.hooks is not None:
            self.options.hooks.catch_up(cancel)

    def end_unit(self, cancel: Cancel, questions: Sequence[OpenAction]) -> None:
        """Watch the files of the open questions, and run the hooks of what has happened. Raises StoreError."""
        self.watch.follow(questions)
        self._run_hooks(cancel)

    def _show_hook(self, detail: str) -> None:
        """Show which hook is running, until the next state is announced."""
        self.options.on_live(self.engine_state(self.log.state.phase, detail))

    def _before_compaction(self, reason: str, cancel: Cancel) -> None:
        if self.options.hooks is not None:
            self.options.hooks.run_now("before_compaction", cancel, trigger="manual" if reason == "person" else "auto")

    def close(self) -> None:
        """End the threads of all parts."""
        if self.options.hooks is not None:
            self.options.hooks.close()
        self.watch.close()
        self.turn.close()
        self.actions.close()
        self.files.close()


class Session:
    """One session. `step()` does one unit of work. A command that raises StoreError was not accepted."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._log, self._actions, self.open_questions = parts.log, parts.actions, parts.questions
        self.files, self.changes, self.unsaved_files = parts.files, parts.changes, parts.actions.unsaved_files
        self.user_commands, self.watch = parts.user_commands, parts.watch
        self.rewinder = Rewinder(parts.log, parts.files, parts.tools, parts.recall, self._announce)
        self.reopen_model = parts.turn.reopen_model
        self.messages = MessageQueue(parts.log, parts.context, parts.turn, self._announce)
        self._lock, self._workspace = parts.log.lock, Root.at(parts.log.state.workspace)
        self._workspace_descriptor = self._workspace.hold()
        self._cancel: Cancel | None = None  # of the current unit of work
        self._stop_after: int | None = None  # the last event when the user interrupted the unit
        self._stop_reason = ""
        self._announced: EngineState | None = None

    @property
    def state(self) -> EngineState:
        """The current state as front ends show it."""
        state = self._parts.engine_state("acting" if self.user_commands.is_waiting else self.phase, self.unsaved)
        return msgspec.structs.replace(state, is_stopping=self._stop_after is not None)

    @property
    def directory(self) -> Path:
        """The workspace."""
        return Path(self._log.state.workspace)

    @property
    def unsaved(self) -> str:
        """One line on the log's failed write, until a write succeeds; otherwise empty."""
        return f"{NOT_SAVED}{self._log.fault}" if self._log.fault else ""

    @property
    def phase(self) -> Phase:
        """What the session is doing; "deciding" while the user is asked."""
        with self._lock:
            return self._log.state.phase

    @property
    def ended(self) -> str:
        """Why the last run ended; empty while one runs."""
        return self._log.state.ended

    @property
    def question(self) -> OpenAction | None:
        """The next action if it waits for the user's decision or answer, else None; others may wait too."""
        with self._lock:
            return self._log.state.next_action if self.phase == "deciding" else None

    def questions(self) -> list[OpenAction]:
        """Return all actions waiting for the user, in order."""
        with self._lock:
            return self._log.state.waiting

    @property
    def workspace_gone(self) -> str:
        """One line if the workspace was moved, deleted or replaced after the session was opened; otherwise empty."""
        if self._workspace.is_there:
            return ""
        return f"the directory {visible_path(str(self._workspace.path))} was moved, deleted or replaced"

    def recover(self) -> None:
        """Complete the log after the process was stopped or killed; call once after opening. Raises StoreError."""
        with self._lock:
            self._log.commit(*self.user_commands.after_a_stop(), *after_a_stop(self._log.state))
        self.rewinder.finish()

    def send(self, text: str, mentions: Sequence[str] = (), command: CustomCommand | None = None) -> None:
        """Send a message; while the agent works, it is queued for the next model call. `EXIT` interrupts the agent
        instead. `command` is the custom command that the text comes from.

        A message never decides a question.
        """
        if text.strip() == EXIT:
            self.interrupt()
        else:
            self.messages.add(text, mentions, command)

    def decide(
        self,
        action_id: str,
        verdict: Verdict,
        *,
        fingerprint: str,
        always: AlwaysRule | None = None,
        stop: bool = False,
        **fields: Unpack[DecisionFields],
    ) -> None:
        """Apply the user's decision on the action that was shown with this fingerprint; `always` also saves a rule.

        With `stop`, the run ends before anything else starts. Raises CommandError.
        """
        with self._lock:
            self._log.save()
            decided = ActionDecided(
                action_id=action_id, verdict=verdict, by="person", fingerprint=fingerprint, **fields
            )
            waiting = self._log.state.question(action_id)
            events = decision_on(waiting, decided, self._actions)
            events = remembered(waiting, always, self._actions.rules, events) if always is not None else events
            self._log.commit(*events)
            if always is not None:
                self._offer("the new rule")
            if stop:
                self.interrupt()
            self._announce()

    def answer(self, action_id: str, text: str) -> None:
        """Answer a question from the agent. Raises CommandError."""
        with self._lock:
            self._log.save()
            self._log.commit(*answer_to(self._log.state.question(action_id), action_id, text))
            self._announce()

    def interrupt(self, reason: str = "") -> None:
        """Stop the agent, hooks or the user's command, for the user or a `reason`; a message sent meanwhile follows."""
        with self._lock:
            cancel = self._cancel
            if self.user_commands.interrupt():
                return
            if self.phase != "idle":
                self.stop(reason or self._stop_reason)
                if cancel is None:
                    self._end_interrupted()
            self._announce()
        if cancel is not None:  # also without a run: hooks may be running
            cancel.set()

    def stop(self, reason: str) -> None:
        """End the run before anything else starts, with this reason in the log; the current unit of work is completed.

        Takes no lock, so a listener of events may call it.
        """
        self._stop_reason = reason
        self._stop_after = self._log.last_seq

    def condense(self, *, undo: bool = False, drop: str = "") -> None:
        """Compact the history, undo that, or drop the result of an action. Raises CommandError."""
        with self._lock:
            self._log.commit(condensation_request(self._parts.context.history, undo=undo, drop=drop))
            self._announce()

    def set(self, **fields: Unpack[SettingFields]) -> None:
        """Change settings from now on. Raises CommandError or ModelError. Actions that wait for a decision keep
        waiting.
        """
        change = settings_change(fields)
        if change is None:
            return
        self._parts.turn.check_model(change.model)
        with self._lock:
            self._log.commit(change)
            if change.mode:
                self._offer("the new mode")
            elif change.rule or change.dropped_rule:
                self._offer("the new rules")
            self._announce()

    def _offer(self, change: str) -> None:
        """Notify the user how many of the waiting actions the change would allow."""
        if notice := self.open_questions.offer(change):
            self._parts.options.on_live(notice)

    def step(self) -> bool:
        """Do one unit of work (a model call, an action or a user's command); return whether more can be done without
        the user.

        If the log cannot be written, nothing is done: `unsaved` says why, and the next step tries again.
        """
        try:
            with self._lock:
                self._log.save()
                cancel = self._cancel = Cancel()
                self._announce()
            self._run_unit(cancel)
        except StoreError as error:
            return self._fail_to_save(error)
        finally:
            self._cancel = None
        return self._end_unit()

    def _run_unit(self, cancel: Cancel) -> None:
        gone = self.workspace_gone
        if gone and (self.user_commands.is_waiting or self.phase in ("thinking", "acting")):
            self.user_commands.abandon(gone)
            self.stop(gone)
        has_run = self._parts.begin_unit(cancel)
        phase = "idle" if has_run or self._stop_after is not None else self.phase
        if phase == "thinking":
            if self._actions.protection.guard.question:  # perhaps the files are as before again
                self._actions.protection.compare()
            self._parts.turn.advance(cancel)
        elif phase == "acting":
            self.files.prepare_action(cancel)
            has_run = self._actions.advance(cancel)
        if self.phase == "idle":
            self._actions.protection.compare()
        self.open_questions.advance(cancel, after_a_run=self.watch.consume_change() or has_run)
        self._parts.end_unit(cancel, self.questions())

    def _end_unit(self) -> bool:
        """Carry out an interrupt that came during the unit; return whether more can be done without the user."""
        if self._stop_after is not None:
            self.files.await_snapshots()
        try:
            with self._lock:
                if self._stop_after is not None:
                    self._end_interrupted()
                self._announce()
                return self.user_commands.is_waiting or self.phase in ("thinking", "acting")
        except StoreError as error:
            return self._fail_to_save(error)

    def _end_interrupted(self) -> None:
        self._log.save()
        self._log.commit(*after_an_interrupt(self._log.state, self._stop_after, self._stop_reason))
        self._stop_after, self._stop_reason = None, ""

    def fail(self, detail: str) -> None:
        """End the run with this line because a step raised an unexpected exception. Raises StoreError."""
        with self._lock:
            self._log.save()
            self._log.commit(*after_a_fault(self._log.state, detail))
            self._stop_after = None
            self._announce()

    def _fail_to_save(self, error: StoreError) -> bool:
        with self._lock:
            self._log.fault = str(error)
            self._announce()
        return False

    def _announce(self) -> None:
        """Report the state to the listener if it has changed."""
        now = self.state
        if now != self._announced:
            self._announced = now
            self._parts.options.on_live(now)

    def close(self) -> None:
        """End the session's threads; store and tools are closed by whoever opened them."""
        if self._workspace_descriptor >= 0:
            os.close(self._workspace_descriptor)
            self._workspace_descriptor = -1
        self._parts.close()
