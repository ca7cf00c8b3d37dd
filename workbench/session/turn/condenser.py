"""Condenses the messages to the model: decides when and which part, and asks the model for a summary of it.

The summary replaces messages in the middle; the log keeps everything. Condensing takes the place of one ordinary model
call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import msgspec

from workbench.agent.summary import summary_of, summary_request
from workbench.llm.model import Cancel, ContextOverflow, Delta, Message, Model, ModelError, ModelResponse
from workbench.llm.signatures import BLOCKS, SIGNER
from workbench.protocol.events import CondensingAsked, CondensingUndone, HistoryCondensed, OutputDropped
from workbench.protocol.usage import CHARACTERS_PER_TOKEN
from workbench.session.actions.decide import CommandError
from workbench.session.limits import Limits
from workbench.session.log import Log
from workbench.session.turn.context_window import ModelContext, Reason
from workbench.session.turn.message_history import MessageHistory, Tagged
from workbench.session.worker_thread import Job, WorkerThread, run

GRACE = 0.5
"""How long an interrupted model call may take to end, in seconds."""
FIRST_MESSAGES = 4
"""How many messages at the start are never condensed."""
_FEWEST = 2
_LONGEST_RECORDS = (200_000, 60_000, 15_000)
"""The lengths, in characters, to which the record to summarize is cut; if one does not fit, the next one is tried."""
NOTHING_TO_CONDENSE = "there is nothing to compact yet: the history is short"
NOTHING_TO_UNDO = "there is no compaction to undo"
_NOTHING = "the model wrote no summary of the history; send a message to try again, or choose another model"
_STILL_FULL = (
    "the request is larger than the model's window, also after the history was compacted; send a message to compact "
    "it once more, or choose a model with a larger window"
)


class CondensableMessages(msgspec.Struct, frozen=True):
    """Messages that a summary can replace; `first` and `last` are the lowest and highest numbers of their events."""

    first: int
    last: int
    messages: Sequence[Message]


def find_condensable(history: Tagged) -> CondensableMessages | None:
    """Return messages that a summary can replace, or None if there are too few.

    They start after the first `FIRST_MESSAGES` and end before the more recent half of the history, if possible.
    """
    count = len(history.messages)
    cuts = [cut for cut in _cuts(history) if FIRST_MESSAGES <= cut < count]
    if not cuts:
        return None
    begin, half = cuts[0], count - count // 2
    ends = _ends(history, cuts)
    end = max((cut for cut in ends if begin < cut <= half), default=begin)
    if end == begin:  # one long batch, or one run of thinking, extends across the middle
        end = next((cut for cut in ends if cut > half), begin)
    if end - begin < _FEWEST:
        return None
    seqs = history.seqs[begin:end]
    return CondensableMessages(min(seqs), max(seqs), history.messages[begin:end])


def _cuts(history: Tagged) -> list[int]:
    """Return the indexes at which the history can be cut.

    All messages before a cut come from earlier events than those after it, and no result is separated from its call.
    """
    before = list(accumulate(history.seqs, max))
    behind = list(accumulate(reversed(history.seqs), min))[::-1]
    return [
        index
        for index in range(1, len(history.seqs))
        if before[index - 1] < behind[index] and history.messages[index]["role"] != "tool"
    ]


def _ends(history: Tagged, cuts: Sequence[int]) -> list[int]:
    """Return the indexes at which the part to be summarized may end.

    Providers refuse a request in which tool calls follow the summary without the thinking that led to them. So where a
    run of responses, from a message of the user to the next, contains thinking, the part after the summary begins with
    a response that has it, or with the next message of the user. The last run, which has none, may end the part.
    """
    messages = history.messages
    starts = [index for index, message in enumerate(messages) if message["role"] == "user"]
    bare: set[int] = set()
    for start, stop in pairwise([-1, *starts, len(messages)]):
        run = range(start + 1, stop)
        if any(messages[index].get(BLOCKS) for index in run):
            # thinking that a fallback model signed does not count for the session's own
            bare.update(index for index in run if not messages[index].get(BLOCKS) or SIGNER in messages[index])
    last = len(messages)
    return [*(cut for cut in cuts if cut not in bare), *([last] if last - 1 in bare else [])]


class Condenser:
    """Condenses the messages of one session.

    Its methods raise ModelError if the model fails, and CallAbandoned if an interrupted call does not end in time.
    """

    def __init__(
        self,
        log: Log,
        context: ModelContext,
        limits: Limits,
        thread: WorkerThread,
        show: Callable[[str], None],
        *,
        before: Callable[[Reason, Cancel], None] = lambda reason, cancel: None,
    ) -> None:
        """`show` is called with the status to show; `before` with the reason, before the model is asked for a
        summary.
        """
        self._before = before
        self._log = log
        self._context = context
        self._limits = limits
        self._thread = thread
        self._show = show

    def before_call(self, model: Model, cancel: Cancel) -> bool:
        """Condense if necessary; return True if that took the place of the call."""
        with self._log.lock:
            reason = self._context.window.reason(self._limits, self._context.history.length)
        return reason is not None and self._condense(model, reason, cancel)

    def after_overflow(self, model: Model, cancel: Cancel) -> bool:
        """Condense because the request did not fit; return False if there is too little to condense.

        Raises ContextOverflow if the history was condensed for this reason before, since the user's last message.
        """
        if self._context.window.was_too_full:
            raise ContextOverflow(_STILL_FULL)
        return self._condense(model, "overflow", cancel)

    def _condense(self, model: Model, reason: Reason, cancel: Cancel) -> bool:
        with self._log.lock:
            part = find_condensable(self._context.history.tagged)
            size = self._context.window.size(self._limits)
        if part is None:
            return False
        self._before(reason, cancel)
        self._show(f"compacting the history: summarizing {len(part.messages)} messages")
        limit = size * CHARACTERS_PER_TOKEN // 2 if size else _LONGEST_RECORDS[0]
        job = Job(self._thread, lambda: self._summarized(model, part.messages, limit, cancel), GRACE)
        response = run(job, cancel)
        if cancel.is_set:
            return True
        summary = summary_of(response)
        if not summary:
            raise ModelError(_NOTHING)
        event = HistoryCondensed(
            first=part.first,
            last=part.last,
            summary=summary,
            reason=reason,
            model=response.model,
            usage=response.usage,
            cost=response.cost,
            latency=response.latency,
        )
        self._log.commit(event, happened=True)
        self._show("")
        return True

    def _summarized(self, model: Model, messages: Sequence[Message], limit: int, cancel: Cancel) -> ModelResponse:
        for length in _LONGEST_RECORDS[:-1]:
            if length <= limit:
                try:
                    return model.respond(summary_request(messages, length), self._on_delta, cancel)
                except ContextOverflow:
                    continue
        return model.respond(summary_request(messages, _LONGEST_RECORDS[-1]), self._on_delta, cancel)

    def _on_delta(self, delta: Delta) -> None:
        """Show retries and waits at once; the text of the summary is not shown while it arrives."""
        if delta.kind == "status":
            self._show(delta.text)


def condensation_request(
    history: MessageHistory, *, undo: bool, drop: str = ""
) -> CondensingAsked | CondensingUndone | OutputDropped:
    """Return the event that requests a condensation, undoes the last one (`undo`), or drops the result of the action
    `drop`.

    Raises CommandError if that is impossible.
    """
    if drop:
        characters = history.droppable(drop)
        if characters <= 0:
            raise CommandError("this output is not in the context any more, or too short to drop")
        return OutputDropped(action_id=drop, characters=characters)
    if undo:
        last = history.last_condensation
        if last is None:
            raise CommandError(NOTHING_TO_UNDO)
        return CondensingUndone(condensed=last.seq, first=last.first, last=last.last)
    if find_condensable(history.tagged) is None:
        raise CommandError(NOTHING_TO_CONDENSE)
    return CondensingAsked()
