"""One sub-agent that is another program: its connection, and the open proposals to its session."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.acp_client.calls import AgentCall, content_of, says_the_same
from workbench.acp_client.inbox import TurnEnded
from workbench.acp_client.link import AgentLink
from workbench.acp_client.requests import PermissionRequest, WriteRequest
from workbench.tools.executor import FileChange
from workbench.tools.schema import Observation

_TICK = 1.0
BEFORE = "It ran before you answered"


@dataclass
class AgentProposal:
    """An action that was proposed to the session; `subject` is what it answers or reports, if anything."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    subject: PermissionRequest | WriteRequest | AgentCall | None
    is_done: bool = False
    """Whether the action's tool has run, so that the agent needs no other answer."""


class AgentRun:
    """The state that the model and the tools of a sub-agent's session share."""

    def __init__(self, link: AgentLink) -> None:
        self.link = link
        self.name = link.config.name
        self.workspace = link.config.workspace
        self._open: dict[str, AgentProposal] = {}
        self._stopped = threading.Event()

    def propose(
        self, tool: str, arguments: Mapping[str, Any], subject: PermissionRequest | WriteRequest | AgentCall | None
    ) -> AgentProposal:
        """Create and return the proposal of an action; `subject` is what the action answers or reports."""
        name = f"{tool}-{uuid.uuid4().hex[:12]}"
        proposal = AgentProposal(name, tool, arguments, subject)
        self._open[name] = proposal
        return proposal

    def is_write(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether an open proposal with these arguments is to write a file for the agent."""
        proposals = tuple(self._open.values())
        return any(isinstance(each.subject, WriteRequest) and each.arguments == arguments for each in proposals)

    def proposal(self, name: str) -> AgentProposal | None:
        """Return the open proposal with this ID, which is also the ID of its action; None if there is none."""
        return self._open.get(name)

    def closed(self) -> Iterator[AgentProposal]:
        """Remove all proposals, and yield those that were not carried out: rejected, denied or changed."""
        proposals, self._open = self._open, {}
        yield from (each for each in proposals.values() if not each.is_done)

    def stop(self) -> None:
        """Stop the waiting tool, and ask the agent to stop."""
        self._stopped.set()
        self.link.cancel()
        self.link.inbox.notify()

    def granted(
        self,
        proposal: AgentProposal,
        files: tuple[FileChange, ...],
        on_output: Callable[[str], None] | None,
        write: Callable[[str], Observation] | None = None,
    ) -> Observation:
        """Allow the call that the proposal is about, wait until the agent reports its end, and return its result.

        `files` are the approved changes. If the agent asks us to write one of these files, `write` is called with its
        path.
        """
        request = proposal.subject
        assert isinstance(request, PermissionRequest)
        proposal.is_done = True
        self._stopped.clear()
        if self.link.gone or request.is_answered:
            return _unknown(f"It was not done: {self.link.gone or 'the agent no longer asks for it'}.")
        if request.call.is_over:
            request.refuse(BEFORE)
            return _unknown(f"{BEFORE}. {self._result(proposal, request.call, files).text}")
        request.call.text = ""  # what the agent has shown so far describes the request and is not output
        request.grant()
        self._await_end(request.call, files, on_output, write)
        return self._result(proposal, request.call, files)

    def _await_end(
        self,
        call: AgentCall,
        files: tuple[FileChange, ...],
        on_output: Callable[[str], None] | None,
        write: Callable[[str], Observation] | None,
    ) -> None:
        inbox, emitted = self.link.inbox, ""
        while not (call.is_over or self._stopped.is_set() or self.link.gone):
            inbox.wait(lambda: self._is_over(call) or call.text != emitted, _TICK)  # noqa: B023 - called at once
            if on_output is not None and call.text != emitted:
                on_output(call.text.removeprefix(emitted))
                emitted = call.text
            request = inbox.pop_write(lambda each: _is_approved(each, files)) if write is not None else None
            if request is not None and write is not None:
                self._answer_write(request, write(request.path))
            elif inbox.is_blocked:
                return

    @staticmethod
    def _answer_write(request: WriteRequest, result: Observation) -> None:
        if result.is_error:
            request.refuse(result.text)
        else:
            request.confirm()

    def _is_over(self, call: AgentCall) -> bool:
        return call.is_over or self._stopped.is_set() or bool(self.link.gone) or self.link.inbox.is_blocked

    def _result(self, proposal: AgentProposal, call: AgentCall, files: tuple[FileChange, ...]) -> Observation:
        """Return what the agent reports about a call.

        The result is an error if the call is no longer the approved one, or a file does not have the approved content.
        """
        if call.is_over:
            text = f"{self.name} reports: {call.result or call.status}"
            missing = [file.path for file in files if content_of(file.path) != file.after]
            is_as_asked = says_the_same(call, proposal.tool, proposal.arguments, self.workspace)
            call.forget()
            if not is_as_asked:
                return _unknown(f"{text}\nWhat it reports to have done is not what was approved.")
            if missing and call.status == "completed":
                return _unknown(f"{text}\n{', '.join(missing)} does not have the content that was approved.")
            return Observation.from_text(text, is_error=call.status == "failed")
        if self._stopped.is_set() or self.link.gone:
            why = self.link.gone or "it was interrupted"
            return _unknown(f"It was allowed, but {why}; how far it came is unknown.")
        if isinstance(self.link.inbox.first, TurnEnded):
            return Observation.from_text(f"It was allowed; {self.name} has not reported its end.", is_error=bool(files))
        call.was_proposed = False  # its end becomes an action of its own
        return Observation.from_text(f"It was allowed, and {self.name} continues with it.", is_error=bool(files))


def _is_approved(request: WriteRequest, files: tuple[FileChange, ...]) -> bool:
    return any(request.writes(file.path, file.after) for file in files)


def _unknown(text: str) -> Observation:
    return Observation.from_text(text, is_error=True)
