"""The messages to the model, derived from the log event by event, with their condensations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import Message
from workbench.llm.signatures import BLOCKS, FIELDS, SIGNATURE, SIGNER, unsigned
from workbench.protocol.events import (
    ActionAbandoned,
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    AgentNudged,
    CondensingUndone,
    Event,
    FilesChanged,
    Forked,
    HistoryCondensed,
    MessageWithdrawn,
    ModelResponded,
    OutputDropped,
    RawToolCall,
    ResourcesRead,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingsChanged,
    UserCommand,
    UserMessage,
)
from workbench.protocol.hook_run import HookRan
from workbench.rules.allowed_tools import limit_notice
from workbench.session.limits import MAX_OBSERVE
from workbench.session.mentions import attached_text, image_names_text, pictures_of, resources_message, with_pictures
from workbench.session.storage.event_rows import observed_text
from workbench.session.turn.notes import (
    decision_note,
    fork_message,
    hook_note,
    repair_note,
    revert_message,
    rewind_message,
)
from workbench.text import cut_exactly, cut_middle, well_formed

_INTRODUCTION = (
    "[The workbench has compacted the history: this summary replaces the part of the conversation that was here.]"
)


class Tagged(msgspec.Struct, frozen=True):
    """Messages and, in parallel, the number of the event that each comes from."""

    messages: list[Message]
    seqs: list[int]


class LastCondensation(msgspec.Struct, frozen=True):
    """A condensation that can be undone: the number of its event, the first and last event replaced, and the messages
    before.
    """

    seq: int
    first: int
    last: int
    before: Tagged
    length: int
    """The number of messages that there were right after the condensation."""

    def undone(self, now: Tagged, model_since: int) -> Tagged:
        """Return the messages `now` as if this condensation had not happened.

        `model_since` is the event that selected the current model. If that was after the condensation, the restored
        messages lose the signed reasoning of the earlier model.
        """
        since = slice(self.length, None)
        before = unsigned(self.before.messages) if model_since > self.seq else self.before.messages
        return Tagged([*before, *now.messages[since]], [*self.before.seqs, *now.seqs[since]])


def condensed(history: Tagged, first: int, last: int, summary: str) -> Tagged:
    """Return the messages with the summary in place of those from the events `first` to `last`.

    A response and its results are replaced together or not at all.
    """
    after = Tagged([], [])
    index: int | None = None
    for begin, end in _units(history.messages):
        if all(first <= seq <= last for seq in history.seqs[begin:end]):
            index = len(after.messages) if index is None else index
        else:
            after.messages.extend(history.messages[begin:end])
            after.seqs.extend(history.seqs[begin:end])
    if index is not None:
        after.messages.insert(index, {"role": "user", "content": f"{_INTRODUCTION}\n\n{summary}"})
        after.seqs.insert(index, first)  # so that the messages stay in the order of the log for the next summary
    return after


def _units(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return the start and end of each unit: a response with its results, or any other single message."""
    begins = [index for index, message in enumerate(messages) if message["role"] != "tool"]
    return list(pairwise([*begins, len(messages)]))


_LONGEST = 2_000_000


def arguments_text(text: str) -> str:
    """Return the arguments of a call as the text of a JSON object.

    If the model's text is not an object, return `{}` for an empty text and otherwise an object that quotes the text.
    """
    try:
        value = json.loads(text, parse_constant=_refuse) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value = {} if not text.strip() else {"unreadable_arguments": cut_middle(text, 4_000)}
        return well_formed(json.dumps(value, ensure_ascii=False))
    return well_formed(json.dumps(value, ensure_ascii=False) if "\\u" in text else text)


def _refuse(name: str) -> None:
    raise ValueError(name)


