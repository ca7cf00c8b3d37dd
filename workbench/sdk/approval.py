"""Asks the caller's functions about actions that need an approval, and about the agent's questions."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from workbench.protocol.events import FileDelta, Verdict
from workbench.protocol.risk import Risk
from workbench.session.actions.decide import DecisionFields
from workbench.session.session import Session
from workbench.session.state import OpenAction
from workbench.text import cut_middle, first_line, visible
from workbench.tools.ask_human.question import read_question


@dataclass(frozen=True)
class ApprovalRequest:
    """An action that needs an approval, with what the screen would show about it."""

    tool: str
    arguments: dict[str, Any]
    risk: Risk
    reasons: tuple[str, ...]
    """The reasons for the risk rating."""
    rule: str
    """The mode or rule that requires the approval."""
    summary: str = ""
    thought: str = ""
    preview: tuple[FileDelta, ...] = ()
    """The file changes that the action would make."""
    working_dir: str = ""
    agent: str = ""
    """The sub-agent that proposes the action; empty for the agent itself."""
    action_id: str = ""
    fingerprint: str = ""


Approval: TypeAlias = bool | str | Mapping[str, Any] | None
"""The answer of an `Approve` function: True approves and False rejects the action; a string rejects it with a reason
for the model; a dictionary approves the action with these arguments instead. None leaves the question open.
"""
Approve: TypeAlias = Callable[[ApprovalRequest], Approval | Awaitable[Approval]]
Answer: TypeAlias = Callable[[str, tuple[str, ...]], str | Awaitable[str | None] | None]
"""A function that gets the agent's question and the offered answers; it returns the answer, or None
to leave it open.
"""
Apply: TypeAlias = Callable[[Callable[[Session, str], None]], None]
"""Calls the given function with the session to which an action belongs, and with the action's ID in that session."""


class Approver:
    """Decides open questions by calling the caller's functions; without a function they stay open."""

    def __init__(self, approve: Approve | None, answer: Answer | None) -> None:
        self._approve = approve
        self._answer = answer

    async def decide(self, action: OpenAction, agent: str, apply: Apply) -> bool:
        """Ask the caller's function about an action and apply its decision; return False if the question stays open.

        `agent` is the sub-agent that proposes the action, or an empty string. Raises CommandError if the decision is
        not accepted, for example because a rule denies the action, TypeError for an answer of an unsupported type, and
        whatever the function raises; the question then stays open.
        """
        if action.asks_user:
            return await self._respond(action, apply)
        if self._approve is None or action.assessed is None:
            return False
        request = request_for(action, agent)
        approval = await _finished(self._approve(request))
        if approval is None:
            return False
        verdict, fields = _decision(approval, request)
        apply(lambda session, name: session.decide(name, verdict, fingerprint=request.fingerprint, **fields))
        return True

    async def _respond(self, action: OpenAction, apply: Apply) -> bool:
        if self._answer is None:
            return False
        question = read_question(action.proposed.arguments)
        text = await _finished(self._answer(question.text, tuple(question.options)))
        if text is None:
            return False
        apply(lambda session, name: session.answer(name, str(text)))
        return True


def describe_question(action: OpenAction) -> str:
    """Return one line about what waits for the user: an action, or a question from the agent."""
    if action.asks_user:
        return first_line(f"the agent asks: {read_question(action.proposed.arguments).text}", 300)
    arguments = cut_middle(json.dumps(action.arguments, ensure_ascii=False), 200)
    risk = f"{action.assessed.risk}: " if action.assessed is not None else ""
    return visible(f"{risk}{action.proposed.tool} {arguments} waits for an approval", lines=False)


def request_for(action: OpenAction, agent: str) -> ApprovalRequest:
    """Return the request for the caller's `approve` function; the action must have been assessed."""
    proposed, assessed = action.proposed, action.assessed
    assert assessed is not None
    return ApprovalRequest(
        tool=proposed.tool,
        arguments=dict(action.arguments),
        risk=assessed.risk,
        reasons=assessed.reasons,
        rule=assessed.rule,
        summary=proposed.summary,
        thought=proposed.thought,
        preview=assessed.preview,
        working_dir=assessed.working_dir,
        agent=agent,
        action_id=proposed.action_id,
        fingerprint=assessed.fingerprint,
    )


def _decision(approval: object, request: ApprovalRequest) -> tuple[Verdict, DecisionFields]:
    if approval is True:
        return "approved", {}
    if approval is False:
        return "rejected", {}
    if isinstance(approval, str):
        return "rejected", {"note": approval}
    if isinstance(approval, Mapping):
        edited = dict(approval)
        return ("approved", {}) if edited == request.arguments else ("edited", {"edited": edited})
    kind = type(approval).__name__
    raise TypeError(f"approve() returned a {kind}; return True, False, a reason, other arguments, or None to wait")


async def _finished(result: object) -> Any:
    return await result if isinstance(result, Awaitable) else result
