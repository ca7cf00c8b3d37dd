"""Questions from MCP servers during a call: each is recorded in the log as a step of that call, with its decision.

The step is recorded like one of a sub-agent, so front ends show and answer it in the same way. It names the server that
asks; an answer is matched to its question by the question's id.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any

from workbench.agent.model_query import ModelCompletion
from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel, ModelRequest
from workbench.mcp.requests import SAMPLING, NotAllowed, Sample, SamplePart, SampleRequest
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionEvent,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Verdict,
)
from workbench.protocol.live import Notice
from workbench.protocol.risk import Mode
from workbench.rules.policy import Ruling, rule_on
from workbench.session.actions.call_questions import CallQuestion, WaitingQuestions
from workbench.session.actions.decide import CommandError
from workbench.session.actions.run import CURRENT_CALL, CallContext
from workbench.session.results import answered, not_run
from workbench.text import well_formed
from workbench.tools.ask_human import NAME as ASK_USER

_NOBODY = "no user is there to answer: refused"
_NO_ANSWER = "No answer came in time."
_REJECTED = "The user rejected this."


class ServerQuestion(CallQuestion):
    """A question of a server that waits for the user."""

    def __init__(self, action_id: str, *, takes_text: bool) -> None:
        super().__init__(action_id)
        self.text = ""
        self._takes_text = takes_text

    def answer(self, action_id: str, text: str) -> None:
        """Accept the user's answer. Raises CommandError."""
        if not self._takes_text:
            super().answer(action_id, text)
        if not text.strip():
            raise CommandError("there is no text to answer with")
        self.text = well_formed(text).strip()
        self._finish("approved")

    def decide(self, action_id: str, verdict: Verdict, *, fingerprint: str, **fields: Any) -> None:
        """Accept the user's decision. Raises CommandError."""
        if self._takes_text:
            raise CommandError("this is a question of a server's; it takes an answer, not a decision")
        if verdict == "edited" or fields.get("always") is not None:
            raise CommandError("what a server asks of the model is approved or rejected as it is, each time")
        self._finish(verdict)


class ServerQuestions(WaitingQuestions[ServerQuestion]):
    """The open questions from one session's servers; its methods may be called from any thread."""

    def __init__(self, complete: ModelCompletion, mode: Callable[[], Mode], *, has_user: bool) -> None:
        """`complete` asks the model; `mode` returns the current mode; `has_user` says whether a user can answer, now or
        later.
        """
        super().__init__()
        self.complete = complete
        self.mode = mode
        self.has_user = has_user

    def asker(self, server: str) -> CallAsker | None:
        """Return the asker for the server's questions in the call that runs in this thread; None outside of a call."""
        call = CURRENT_CALL.get()
        return CallAsker(self, server, call) if call is not None else None


