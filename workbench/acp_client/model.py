"""The program of another agent in place of a session's model: what it says and asks for makes up the "responses".

A response ends where the session has to act: decide on a request of the agent, record what the agent has done, or end
the run. The next call first refuses every request that the session has not carried out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from workbench.acp_client.calls import REPORT, AgentCall, action_for, clean, command_line, content_of, edit_to
from workbench.acp_client.inbox import CallBegan, CallEnded, Chunk, PlanChanged, ProgramGone, TurnEnded
from workbench.acp_client.requests import PermissionRequest, WriteRequest
from workbench.acp_client.run import AgentProposal, AgentRun
from workbench.acp_client.tools import NO_END, RAN_REJECTED
from workbench.agent.prompts import NO_REASON
from workbench.llm.model import Cancel, Delta, Message, ModelError, ModelRequest, ModelResponse, ToolCall
from workbench.protocol.usage import Usage
from workbench.text import first_line
from workbench.tools.effects import START_AGENT
from workbench.tools.str_replace_editor import NAME as EDITOR
from workbench.tools.task_tracker import NAME as PLAN

_TICK: Final = 0.5
_LAST_WORDS: Final = 0.4
"""Seconds for which an interrupted call waits for the end of the turn; the session does not wait much longer."""
_STATUS: Final = {"pending": "todo", "in_progress": "in_progress", "completed": "done"}
_STOPS: Final = {
    "max_turn_requests": "it reached its own limit of requests in one turn",
    "refusal": "it refused to continue",
    "cancelled": "it canceled its turn",
}
_NO_TEXT: Final = "{name} has ended its turn without a message."
_NO_OPTION: Final = "It asked for permission without an option to allow it this once, so it was refused."
_MAY_WRITE: Final = "the mode is now Plan, and it was started where it can write"
RESTARTED: Final = "its program ended with the workbench; the task can be delegated again"


@dataclass
class _Answer:
    """The response that is being assembled."""

    began: float = field(default_factory=time.monotonic)
    text: str = ""
    reasoning: str = ""
    proposals: list[AgentProposal] = field(default_factory=list)


class AgentModel:
    """The model of a session whose agent is another program; several of them share the state of one run."""

    def __init__(self, run: AgentRun, state: AgentTurns, may_write: Callable[[], bool]) -> None:
        """`may_write` returns whether the session's mode still lets the agent write anything."""
        self.name = f"acp/{run.name}"
        self._run = run
        self._state = state
        self._may_write = may_write

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Return what the agent says, does and asks for, up to where the session has to act. Raises ModelError."""
        state, link = self._state, self._run.link
        if not state.is_begun:
            if any(message["role"] == "assistant" for message in request.messages):
                raise ModelError(RESTARTED)
            state.is_begun = True
            return self._response(_Answer(proposals=[self._start()]))
        results = _results(request.messages)
        if not state.is_started and link.gone:
            raise ModelError(first_line(results[-1][1] if results else link.gone, 500))
        state.is_started = True
        self._refuse(dict(results))
        if not state.is_in_turn:
            self._prompt(_since(request.messages, state))
        return self._listen(on_delta, cancel)

    def close(self) -> None:
        """Do nothing: the session's tools end the program when they are closed."""

    def _start(self) -> AgentProposal:
        config = self._run.link.config
        arguments = {
            "agent": config.name,
            "command": config.line,
            "variables": config.variables,
            "read_only": self._state.only_reads,
            "outside_sandbox": not config.is_confined,
        }
        return self._run.propose(START_AGENT, {name: value for name, value in arguments.items() if value}, None)

    def _refuse(self, results: Mapping[str, str]) -> None:
        """Refuse each request that the session has not carried out, with the reason.

        A reason from the user is also sent to the agent as a message after its turn.
        """
        for proposal in self._run.closed():
            reason = results.get(proposal.id, "")
            if isinstance(proposal.subject, PermissionRequest):
                self._refuse_call(proposal.subject, reason)
                notes = self._state.refusals if NO_REASON in reason else self._state.notes
                notes.append(f"{proposal.subject.call.name}: {reason}")
            elif isinstance(proposal.subject, WriteRequest):
                proposal.subject.refuse(reason)

    def _refuse_call(self, request: PermissionRequest, reason: str) -> None:
        """Refuse a call. If the call has already ended, add its end to the inbox again, to be reported as a refused
        call.
        """
        call = request.call
        request.refuse(reason)
        call.was_refused = True
        if call.is_over:
            self._run.link.add(CallEnded(call))

    def _prompt(self, text: str) -> None:
        self._state.is_in_turn = True
        self._run.link.prompt(text)

    def _listen(self, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Read what the agent sends until the session has to act; return that as a response."""
        inbox, answer = self._run.link.inbox, self._state.carried or _Answer()
        self._state.carried = None
        cancel.on_set(self._run.link.cancel)
        cancel.on_set(inbox.notify)
        while not cancel.is_set:
            if not (self._may_write() or self._state.only_reads):
                raise ModelError(f"{self._run.name} was stopped: {_MAY_WRITE}")
            inbox.wait(lambda: cancel.is_set or inbox.first is not None, _TICK)
            if (response := self._read_waiting(answer, on_delta)) is not None:
                return response
        inbox.wait(lambda: isinstance(inbox.first, TurnEnded | ProgramGone), _LAST_WORDS)
        return self._response(answer, incomplete=True)

    def _read_waiting(self, answer: _Answer, on_delta: Callable[[Delta], None]) -> ModelResponse | None:
        """Read the queued items into `answer`, up to the first that belongs to the next response.

        Return the response if it is complete, otherwise None.
        """
        inbox = self._run.link.inbox
        while (item := inbox.first) is not None:
            if answer.proposals and isinstance(item, Chunk | TurnEnded | ProgramGone):
                break
            if isinstance(item, TurnEnded | ProgramGone):
                if (response := self._finished(item, answer)) is not None:
                    return response
                continue
            inbox.pop()
            if isinstance(item, Chunk | CallBegan):
                self._show(item, answer, on_delta)
            elif (proposal := self._proposed(item)) is not None:
                answer.proposals.append(proposal)
        return self._response(answer) if answer.proposals else None

    def _finished(self, item: TurnEnded | ProgramGone, answer: _Answer) -> ModelResponse | None:
        """Return the response at the end of a turn or of the program; calls without a reported end come first.

        Return None if a message to the agent has started a new turn. Raises ModelError if the program or the turn
        failed.
        """
        if unfinished := self._run.link.unfinished():
            self._state.carried = answer
            return self._response(_Answer(proposals=[self._report(call, NO_END) for call in unfinished]))
        self._run.link.inbox.pop()
        if isinstance(item, ProgramGone):
            raise ModelError(f"{self._run.name} is gone: {item.reason}{_last(answer)}")
        return self._ended(item, answer)

    @staticmethod
    def _show(item: Chunk | CallBegan, answer: _Answer, on_delta: Callable[[Delta], None]) -> None:
        if isinstance(item, CallBegan):
            on_delta(Delta("status", item.call.name))
        elif item.is_reasoning:
            answer.reasoning += item.text
            on_delta(Delta("reasoning", item.text))
        else:
            answer.text += item.text
            on_delta(Delta("text", item.text))

    def _proposed(self, item: CallEnded | PlanChanged | PermissionRequest | WriteRequest) -> AgentProposal | None:
        """Return the action that an item is proposed as; None if the session has nothing to do."""
        match item:
            case CallEnded(call=call):
                return self._report_end(call)
            case PlanChanged(tasks=tasks):
                listed = [{"title": title, "status": _STATUS.get(status, "todo")} for title, status in tasks]
                return self._run.propose(PLAN, {"command": "plan", "task_list": listed}, None)
            case PermissionRequest():
                return self._asked(item)
            case WriteRequest():
                return self._write(item)

    def _report_end(self, call: AgentCall) -> AgentProposal | None:
        """Return the report of a call that has ended; None if an action represents it, unless it was refused and ran
        anyway.
        """
        if call.was_refused and call.status == "completed":
            return self._report(call, RAN_REJECTED)
        return None if call.was_proposed else self._report(call)

    def _report(self, call: AgentCall, problem: str = "") -> AgentProposal:
        call.was_proposed, call.was_refused = True, False
        arguments = {"title": call.name, "command": command_line(call.input, self._run.workspace), "problem": problem}
        return self._run.propose(REPORT, {name: value for name, value in arguments.items() if value}, call)

    def _asked(self, request: PermissionRequest) -> AgentProposal:
        call = request.call
        if not request.can_be_granted:
            request.refuse(_NO_OPTION)
            call.was_proposed = call.was_refused = True
            refused = AgentCall(call.id, call.name, status="failed", text=_NO_OPTION)
            return self._report(refused)
        call.was_proposed, call.was_refused = True, False
        return self._run.propose(*action_for(call, self._run.workspace), request)

    def _write(self, request: WriteRequest) -> AgentProposal | None:
        path = str(Path(self._run.workspace, request.path))
        edit = edit_to(path, request.content, content_of(path))
        if edit is None:
            request.confirm()  # the file has this content
            return None
        return self._run.propose(EDITOR, edit, request)

    def _ended(self, item: TurnEnded, answer: _Answer) -> ModelResponse | None:
        """Return the response that ends the run; None if notes to the agent have started a new turn.

        Raises ModelError if the agent's turn did not end normally.
        """
        state = self._state
        state.is_in_turn = False
        if item.reason == "cancelled":
            state.notes = state.refusals + state.notes
        state.refusals = []
        if state.notes and item.reason in ("end_turn", "cancelled", "refusal"):
            notes, state.notes = state.notes, []
            answer.text += "\n\n" if answer.text.strip() else ""
            self._prompt("\n".join(notes))
            return None
        if item.reason not in ("end_turn", "max_tokens"):
            raise ModelError(f"{self._run.name}: {_STOPS.get(item.reason, item.reason)}{_last(answer)}")
        answer.text = answer.text if answer.text.strip() else _NO_TEXT.format(name=self._run.name)
        return self._response(answer, ended=item)

    def _response(self, answer: _Answer, *, ended: TurnEnded | None = None, incomplete: bool = False) -> ModelResponse:
        state, link = self._state, self._run.link
        state.count += 1
        cost: float | None = 0.0
        usage = Usage(input=0, output=0)
        if ended is not None:
            usage = Usage(input=ended.input_tokens, output=ended.output_tokens)
            cost = None if link.cost is None else max(0.0, link.cost - state.cost)
            state.cost = link.cost or state.cost
        return ModelResponse(
            id=f"{self._run.name}-{state.count}",
            model=self.name,
            text=clean(answer.text),
            reasoning=clean(answer.reasoning),
            tool_calls=tuple(
                ToolCall(each.id, each.tool, json.dumps(each.arguments, ensure_ascii=False))
                for each in answer.proposals
            ),
            finish_reason="length" if ended is not None and ended.reason == "max_tokens" else "stop",
            usage=usage,
            cost=cost,
            latency=time.monotonic() - answer.began,
            incomplete=incomplete,
        )


@dataclass
class AgentTurns:
    """The progress of the run of an agent."""

    only_reads: bool = False
    """Whether the program is started in a sandbox in which it can only read."""
    is_begun: bool = False
    is_started: bool = False
    is_in_turn: bool = False
    prompts: int = 0
    """The number of the session's messages that were sent to the agent."""
    notes: list[str] = field(default_factory=list)
    """Messages for the agent's next turn."""
    refusals: list[str] = field(default_factory=list)
    """Refusals without a reason; they start a turn only if the agent ends its own because of them, as Codex does."""
    carried: _Answer | None = None
    """The parts of the next response that have already been read."""
    count: int = 0
    cost: float = 0.0


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return pairs of the ID and the result of each action."""
    return [(str(each.get("tool_call_id")), _text(each)) for each in messages if each["role"] == "tool"]


def _since(messages: Sequence[Message], state: AgentTurns) -> str:
    """Return the messages that the agent has not received yet, as one text, and count them as sent."""
    own = [_text(message) for message in messages if message["role"] == "user"]
    unsent, state.prompts = own[state.prompts :], len(own)
    return "\n\n".join(unsent)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in content or () if isinstance(part, dict))
    return "\n".join(part for part in parts if isinstance(part, str))


def _last(answer: _Answer) -> str:
    return f". The last it said: {first_line(clean(answer.text), 200)}" if answer.text.strip() else ""
