"""One call of the model: the log's messages out, its answer and the actions it proposes in; driven by the session."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Protocol

from msgspec.structs import replace

from workbench.agent.responses import ReadCall, read_response
from workbench.llm.answer import takes_no_images
from workbench.llm.model import Cancel, ContextOverflow, Delta, Message, Model, ModelError, ModelResponse, ToolChoice
from workbench.protocol.events import ActionProposed, ContextParts, ModelResponded, RawToolCall, RunEnded, Usage
from workbench.protocol.live import EngineState, LiveEvent, ReasoningDelta, TextDelta
from workbench.session.actions.actions import Actions
from workbench.session.actions.decide import Refused
from workbench.session.actions.record import none_run
from workbench.session.limits.limits import Limits
from workbench.session.limits.pausing import MANY, NO_TOOLS, UNREADABLE, after_words, before_call
from workbench.session.log import Journal
from workbench.session.turn.condense import GRACE, NOTHING_TO_CONDENSE, Condensing
from workbench.session.turn.resources import Source, read_all
from workbench.session.worker_thread import Job, Lane, LeftBehind, run
from workbench.text import first_line
from workbench.tools.tool import ToolDefinition

logger = logging.getLogger(__name__)


class Responder(Protocol):
    """What the session needs of an agent."""

    model: Model
    plan: bool
    tool_choice: ToolChoice

    @property
    def standing(self) -> tuple[int, int]:
        """Characters of what goes with every request: the instructions, and the descriptions of the tools."""

    def respond(self, messages: list[Message], on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """The model's next answer. Raises ModelError; a cancelled call returns what came."""