class CallAsker:
    """Answers the questions of one server in one call; an `Asker` for its client."""

    _numbers = itertools.count(1)

    def __init__(self, asks: ServerQuestions, server: str, call: CallContext) -> None:
        self._asks = asks
        self._call = call
        self._agent = f"MCP server {server}"
        self._id = f"mcp-{uuid.uuid4().hex[:8]}"
        self._cancel = Cancel()
        self._question: ServerQuestion | None = None

    def ask(self, text: str, options: tuple[str, ...], seconds: float) -> str | None:
        """Return the user's answer, or None if none came in time. Raises WorkbenchError if no user can answer."""
        action_id = self._propose(ASK_USER, {"question": text, "options": list(options)})
        if not self._asks.has_user:
            self._refuse(action_id)
        assessed = ActionAssessed(action_id=action_id, risk="LOW", needs_decision=False, needs_answer=True)
        question = self._waited(ServerQuestion(action_id, takes_text=True), assessed, seconds)
        if question.verdict is None:
            self._report_events(not_run(action_id, _NO_ANSWER))
            return None
        self._report_events(
            ActionDecided(action_id=action_id, verdict="approved", by="person"), ActionStarted(action_id=action_id)
        )
        self._report_events(answered(action_id, question.text))
        return question.text

    def sample(self, request: SampleRequest, seconds: float) -> Sample:
        """Return the model's response if the request is approved. Raises WorkbenchError."""
        action_id = self._propose(SAMPLING, request.fields)
        self._approve(action_id, seconds)
        self._report_events(ActionStarted(action_id=action_id))
        token = CURRENT_CALL.set(self._call)  # so that the cost is recorded for the call
        try:
            response = self._asks.complete.respond(_request(request), self._cancel)
        except WorkbenchError as error:
            self._report_events(not_run(action_id, str(error)))
            raise
        finally:
            CURRENT_CALL.reset(token)
        self._report_events(answered(action_id, response.text))
        return Sample(response.text, response.model, response.finish_reason)

    def _approve(self, action_id: str, seconds: float) -> None:
        """Let the mode or the user decide on the request. Raises NotAllowed."""
        ruling = rule_on(self._asks.mode(), "MEDIUM", False, SAMPLING)
        reasons = ("the server wants an answer of your model, which costs; it gets the answer",)
        asks = ruling.verdict == "ask"
        assessed = ActionAssessed(
            action_id=action_id,
            risk="MEDIUM",
            reasons=reasons,
            rule=ruling.rule,
            needs_decision=asks,
            fingerprint=self._id,
        )
        if asks and not self._asks.has_user:
            self._refuse(action_id)
        verdict = self._decided(assessed, seconds) if asks else self._by_mode(assessed, ruling)
        if verdict != "approved":
            self._report_events(not_run(action_id, _REJECTED if verdict else _NO_ANSWER))
            raise NotAllowed(f"the {self._agent} wanted a model response: {_REJECTED if verdict else _NO_ANSWER}")

    def _decided(self, assessed: ActionAssessed, seconds: float) -> Verdict | None:
        verdict = self._waited(ServerQuestion(assessed.action_id, takes_text=False), assessed, seconds).verdict
        if verdict is not None:
            self._report_events(
                ActionDecided(action_id=assessed.action_id, verdict=verdict, by="person", fingerprint=self._id)
            )
        return verdict

    def _by_mode(self, assessed: ActionAssessed, ruling: Ruling) -> Verdict:
        verdict: Verdict = "approved" if ruling.verdict == "allow" else "rejected"
        decided = ActionDecided(action_id=assessed.action_id, verdict=verdict, by="mode", rule=ruling.rule)
        self._report_events(assessed, decided)
        return verdict

    def refused(self, why: str) -> None:
        """Notify the user that the server requested something that it may not have."""
        self._call.show(Notice(text=why))

    def withdraw(self) -> None:
        """Withdraw the open question: the call is over, or the server is no longer waiting."""
        self._cancel.set()
        question = self._question
        if question is not None:
            question.withdraw()

    def _propose(self, tool: str, arguments: dict[str, Any]) -> str:
        if self._cancel.is_set:
            raise NotAllowed(f"the call that the {self._agent} asked in is over")
        action_id = f"{self._id}:{next(self._numbers)}"
        self._report_events(
            ActionProposed(action_id=action_id, response_id="", call_id=action_id, tool=tool, arguments=arguments)
        )
        return action_id

    def _refuse(self, action_id: str) -> None:
        self._report_events(not_run(action_id, _NOBODY))
        raise NotAllowed(f"the {self._agent} asked something, and {_NOBODY}")

    def _waited(self, question: ServerQuestion, assessed: ActionAssessed, seconds: float) -> ServerQuestion:
        self._question = question
        self._asks.open(question)  # before it is shown, because the answer may come immediately
        try:
            self._report_events(assessed)
            if not self._cancel.is_set:
                question.wait(seconds)
        finally:
            self._asks.closed(question)
            self._question = None
        return question

    def _report_events(self, *events: ActionEvent) -> None:
        for event in events:
            self._call.report(DelegateStep(action_id=self._call.action_id, agent=self._agent, session="", event=event))


def _request(request: SampleRequest) -> ModelRequest:
    system = [{"role": "system", "content": request.system}] if request.system else []
    messages = [*system, *(_message(part) for part in request.parts)]
    return ModelRequest(messages, stop=request.stop, max_tokens=request.max_tokens, temperature=request.temperature)


def _message(part: SamplePart) -> dict[str, Any]:
    if not part.images:
        return {"role": part.role, "content": part.text}
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in part.images]
    return {"role": part.role, "content": [{"type": "text", "text": part.text}, *pictures]}