ABANDONED = (
    "The outcome of this action is unknown: the workbench stopped while it ran. It was not run again. "
    "Check what it did before you continue."
)
_LOST = "There is no result of this call on record. Check the current state before you continue."
_REWOUND = "There is no result of this call: the user moved the session to this point before it ended."
_NO_BEGINNING = "[The start of this conversation is not recorded.]"
_USER_COMMAND = "[The user ran a command of their own in your shell. You need not respond to it.]"
_GO_ON = "[Nothing was said since. Continue.]"
_CUT_OFF = "[This answer was cut off here.]"
_OfAction = ActionProposed | ActionAssessed | ActionDecided | ActionStarted | ActionObserved | ActionAbandoned
_NO_NAME_SIGN = lazy_pattern(r"[^A-Za-z0-9_-]")


def messages(events: Iterable[Event]) -> list[Message]:
    """Return the messages to the model that these events lead to."""
    history = MessageHistory()
    for event in events:
        history.apply(event)
    return history.request()


class MessageHistory(msgspec.Struct):
    """The messages of a session, updated event by event; an event takes the same time however long the session is."""

    max_observe: int = MAX_OBSERVE
    last_seq: int = 0
    _settled: Tagged = msgspec.field(default_factory=lambda: Tagged([], []))
    _calls: dict[str, str] = msgspec.field(default_factory=dict)
    """The call id by action id, for calls without a result."""
    _positions: dict[str, int] = msgspec.field(default_factory=dict)
    """The index of each call among the calls of the last response, by call id."""
    _ids: set[str] = msgspec.field(default_factory=set)
    _response: ModelResponded | None = None
    _answer: int | None = None
    """The index of the last response's message while it may get more calls: only results came after it."""
    _answer_id: str = ""
    _own: dict[str, str] = msgspec.field(default_factory=dict)
    """The user's own commands that have no result yet, by action id."""
    _results: dict[str, int] = msgspec.field(default_factory=dict)
    """The number of the event with the result, by action id."""
    _dropped: set[int] = msgspec.field(default_factory=set)
    """The numbers of the events whose results the user dropped from the context."""
    unsent: list[tuple[int, Message]] = msgspec.field(default_factory=list)
    """Messages to send once every call has its result, each with the number of its event."""
    _decision_notes: dict[str, str] = msgspec.field(default_factory=dict)
    """The note to the model about the decision on an action, by action id."""
    _repair_notes: dict[str, str] = msgspec.field(default_factory=dict)
    """The note to the model on how a repaired call was read, by action id."""
    _nudge: int = 0
    _model: str = ""
    _model_since: int = 0
    last_condensation: LastCondensation | None = None

    def request(self) -> list[Message]:
        """Return all messages, ready to send. The list is the history's own and will grow: do not change it."""
        self._close_calls()
        self._flush_unsent(None)
        if not self.length or self._settled.messages[-1]["role"] == "assistant":  # a part of the log is lost
            self._answer = None
            self._add({"role": "user", "content": _GO_ON}, self.last_seq)
        return self._settled.messages

    @property
    def length(self) -> int:
        """The number of messages."""
        return len(self._settled.messages)

    @property
    def tagged(self) -> Tagged:
        """The current messages with the numbers of their events; calls may still be without a result."""
        return self._settled

    def apply(self, event: Event) -> None:
        """Apply the next event; never raises, whatever the order of events is."""
        self.last_seq = max(self.last_seq, event.seq)
        if isinstance(event, _OfAction):
            self._apply_action(event)
            return
        match event:
            case UserMessage():
                self.unsent.append((event.seq, _user_message(event)))
            case ModelResponded():
                self._apply_answer(event)
            case AgentNudged() | FilesChanged() | UserCommand() | ResourcesRead() | HookRan():
                self._apply_word(event)
            case HistoryCondensed() | CondensingUndone() | OutputDropped() | Rewound() | Forked():
                self._apply_summary(event)
            case SessionStarted() | SettingsChanged():
                self._apply_model(event)
            case RunEnded() | MessageWithdrawn():  # a nudge no longer needs an answer
                gone = event.message if isinstance(event, MessageWithdrawn) else self._nudge
                self.unsent = [entry for entry in self.unsent if entry[0] != gone]

    def _apply_word(self, event: AgentNudged | FilesChanged | UserCommand | ResourcesRead | HookRan) -> None:
        """Queue a notice to the model; changes by other programs are omitted, as the agent sees them in the files."""
        if isinstance(event, UserCommand):
            self._own[event.action_id] = event.command
        elif _is_for_model(event):
            self.unsent.append((event.seq, _notice_message(event)))
            self._nudge = event.seq if isinstance(event, AgentNudged) else self._nudge

    def _apply_action(self, event: _OfAction) -> None:
        """Apply an event of an action; the model is not informed of its rating or its start."""
        match event:
            case ActionProposed():
                self._apply_call(event)
            case ActionDecided():
                # a later decision replaces the note: asked again, the user may approve the action unchanged
                self._decision_notes[event.action_id] = decision_note(event)
            case ActionObserved():
                self._apply_result(event)
            case ActionAbandoned():
                self._add_result(event.action_id, _unknown(event), event.seq)

    def _apply_answer(self, event: ModelResponded) -> None:
        self._close_calls()
        self._flush_unsent(event.seen)
        self._response, self._answer, self._answer_id = event, None, event.response_id
        self._positions = {}
        text = well_formed(event.text).strip()
        if text and event.incomplete:
            text = f"{text}\n{_CUT_OFF}"
        if text:
            self._add_answer({"role": "assistant", "content": text}, event.seq)

    def _add_answer(self, answer: Message, seq: int, response_id: str | None = None) -> None:
        self._add(self._signed(answer, response_id), seq)
        self._answer = self.length - 1

    def _signed(self, answer: Message, response_id: str | None = None) -> Message:
        """Return `answer`, a message of the last response, with the reasoning that its provider expects back."""
        note = self._response
        if note and note.thinking and response_id in (None, note.response_id) and self._is_own(note):
            _sign(answer, note, [dict(block) for block in note.thinking])
        return answer

    def _is_own(self, answer: ModelResponded) -> bool:
        """Return whether the response came from the current model, not from an earlier one."""
        return answer.seen is None or answer.seen >= self._model_since

    def _apply_model(self, event: SessionStarted | SettingsChanged) -> None:
        """Record a change of the model, and remove reasoning that only the earlier model can read.

        The messages go into a new list, because a running call still uses the old one.
        """
        if event.model and event.model != self._model:
            self._model, self._model_since = event.model, event.seq
            self._settled = Tagged(unsigned(self._settled.messages), self._settled.seqs)
            self._answer = None

    def _apply_summary(self, event: HistoryCondensed | CondensingUndone | OutputDropped | Rewound | Forked) -> None:
        """Apply a condensation, its undoing, a dropped result, a rewind or a fork; a running call keeps its list."""
        if isinstance(event, Rewound | Forked):
            self._apply_rewind(event)
            return
        if isinstance(event, OutputDropped):
            self._drop_outputs({self._results[event.action_id]} if event.action_id in self._results else set())
            return
        if isinstance(event, CondensingUndone):
            if self.last_condensation and self.last_condensation.seq == event.condensed:
                self._settled = self.last_condensation.undone(self._settled, self._model_since)
                self.last_condensation = self._answer = None
                self._drop_outputs(self._dropped)
            return
        self._close_calls()
        before = self._settled
        self._settled = condensed(before, event.first, event.last, well_formed(event.summary))
        self.last_condensation = LastCondensation(event.seq, event.first, event.last, before, self.length)
        self._answer = None

    def _drop_outputs(self, seqs: set[int]) -> None:
        self._dropped |= seqs
        entries = without_outputs(zip(self._settled.seqs, self._settled.messages, strict=True), seqs)
        self._settled = Tagged([message for _, message in entries], [seq for seq, _ in entries])
        self.unsent = without_outputs(self.unsent, seqs)

    def droppable(self, action_id: str) -> int:
        """Return by how many characters the context would shrink if the result of this action were dropped."""
        seqs = {self._results[action_id]} if action_id in self._results else set()
        entries = [*zip(self._settled.seqs, self._settled.messages, strict=True), *self.unsent]
        mine = [entry for entry in entries if entry[0] in seqs]
        return sum(_length(entry) for entry in mine) - sum(_length(entry) for entry in without_outputs(mine, seqs))

    def _apply_rewind(self, event: Rewound | Forked) -> None:
        """Close the calls without a result, unless the run continues, and queue a note on what is different now."""
        if not event.keeps_run if isinstance(event, Forked) else event.scope != "files":
            self._close_calls(_REWOUND)
            self.unsent = [entry for entry in self.unsent if entry[0] != self._nudge]
        self.unsent.append((event.seq, fork_message(event) if isinstance(event, Forked) else rewind_message(event)))

    def _apply_call(self, event: ActionProposed) -> None:
        if event.call_id in self._ids or event.action_id in self._calls:
            return
        answer = self._answer_for(event)
        self._ids.add(event.call_id)
        self._calls[event.action_id] = event.call_id
        self._positions[event.call_id] = len(self._positions)
        raw = _raw_call(self._response, event)
        self._repair_notes[event.action_id] = repair_note(event)
        name = _NO_NAME_SIGN.sub("_", event.tool)[:64] or "unnamed"
        arguments = arguments_text(raw.arguments if raw else json.dumps(event.arguments))
        if event.repairs and "unreadable_arguments" in arguments[:30]:
            arguments = arguments_text(json.dumps(event.arguments))
        function = {"name": name, "arguments": arguments}
        call: dict[str, Any] = {"id": event.call_id, "type": "function", "function": function}
        if raw and raw.signature and self._response and self._is_own(self._response):
            call[FIELDS] = {SIGNATURE: raw.signature}
            _sign(answer, self._response, answer.get(BLOCKS, []))
        answer["tool_calls"].append(call)

    def _answer_for(self, event: ActionProposed) -> Message:
        """Return the assistant message of the call.

        It is new, and open calls were closed, if this is its response's first call or follows anything but results.
        """
        if self._answer is None or self._answer_id != event.response_id:
            self._answer_id = event.response_id
            self._close_calls()
            self._add_answer({"role": "assistant", "content": None}, event.seq, event.response_id)
        answer = self._settled.messages[self._answer or 0]
        answer.setdefault("tool_calls", [])
        return answer

    def _apply_result(self, event: ActionObserved) -> None:
        text = well_formed(observed_text(event.observation))
        self._results[event.action_id] = event.seq
        if command := self._own.pop(event.action_id, ""):
            ran = f"{_USER_COMMAND}\n$ {well_formed(command)}\n\n{cut_exactly(text, self.max_observe)}"
            self.unsent.append((event.seq, {"role": "user", "content": ran}))
            return
        before = self._decision_notes.pop(event.action_id, "")
        if before and event.ran:
            text = f"{before}\n{text}"
        if repairs := self._repair_notes.pop(event.action_id, ""):
            text = f"{repairs}\n{text}"
        if self._add_result(event.action_id, text, event.seq):
            pictures = pictures_of(event.observation)
            if pictures:
                note = {"type": "text", "text": "The image of the result above:"}
                self.unsent.append((event.seq, {"role": "user", "content": [note, *pictures]}))

    def _add_result(self, action_id: str, text: str, seq: int) -> bool:
        call_id = self._calls.pop(action_id, None)
        if call_id is None:
            return False
        content = cut_exactly(text, self.max_observe) if text.strip() else "(no output)"
        at = self.length
        mine = self._positions.get(call_id, -1)
        while at and self._positions.get(self._settled.messages[at - 1].get("tool_call_id", ""), -1) > mine:
            at -= 1  # results arrive as they end and are sent in the order of their calls
        self._add({"role": "tool", "tool_call_id": call_id, "content": content}, seq, at)
        return True

    def _add(self, message: Message, seq: int, at: int | None = None) -> None:
        if not self.length and message["role"] != "user":
            self._add({"role": "user", "content": _NO_BEGINNING}, seq)
        at = at if at is not None else self.length
        self._settled.messages.insert(at, message)
        self._settled.seqs.insert(at, seq)

    def _close_calls(self, result: str = _LOST) -> None:
        for action_id in list(self._calls):
            self._add_result(action_id, result, self.last_seq)

    def _flush_unsent(self, last_seq_sent: int | None) -> None:
        """Move queued messages after the results, up to those of event `last_seq_sent`; None moves all of them."""
        now = [entry for entry in self.unsent if last_seq_sent is None or entry[0] <= last_seq_sent]
        self.unsent = [entry for entry in self.unsent if last_seq_sent is not None and entry[0] > last_seq_sent]
        self._answer = None if now else self._answer
        for seq, message in now:
            self._add(message, seq)


