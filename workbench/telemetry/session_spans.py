"""Makes spans from the events of a session: each run is a trace of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from workbench.protocol.events import (
    ActionDecided,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Event,
    Forked,
    HistoryCondensed,
    ModelResponded,
    Rewound,
    RunEnded,
    UserMessage,
)
from workbench.telemetry.run_spans import RunSpans, model_call_span
from workbench.telemetry.span import AgentIdentity, CallInput, SpanRecord, TraceParent, new_trace_id


class SessionSpans:
    """Makes the spans of a session from its new events, and passes each to `emit` when it has ended.

    Nothing is made from the events of an earlier process. A run that one has left at a question continues as a run, in
    a trace of its own, when the user answers.
    """

    def __init__(
        self,
        agent: AgentIdentity,
        open_calls: Mapping[str, ActionProposed],
        emit: Callable[[SpanRecord], None],
        identify: Callable[[DelegateStep], AgentIdentity],
    ) -> None:
        """`open_calls` are the actions of an earlier process that have no result, by id; `identify` returns the
        sub-agent that a step belongs to.
        """
        self._agent = agent
        self._open_calls = dict(open_calls)
        self._emit = emit
        self._identify = identify
        self._run: RunSpans | None = None

    def apply(self, event: Event) -> None:
        """Consume the next event of the log."""
        if _ends_run(event):
            self._end(event)
        elif self._run is not None:
            self._run.apply(event)
        elif self._begins_run(event):
            self._begin(event)
        elif isinstance(event, HistoryCondensed) and event.model:
            start = event.at - timedelta(seconds=event.latency)
            self._emit(model_call_span(self._agent, event, TraceParent(new_trace_id()), start))

    def note_request(self, request: CallInput) -> None:
        """Note what the model is sent for its next answer."""
        if self._run is not None:
            self._run.request = request

    def note_request_of(self, step: DelegateStep, request: CallInput) -> None:
        """Note what a sub-agent has sent for the answer that is its next step."""
        if self._run is not None:
            self._run.note_request_of(step, request)

    def close(self) -> None:
        """End the spans of a run that is left open, such as one that waits for the user."""
        run, self._run = self._run, None
        if run is not None:
            run.leave()

    def _begins_run(self, event: Event) -> bool:
        match event:
            case UserMessage() | ModelResponded() | ActionProposed():
                return True
            case ActionDecided() | ActionStarted():
                return event.action_id in self._open_calls
            case DelegateStep():
                return bool(event.session) and event.action_id in self._open_calls
        return False

    def _begin(self, event: Event) -> None:
        latency = event.latency if isinstance(event, ModelResponded) else 0.0
        text = event.text if isinstance(event, UserMessage) else ""
        start = event.at - timedelta(seconds=latency)
        self._run = RunSpans(
            self._agent, TraceParent(new_trace_id()), start, self._emit, identify=self._identify, input_text=text
        )
        for proposed in self._open_calls.values():
            self._run.expect(proposed)
        self._open_calls.clear()
        self._run.apply(event)

    def _end(self, event: Event) -> None:
        run, self._run = self._run, None
        self._open_calls.clear()
        if run is not None:
            run.end(event)


def _ends_run(event: Event) -> bool:
    """Return whether the event ends the run, if there is one."""
    match event:
        case RunEnded():
            return True
        case Rewound():
            return event.scope != "files"
        case Forked():
            return not event.keeps_run
    return False
