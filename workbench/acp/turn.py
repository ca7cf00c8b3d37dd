"""One prompt of an editor, from its message to the answer that gives the reason why the agent stopped."""

from __future__ import annotations

import asyncio
from typing import Final

from acp.schema import StopReason

from workbench.acp.errors import ModelNotReady, RunFailed
from workbench.client.client import Disconnected, Incoming
from workbench.protocol.events import RunEnded, UserMessage
from workbench.view.state import Changed

_STOP_REASONS: Final[dict[str, StopReason]] = {
    "finished": "end_turn",
    "waiting": "end_turn",
    "stuck": "end_turn",
    "limit": "max_turn_requests",
}


class PromptTurn:
    """A prompt that has not been answered yet; `reason` is the future with the answer."""

    def __init__(self, ends_with: type[Incoming] | None = None) -> None:
        """Without `ends_with`, the turn ends with its run; otherwise with the first message of that type."""
        self.reason: asyncio.Future[StopReason] = asyncio.get_running_loop().create_future()
        self.has_begun = False
        """Whether the engine has recorded the message."""
        self.interrupted: StopReason = "cancelled"
        """The answer to the prompt if the run is interrupted."""
        self.is_cancelled = False
        self.is_stopping = False
        """Whether the user has stopped the run: nothing more is asked in this turn."""
        self._ends_with = ends_with

    def advance(self, message: Incoming, changed: Changed) -> None:
        """Update the turn with a message from the engine, which may end it; `changed` is what the message changed in
        the state.
        """
        if changed.refused:  # perhaps the decision that was to stop the run
            self.is_stopping = self.is_cancelled
        if isinstance(message, Disconnected):
            self.fail(RunFailed(message.reason))
        elif self._ends_with is not None and isinstance(message, self._ends_with):
            self.end("end_turn")
        elif isinstance(message, UserMessage):
            self.has_begun = True
        elif changed.refused and not self.has_begun:
            self.fail(RunFailed(changed.refused))
        elif isinstance(message, RunEnded) and self.has_begun:
            self._end_run(message)

    def end(self, reason: StopReason) -> None:
        """Answer the prompt with this reason, unless it has been answered."""
        if not self.reason.done():
            self.reason.set_result(reason)

    def fail(self, error: BaseException) -> None:
        """Answer the prompt with an error, unless it has been answered."""
        if not self.reason.done():
            self.reason.set_exception(error)

    def cancel(self) -> None:
        """Answer the prompt with "cancelled": once the run ends, or now if it waits for a message of the type
        `ends_with`.
        """
        self.is_cancelled = True
        self.stop("cancelled")
        if self._ends_with is not None:
            self.end("cancelled")

    def stop(self, reason: StopReason) -> None:
        """Ask nothing more, and answer the prompt with this reason once its run is interrupted."""
        self.is_stopping, self.interrupted = True, reason

    def _end_run(self, event: RunEnded) -> None:
        if event.reason == "error":
            kind = ModelNotReady if event.fault == "key" else RunFailed
            self.fail(kind(event.detail or "the run failed"))
        else:
            self.end(self.interrupted if event.reason == "interrupted" else _STOP_REASONS[event.reason])
