"""One model call: sends the messages of the log, and records the response and the actions that it proposes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Protocol

from msgspec.structs import replace

from workbench.agent.responses import ReadCall, read_response
from workbench.llm.call import takes_no_images
from workbench.llm.model import Cancel, ContextOverflow, Delta, Message, Model, ModelError, ModelResponse, ToolChoice
from workbench.protocol.events import ActionProposed, ModelResponded, RawToolCall, RunEnded
from workbench.protocol.live import EnginePhase, EngineState, LiveEvent, ReasoningDelta, TextDelta
from workbench.protocol.usage import ContextParts
from workbench.session.actions.decide import CommandError
from workbench.session.actions.lifecycle import Actions
from workbench.session.limits import MANY, NO_TOOLS, UNREADABLE, Limits, TokenCount, after_words, before_call
from workbench.session.log import Log
from workbench.session.loop_watch import LoopWatch
from workbench.session.mentions import ResourceSource, read_all
from workbench.session.results import none_run
from workbench.session.turn.call_progress import CallReporter
from workbench.session.turn.condenser import GRACE, NOTHING_TO_CONDENSE, Condenser
from workbench.session.turn.context_window import ModelContext, Reason
from workbench.session.worker_thread import CallAbandoned, Job, WorkerThread, run
from workbench.text import counted, first_line

logger = logging.getLogger(__name__)


class Responder(Protocol):
    """The part of an agent that the session uses."""

    model: Model
    plan: bool
    tool_choice: ToolChoice

    @property
    def standing(self) -> tuple[int, int]:
        """The number of characters sent with every request: in the instructions, and in the tool descriptions."""

    def respond(self, messages: list[Message], on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Return the model's next response, or the part received before `cancel` was set. Raises ModelError."""