DROPPED = "[The user dropped this output to free up context. Run the call again if you need it.]"


def without_outputs(entries: Iterable[tuple[int, Message]], seqs: set[int]) -> list[tuple[int, Message]]:
    """Return the entries with a notice in place of the results and images that come from the events `seqs`.

    An entry is a message with the number of its event.
    """
    result: list[tuple[int, Message]] = []
    for seq, message in entries:
        content = message.get("content")
        if seq not in seqs or content is None:
            result.append((seq, message))
        elif message["role"] == "tool":
            result.append((seq, {**message, "content": DROPPED}))
        elif isinstance(content, str):  # a command of the user's
            head = content.partition("\n\n")[0]
            result.append((seq, {**message, "content": f"{head}\n\n{DROPPED}"}))
        else:
            result.append((seq, {**message, "content": DROPPED}))
    return result


def _length(entry: tuple[int, Message]) -> int:
    content = entry[1].get("content")
    return len(content) if isinstance(content, str) else len(DROPPED)


def _sign(message: Message, response: ModelResponded, blocks: list[dict[str, Any]]) -> None:
    """Add the signed reasoning of a response to its message, with the fallback model that signed it, if one did."""
    message[BLOCKS] = blocks
    if response.fallback:
        message[SIGNER] = response.fallback


