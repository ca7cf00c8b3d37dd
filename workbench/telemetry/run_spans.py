"""The spans of one run of an agent: the run, its steps, and their model calls and tool calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec

from workbench.protocol.events import (
    ActionAbandoned,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    RunEnded,
)
from workbench.telemetry.span import (
    AgentIdentity,
    AttributeValue,
    CallInput,
    SpanRecord,
    TraceParent,
    new_span_id,
    usage_attributes,
)
from workbench.text import first_line

ModelCall: TypeAlias = ModelResponded | ModelAsked | HistoryCondensed
_FAILED_ENDS: Final = frozenset({"error", "stuck", "limit"})
"""The reasons for the end of a run that count as failures."""
_LONGEST_NAME: Final = 100


class _ToolCall(msgspec.Struct):
    """A tool call without a result so far, with the runs of the sub-agents that it has started, by session."""

    proposed: ActionProposed
    span_id: int
    started: datetime | None = None
    is_rejected: bool = False
    runs: dict[str, RunSpans] = {}


class _Step(msgspec.Struct):
    """A model call and the tool calls in its response; it lasts until the end of the last of them."""

    span_id: int
    number: int
    start: datetime
    end: datetime


class RunSpans:
    """Makes the spans of one run. Each is passed to `emit` when it has ended, children before their parents."""

    def __init__(
        self,
        agent: AgentIdentity,
        parent: TraceParent,
        start: datetime,
        emit: Callable[[SpanRecord], None],
        *,
        identify: Callable[[DelegateStep], AgentIdentity],
        input_text: str = "",
    ) -> None:
        """`identify` returns the sub-agent that a step belongs to; `input_text` is the message that started the run."""
        self._agent = agent
        self._parent = parent
        self._start = self._latest = start
        self._emit = emit
        self._identify = identify
        self._input = input_text
        self._span_id = new_span_id()
        self._calls: dict[str, _ToolCall] = {}
        self._step: _Step | None = None
        self._steps = 0
        self.request: CallInput | None = None
        """What the model was sent for the answer that comes next, if that is known."""

    def apply(self, event: Event) -> None:
        """Consume the next event of the run; the events of actions that it does not know are ignored."""
        match event:
            case ModelResponded():
                self._begin_step(event)
                self._emit_model_call(event, self._inside, self._request_once())
            case HistoryCondensed() if event.model:
                self._emit_model_call(event, self._inside)
            case ActionProposed():
                self.expect(event)
            case DelegateStep():
                self._follow_sub_agent(event)
            case ActionDecided() | ActionStarted() | ActionObserved() | ActionAbandoned() | ModelAsked():
                self._apply_to_call(event)
        self._latest = max(self._latest, event.at)

    def expect(self, proposed: ActionProposed) -> None:
        """Await the result of a call."""
        self._calls[proposed.action_id] = _ToolCall(proposed, new_span_id())

    def end(self, event: Event) -> None:
        """End the run, and everything in it that is still open, with this event."""
        for action_id in [*self._calls]:
            self._end_call(action_id, event.at, "abandoned")
        ended = event if isinstance(event, RunEnded) else None
        if ended is not None and ended.fault:
            self._emit_failed_model_call(ended)
        error = (ended.fault or ended.reason) if ended is not None and ended.reason in _FAILED_ENDS else ""
        self._emit_run(max(self._latest, event.at), error, ended.reason if ended is not None else "interrupted")

    def leave(self) -> None:
        """End the spans of a run that waits for the user, and that another process may continue.

        The spans of calls that have not started are left to that process.
        """
        for action_id in self._started():
            self._end_call(action_id, self._latest, "")
        self._emit_run(self._latest, "", "open")

    def _emit_run(self, end: datetime, error: str, reason: str) -> None:
        self._end_step()
        self._emit(
            SpanRecord(
                f"invoke_agent {self._agent.name}",
                self._parent,
                self._span_id,
                self._start,
                end,
                {
                    **self._agent.attributes("invoke_agent"),
                    **self._agent.model_attributes(),
                    **({"ohw.run.end": reason} if reason else {}),
                },
                content={"gen_ai.input.messages": [_message("user", self._input)]} if self._input else {},
                error=error,
            )
        )

    @property
    def _inside(self) -> TraceParent:
        """The parent of what happens now: the current step, or the run before its first step."""
        return TraceParent(self._parent.trace_id, self._step.span_id if self._step else self._span_id)

    def _begin_step(self, event: ModelResponded) -> None:
        self._end_step()
        self._steps += 1
        self._step = _Step(new_span_id(), self._steps, self._start_of(event), event.at)

    def _end_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            attributes = {**self._agent.attributes(""), "ohw.step.number": step.number}
            inside_run = TraceParent(self._parent.trace_id, self._span_id)
            self._emit(SpanRecord(f"step {step.number}", inside_run, step.span_id, step.start, step.end, attributes))

    def _start_of(self, event: ModelCall) -> datetime:
        """Return when a model call started, but never a time before the run."""
        return max(self._start, event.at - timedelta(seconds=event.latency))

    def _request_once(self) -> CallInput | None:
        request, self.request = self.request, None
        return request

    def _emit_model_call(self, event: ModelCall, parent: TraceParent, request: CallInput | None = None) -> None:
        span = model_call_span(self._agent, event, parent, self._start_of(event))
        self._emit(msgspec.structs.replace(span, request=request))

    def _emit_failed_model_call(self, event: RunEnded) -> None:
        """Emit a span for the model call that ended the run; it started after the event before."""
        asked = self._agent.model_attributes(event.model)
        self._emit(
            SpanRecord(
                _named("chat", asked.get("gen_ai.request.model", "")),
                TraceParent(self._parent.trace_id, self._span_id),
                new_span_id(),
                self._latest,
                event.at,
                {**self._agent.attributes("chat"), **asked},
                request=self._request_once(),
                error=event.fault,
                is_call_to_server=True,
            )
        )

    def _apply_to_call(
        self, event: ActionDecided | ActionStarted | ActionObserved | ActionAbandoned | ModelAsked
    ) -> None:
        call = self._calls.get(event.action_id)
        if call is None:
            return
        match event:
            case ActionDecided():
                call.is_rejected = event.verdict == "rejected"
                if event.edited is not None:
                    call.proposed = msgspec.structs.replace(call.proposed, arguments=event.edited)
            case ActionStarted():
                call.started = event.at
            case ActionObserved():
                self._end_call(event.action_id, event.at, _failure(call, event), event)
            case ActionAbandoned():
                self._end_call(event.action_id, event.at, "abandoned")
            case ModelAsked():
                self._emit_model_call(event, TraceParent(self._parent.trace_id, call.span_id))

    def _end_call(self, action_id: str, end: datetime, error: str, observed: ActionObserved | None = None) -> None:
        call = self._calls.pop(action_id)
        for run in call.runs.values():
            run._end_with_call(end, error)
        name = first_line(call.proposed.tool or call.proposed.function, _LONGEST_NAME)
        start = call.started or end
        self._emit(
            SpanRecord(
                _named("execute_tool", name),
                self._inside,
                call.span_id,
                start,
                max(start, end),
                {
                    **self._agent.attributes("execute_tool"),
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.call.id": call.proposed.call_id,
                    "gen_ai.tool.type": "function",
                    **_exit_code(observed),
                },
                content={
                    "gen_ai.tool.call.arguments": call.proposed.arguments,
                    **({"gen_ai.tool.call.result": observed.observation} if observed is not None else {}),
                },
                error=error,
            )
        )
        if self._step is not None:
            self._step.end = max(self._step.end, end)

    def _started(self) -> list[str]:
        return [name for name, call in self._calls.items() if call.started is not None]

    def _end_with_call(self, end: datetime, error: str) -> None:
        """End the run of a sub-agent, whose own end is not in this log, with the call that started it."""
        for action_id in self._started():
            self._end_call(action_id, end, "abandoned")
        self._emit_run(end, error, "")

    def note_request_of(self, step: DelegateStep, request: CallInput) -> None:
        """Note what a sub-agent has sent for the answer that is its next step."""
        run = self._run_of(step)
        if run is not None:
            run.request = request

    def _follow_sub_agent(self, step: DelegateStep) -> None:
        run = self._run_of(step)
        if run is not None:
            run.apply(step.event)

    def _run_of(self, step: DelegateStep) -> RunSpans | None:
        """Return the run of a sub-agent, which is a child of the call that started it.

        Steps without a session are questions of the sandbox or of an MCP server, not the work of an agent.
        """
        call = self._calls.get(step.action_id)
        if call is None or not step.session:
            return None
        run = call.runs.get(step.session)
        if run is None:
            parent = TraceParent(self._parent.trace_id, call.span_id)
            start = call.started or step.event.at
            run = RunSpans(self._identify(step), parent, start, self._emit, identify=self._identify)
            call.runs = {**call.runs, step.session: run}
        return run


def model_call_span(agent: AgentIdentity, event: ModelCall, parent: TraceParent, start: datetime) -> SpanRecord:
    """Return the span of a model call."""
    answer = event if isinstance(event, ModelResponded) else None
    asked = agent.model_attributes(answer.fallback if answer else "")
    attributes = {
        **agent.attributes("chat"),
        **asked,
        "gen_ai.response.model": event.model,
        **usage_attributes(event.usage),
        **(_answer_attributes(answer) if answer else {}),
    }
    return SpanRecord(
        _named("chat", asked.get("gen_ai.request.model", event.model)),
        parent,
        new_span_id(),
        start,
        event.at,
        attributes,
        content=_answer_content(event),
        error="incomplete" if answer and answer.incomplete else "",
        is_call_to_server=True,
    )


def _named(operation: str, target: AttributeValue) -> str:
    return f"{operation} {target}".strip()


def _failure(call: _ToolCall, event: ActionObserved) -> str:
    """Return the kind of failure that a result shows; empty if the call succeeded."""
    if event.ran:
        return "tool_error" if event.observation.get("is_error") else ""
    if call.is_rejected:
        return "rejected"
    if call.proposed.error:
        return "invalid_call"
    return "not_run" if event.observation.get("is_error") else ""


def _exit_code(observed: ActionObserved | None) -> dict[str, AttributeValue]:
    """Return the exit code of a program that the call has run to its end; a code other than 0 is no failure by itself,
    as with grep.
    """
    code = observed.observation.get("exit_code") if observed is not None and observed.ran else None
    return {"process.exit.code": code} if isinstance(code, int) and code >= 0 else {}


def _answer_attributes(event: ModelResponded) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {"gen_ai.response.finish_reasons": (event.finish_reason,)}
    if event.response_id:
        attributes["gen_ai.response.id"] = event.response_id
    if event.first_token is not None:
        attributes["gen_ai.response.time_to_first_chunk"] = event.first_token
    return attributes


def _answer_content(event: ModelCall) -> Mapping[str, Any]:
    match event:
        case ModelResponded():
            calls = [
                {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
                for call in event.tool_calls
            ]
            message = _message("assistant", event.text, *calls) | {"finish_reason": event.finish_reason}
        case HistoryCondensed():
            message = _message("assistant", event.summary)
        case _:
            return {}
    return {"gen_ai.output.messages": [message]} if message["parts"] else {}


def _message(role: str, text: str, *parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as the conventions' schema of messages has it."""
    own = [{"type": "text", "content": text}] if text else []
    return {"role": role, "parts": [*own, *parts]}