class ModelTurn:
    """Makes the model calls of one session. A failure of the model ends the run and is not raised."""

    def __init__(
        self,
        log: Log,
        context: ModelContext,
        agent: Responder,
        actions: Actions,
        *,
        limits: Limits,
        tokens: TokenCount,
        loops: LoopWatch,
        open_model: Callable[[str], Model] | None,
        reload_models: Callable[[], None],
        on_live: Callable[[LiveEvent], None],
        host_of: Callable[[str], str],
        resources: ResourceSource | None = None,
        before_compaction: Callable[[Reason, Cancel], None] = lambda reason, cancel: None,
    ) -> None:
        """`host_of` returns the host of a model's server, or "" if it is the provider's own; `resources` reads the
        resources that messages mention; `before_compaction` is called before the history is condensed.
        """
        self._log = log
        self._context = context
        self._resources = resources
        self._agent = agent
        self._actions = actions
        self._limits = limits
        self._tokens = tokens
        self._loops = loops
        self._open_model = open_model
        self._reload_models = reload_models
        self._on_live = on_live
        self._host_of = host_of
        # The model that is called; empty until a call uses another one than the session's.
        self._asked = ""
        self.sent = 0
        """The number of the last event that the latest request includes."""
        self._model = log.state.model
        self._reopened = self._opened_at = 0
        self._thread = WorkerThread("session-model")
        self._condenser = Condenser(log, context, limits, self._thread, self._show, before=before_compaction)

    def advance(self, cancel: Cancel) -> None:
        """Call the model once and record its response, or condense the history instead; a limit or a failure ends the
        run.
        """
        log, state = self._log, self._log.state
        with log.lock:
            if not state.only_condenses:
                log.commit(*before_call(state, self._limits, self._tokens, self._loops))
            if not state.is_running:
                return
        try:
            self._switch_model(state.asked_model)
            self._read_resources(cancel)
            with log.lock:
                self._agent.plan = state.mode == "plan"
                messages, last_seq = self._context.history.request(), log.last_seq
            response = self._call(messages, last_seq, cancel)
        except CallAbandoned:
            return
        except ModelError as error:
            if not cancel.is_set:
                detail = first_line(str(error), 500)
                log.commit(RunEnded(reason="error", detail=detail, fault=error.kind, model=error.model))
            return
        if response is not None:
            self._record(response, last_seq, cancel)

    def _read_resources(self, cancel: Cancel) -> None:
        """Read the resources that unsent messages mention, and record them.

        Raises CallAbandoned if the user interrupts, for example because a server does not answer.
        """
        source, pending = self._resources, dict(self._context.pending.mentions)
        if source is None or not any(source.is_resource(name) for names in pending.values() for name in names):
            return
        sees = not takes_no_images(self._agent.model)
        job = Job(self._thread, lambda: read_all(pending, source, cancel, self._show, sees=sees), GRACE)
        read = run(job, cancel)
        if cancel.is_set:
            raise CallAbandoned
        self._show("")
        self._log.commit(*read)

    def _call(self, messages: list[Message], last_seq: int, cancel: Cancel) -> ModelResponse | None:
        """Return the model's response, or None if the history was condensed instead or the call was interrupted."""
        model = self._agent.model
        if self._condenser.before_call(model, cancel):
            return None
        if self._log.state.only_condenses:
            raise ModelError(NOTHING_TO_CONDENSE)
        self.sent, self._asked = last_seq, ""
        if self._log.state.queued:
            self._show("")
        try:
            return run(Job(self._thread, lambda: self._respond(messages, cancel), GRACE), cancel)
        except ContextOverflow:
            if cancel.is_set or self._condenser.after_overflow(model, cancel):
                return None
            raise
        finally:
            self._asked = ""

    def engine_state(self, phase: EnginePhase, detail: str) -> EngineState:
        """Return the state of the engine as front ends show it, with the model that is being called."""
        state = self._log.state
        other = self._asked if self._asked != state.asked_model else ""
        host = self._host_of(other or state.asked_model)
        return EngineState(state=phase, detail=detail, queued=state.queued, address=host, model=other, sent=self.sent)

    def check_model(self, name: str | None) -> None:
        """Check that the model `name` can be opened, if it is not None. Raises ModelError; its message says what to
        set.
        """
        if name is not None and self._open_model is not None:
            self._open_model(name).close()

    def reopen_model(self) -> None:
        """Open the model again for the next call, so that changed keys and saved models take effect."""
        self._reload_models()
        self._reopened += 1

    def check_images(self, names: Sequence[str], name: str) -> None:
        """Raise CommandError if there are images and the model `name` is known not to accept any."""
        if not names or (name != self._model and self._open_model is None):
            return
        if name == self._model or self._open_model is None:
            refuses = takes_no_images(self._agent.model)
        else:
            with closing(self._open_model(name)) as model:
                refuses = takes_no_images(model)
        if refuses:
            raise CommandError(f"{name} takes no images; choose another model, or omit {', '.join(names)}")

    def _switch_model(self, name: str) -> None:
        reopened = self._reopened
        if (name != self._model or reopened != self._opened_at) and self._open_model is not None:
            old, self._agent.model = self._agent.model, self._open_model(name)
            self._model, self._opened_at = name, reopened
            old.close()

    def _respond(self, messages: list[Message], cancel: Cancel) -> ModelResponse:
        shows_status = False
        calls = CallReporter(self._on_live)

        def on_delta(delta: Delta) -> None:
            nonlocal shows_status
            if cancel.is_set:
                return
            self._asked = delta.model or self._asked
            # the first part of the response clears the status line about a wait
            if shows_status or delta.kind == "status":
                shows_status = delta.kind == "status"
                self._show(delta.text if shows_status else "")
            if delta.kind == "text":
                self._on_live(TextDelta(text=delta.text))
            elif delta.kind == "reasoning":
                self._on_live(ReasoningDelta(text=delta.text))
            elif delta.kind == "call":
                calls.add(delta)

        return self._agent.respond(messages, on_delta, cancel)

    def _show(self, detail: str) -> None:
        self._on_live(self.engine_state("thinking", detail))

    def _record(self, response: ModelResponse, last_seq: int, cancel: Cancel) -> None:
        with self._log.lock:
            parts = self._context.parts(self._agent.standing, response.usage.input)
            answer = _answer(response, last_seq, parts)
            if cancel.is_set:  # its calls were never proposed, so only its text is kept
                if response.text.strip() or response.reasoning.strip():
                    self._log.commit(replace(answer, tool_calls=(), incomplete=True), happened=True)
                return
            state, choice = self._log.state, self._agent.tool_choice
            calls = read_response(response, self._actions.tools, state.call_ids, NO_TOOLS if choice == "none" else "")
            if not calls:
                self._log.commit(answer, *after_words(state, answer, choice), happened=True)
                return
            if choice == "none":
                logger.warning("the model called %s though tools are switched off", counted(len(calls), "tool"))
            proposed = [_proposal(answer, call, position, len(calls)) for position, call in enumerate(calls)]
            first = self._actions.assessed(proposed[0])
            self._log.commit(answer, *proposed, *first, happened=True)
            self._stop_when_unreadable()

    def _stop_when_unreadable(self) -> None:
        state = self._log.state
        if state.unreadable_answers >= MANY:
            results = none_run(state.batch.values(), UNREADABLE)
            self._log.commit(*results, RunEnded(reason="stuck", detail=UNREADABLE))

    def close(self) -> None:
        """End the thread of the model calls."""
        self._thread.close()


def _answer(response: ModelResponse, last_seq: int, parts: ContextParts) -> ModelResponded:
    return ModelResponded(
        response_id=response.id,
        model=response.model,
        text=response.text,
        reasoning=response.reasoning,
        thinking=response.thinking,
        tool_calls=tuple(
            RawToolCall(id=call.id, name=call.name, arguments=call.arguments, signature=call.signature)
            for call in response.tool_calls
        ),
        finish_reason=response.finish_reason,
        usage=response.usage,
        cost=response.cost,
        latency=response.latency,
        first_token=response.first_token,
        incomplete=response.incomplete,
        seen=last_seq,
        parts=parts,
        fallback=response.fallback,
        fallback_reason=response.fallback_reason,
    )


def _proposal(answer: ModelResponded, call: ReadCall, position: int, batch: int) -> ActionProposed:
    return ActionProposed(
        action_id=call.call_id,
        response_id=answer.response_id,
        call_id=call.call_id,
        tool=call.tool,
        function=call.function,
        arguments=call.arguments,
        thought=call.thought,
        summary=call.summary,
        risk=call.risk,
        position=position,
        batch=batch,
        error=call.error,
        presentation=call.presentation,
        rendering=call.rendering,
        repairs=call.repairs,
    )
