"""Condenses the history: the middle of what the model gets is replaced by a summary it writes; used by `thinking`.

The log keeps everything. One condensing takes the place of one ordinary call of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from workbench.agent.condenser import summary_of, summary_request
from workbench.llm.model import Cancel, ContextOverflow, Delta, Message, Model, ModelError, ModelResponse
from workbench.protocol.events import HistoryCondensed, Usage
from workbench.protocol.live import EngineState, LiveEvent
from workbench.session.limits.limits import SIGNS_A_TOKEN, Limits
from workbench.session.log import Journal
from workbench.session.turn.context_window import Reason
from workbench.session.worker_thread import Job, Lane, run

GRACE = 0.5
"""Seconds an interrupted call of a model may take to end."""
_LONGEST_RECORDS = (200_000, 60_000, 15_000)
"""Characters of the record that is summed up; a shorter one where the longer does not fit either."""
NOTHING_TO_CONDENSE = "there is nothing to condense yet: the history is short"
NOTHING_TO_UNDO = "there is no condensing to take back"
_NOTHING = "the model wrote no summary of the history; send a message to try again, or choose another model"
_STILL_FULL = (
    "the request is larger than the model's window, also after the history was condensed; send a message to condense "
    "it once more, or choose a model with a larger window"
)


class Condensing:
    """The condensing of one session; a model's failure is raised as ModelError, a stuck call as LeftBehind."""

    def __init__(self, journal: Journal, lane: Lane, on_live: Callable[[LiveEvent], None]) -> None:
        self._journal = journal
        self._lane = lane
        self._on_live = on_live

    def before_call(self, model: Model, limits: Limits, cancel: Cancel) -> bool:
        """Condense if it is time to; whether that took the place of the call."""
        with self._journal.lock:
            reason = self._journal.room.reason(limits, self._journal.history.length)
        return reason is not None and self._condense(model, reason, limits, cancel)

    def after_overflow(self, model: Model, limits: Limits, cancel: Cancel) -> bool:
        """Condense because the request did not fit, once until the person speaks; whether there was something to."""
        if self._journal.room.was_too_full:
            raise ContextOverflow(_STILL_FULL)
        return self._condense(model, "overflow", limits, cancel)

    def _condense(self, model: Model, reason: Reason, limits: Limits, cancel: Cancel) -> bool:
        with self._journal.lock:
            middle, window = self._journal.history.middle, self._journal.room.window(limits)
        if middle is None:
            return False
        self._say(f"condensing the history: {len(middle.messages)} messages are summed up")
        most = window * SIGNS_A_TOKEN // 2 if window else _LONGEST_RECORDS[0]
        job = Job(self._lane, lambda: self._summarised(model, middle.messages, most, cancel))
        response = run(job, cancel, GRACE)
        if cancel.is_set:
            return True
        summary = summary_of(response)
        if not summary:
            raise ModelError(_NOTHING)
        event = HistoryCondensed(
            first=middle.first,
            last=middle.last,
            summary=summary,
            reason=reason,
            model=response.model,
            usage=Usage(**asdict(response.usage)),
            cost=response.cost,
            latency=response.latency,
        )
        self._journal.commit(event, happened=True)
        self._say("")
        return True

    def _summarised(self, model: Model, messages: Sequence[Message], most: int, cancel: Cancel) -> ModelResponse:
        for length in _LONGEST_RECORDS[:-1]:
            if length <= most:
                try:
                    return model.respond(summary_request(messages, length), self._on_delta, cancel)
                except ContextOverflow:
                    continue
        return model.respond(summary_request(messages, _LONGEST_RECORDS[-1]), self._on_delta, cancel)

    def _on_delta(self, delta: Delta) -> None:
        """The summary is shown when it is whole; retries and waits are told at once."""
        if delta.kind == "status":
            self._say(delta.text)

    def _say(self, detail: str) -> None:
        self._on_live(EngineState(state="thinking", detail=detail, queued=self._journal.ledger.queued))