class Thinking:
    """The calls of the model in one session; no failure of a model leaves here as an exception."""

    def __init__(
        self,
        journal: Journal,
        agent: Responder,
        tools: Mapping[str, ToolDefinition],
        actions: Actions,
        *,
        open_model: Callable[[str], Model] | None,
        on_live: Callable[[LiveEvent], None],
        resources: Source | None = None,
    ) -> None:
        """`resources` is where the resources come from that messages mention."""
        self._journal = journal
        self._resources = resources
        self._agent = agent
        self._tools = tools
        self._actions = actions
        self._open_model = open_model
        self._on_live = on_live
        self._model = journal.ledger.model
        self._lane = Lane("session-model")
        self._condensing = Condensing(journal, self._lane, on_live)

    def advance(self, limits: Limits, cancel: Cancel) -> None:
        """Call the model once and record its answer, or condense the history; a limit or a failure ends the run."""
        journal, ledger = self._journal, self._journal.ledger
        with journal.lock:
            if not ledger.only_condenses:
                journal.commit(*before_call(ledger, limits, journal.tokens, journal.loops))
            if not ledger.is_running:
                return
        try:
            self._use_model(ledger.model)
            self._read_resources(cancel)
            with journal.lock:
                self._agent.plan = ledger.mode == "plan"
                messages, seen = journal.history.request(), journal.history.last_seq
            response = self._called(messages, limits, cancel)
        except LeftBehind:
            return
        except ModelError as error:
            if not cancel.is_set:
                journal.commit(RunEnded(reason="error", detail=first_line(str(error), 500)))
            return
        if response is not None:
            self._record(response, seen, cancel)

    def _read_resources(self, cancel: Cancel) -> None:
        """What the messages mention of servers, before they are sent; a server that does not answer ends with esc."""
        source, wanted = self._resources, dict(self._journal.wanted.mentions)
        if source is None or not any(source.is_resource(name) for names in wanted.values() for name in names):
            return
        sees = not takes_no_images(self._agent.model)
        read = run(Job(self._lane, lambda: read_all(wanted, source, cancel, self._say, sees=sees)), cancel, GRACE)
        if cancel.is_set:
            raise LeftBehind
        self._say("")
        self._journal.commit(*read)

    def _called(self, messages: list[Message], limits: Limits, cancel: Cancel) -> ModelResponse | None:
        """The model's answer; None when the history was condensed instead, then it is to be called again."""
        model, condensing = self._agent.model, self._condensing
        if condensing.before_call(model, limits, cancel):
            return None
        if self._journal.ledger.only_condenses:
            raise ModelError(NOTHING_TO_CONDENSE)
        try:
            return run(Job(self._lane, lambda: self._respond(messages, cancel)), cancel, GRACE)
        except ContextOverflow:
            if cancel.is_set or condensing.after_overflow(model, limits, cancel):
                return None
            raise

    def check_model(self, name: str | None) -> None:
        """See whether a model of that name can be asked, if one is given; raises ModelError that says what to set."""
        if name is not None and self._open_model is not None:
            self._open_model(name).close()

    def check_images(self, names: Sequence[str]) -> None:
        """Refuse images where the model set now is known to have no eyes."""
        wanted = self._journal.ledger.model
        if not names or (wanted != self._model and self._open_model is None):
            return
        model = self._agent.model if wanted == self._model or self._open_model is None else self._open_model(wanted)
        if takes_no_images(model):
            raise Refused(f"{wanted} takes no images; choose another model, or leave out {', '.join(names)}")

    def _use_model(self, name: str) -> None:
        if name != self._model and self._open_model is not None:
            old, self._agent.model = self._agent.model, self._open_model(name)
            self._model = name
            old.close()

    def _respond(self, messages: list[Message], cancel: Cancel) -> ModelResponse:
        waited = False

        def on_delta(delta: Delta) -> None:
            nonlocal waited
            if cancel.is_set:
                return
            if waited or delta.kind == "status":  # what was said of a wait is no longer so when the answer comes
                waited = delta.kind == "status"
                self._say(delta.text if waited else "")
            if delta.kind == "text":
                self._on_live(TextDelta(text=delta.text))
            elif delta.kind == "reasoning":
                self._on_live(ReasoningDelta(text=delta.text))

        return self._agent.respond(messages, on_delta, cancel)

    def _say(self, detail: str) -> None:
        self._on_live(EngineState(state="thinking", detail=detail, queued=self._journal.ledger.queued))

    def _record(self, response: ModelResponse, seen: int, cancel: Cancel) -> None:
        with self._journal.lock:
            parts = self._journal.parts.parts(self._agent.standing, response.usage.input)
            answer = _answer(response, seen, parts)
            if cancel.is_set:  # its calls were never proposed; an interrupted answer without text says nothing
                if response.text.strip() or response.reasoning.strip():
                    self._journal.commit(replace(answer, tool_calls=(), incomplete=True), happened=True)
                return
            ledger, choice = self._journal.ledger, self._agent.tool_choice
            calls = read_response(response, self._tools, ledger.call_ids, NO_TOOLS if choice == "none" else "")
            if not calls:
                self._journal.commit(answer, *after_words(ledger, answer, choice), happened=True)
                return
            if choice == "none":
                logger.warning("the model called %d tools though tools are switched off", len(calls))
            proposed = [_proposal(answer, call, position, len(calls)) for position, call in enumerate(calls)]
            first = self._actions.assessed(proposed[0])
            self._journal.commit(answer, *proposed, *first, happened=True)
            self._stop_when_unreadable()

    def _stop_when_unreadable(self) -> None:
        ledger = self._journal.ledger
        if ledger.unreadable_answers >= MANY:
            results = none_run(ledger.batch.values(), UNREADABLE)
            self._journal.commit(*results, RunEnded(reason="stuck", detail=UNREADABLE))

    def close(self) -> None:
        """Let the thread of the model end."""
        self._lane.close()


def _answer(response: ModelResponse, seen: int, parts: ContextParts) -> ModelResponded:
    return ModelResponded(
        response_id=response.id,
        model=response.model,
        text=response.text,
        reasoning=response.reasoning,
        thinking=response.thinking,
        tool_calls=tuple(RawToolCall(**asdict(call)) for call in response.tool_calls),
        finish_reason=response.finish_reason,
        usage=Usage(**asdict(response.usage)),
        cost=response.cost,
        latency=response.latency,
        first_token=response.first_token,
        incomplete=response.incomplete,
        seen=seen,
        parts=parts,
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
    )