def _raw_call(response: ModelResponded | None, event: ActionProposed) -> RawToolCall | None:
    calls = response.tool_calls if response and response.response_id == event.response_id else ()
    return calls[event.position] if 0 <= event.position < len(calls) else None


def _is_for_model(event: AgentNudged | FilesChanged | ResourcesRead | HookRan) -> bool:
    if isinstance(event, HookRan):
        return bool(hook_note(event))
    return not isinstance(event, FilesChanged) or event.by == "person"


def _notice_message(event: AgentNudged | FilesChanged | ResourcesRead | HookRan) -> Message:
    if isinstance(event, AgentNudged | HookRan):
        return {"role": "user", "content": _words(event.text if isinstance(event, AgentNudged) else hook_note(event))}
    return revert_message(event) if isinstance(event, FilesChanged) else resources_message(event)


def _user_message(event: UserMessage) -> Message:
    text = _words(event.text) + well_formed(attached_text(event.attached) + image_names_text(event.image_names))
    if event.command is not None and event.command.tools is not None:
        text += f"\n\n{limit_notice(event.command)}"
    return with_pictures(text, event.images)


def _words(text: str) -> str:
    return well_formed(text) if text.strip() else "(empty message)"


def _unknown(event: ActionAbandoned) -> str:
    return f"{ABANDONED} Known is: {well_formed(event.known)}." if event.known else ABANDONED
