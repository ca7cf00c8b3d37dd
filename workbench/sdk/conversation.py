"""A conversation with an agent, as in OpenHands: messages are sent, then the agent runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from workbench.protocol.events import Event
from workbench.sdk.agent import ToolCallAgent
from workbench.sdk.result import RunResult


class ToolChoice(StrEnum):
    """Whether the model may or must call tools; the name and values are those of OpenManus."""

    NONE = "none"
    AUTO = "auto"
    REQUIRED = "required"


def get_logger(name: str) -> logging.Logger:
    """Return the logger with this name; OpenHands programs import this function."""
    return logging.getLogger(name)


@dataclass(frozen=True)
class LLM:
    """A model by name, with its API key and URL, which are not needed for a model in the settings.

    `usage_id`, or `service_id` in older programs, is a label from OpenHands, for the caller's own use.
    """

    model: str
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    usage_id: str = "default"
    service_id: str | None = None


class AgentConversation:
    """An agent in a workspace, and functions that are called with every event."""

    def __init__(
        self,
        agent: ToolCallAgent,
        *,
        workspace: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callable[[Event], Any]] = (),
        max_iteration_per_run: int | None = None,
        visualize: bool = False,
    ) -> None:
        """Create a conversation with an agent that has not run yet.

        `max_iteration_per_run` sets the agent's `max_steps`. `visualize` has no effect: nothing is printed, and
        callbacks get the events. Raises UsageError if the agent's session is already open and should be changed.
        """
        self.agent = agent
        self.result: RunResult | None = None
        """The outcome of the last run."""
        agent.configure(workspace=workspace, callbacks=callbacks, max_steps=max_iteration_per_run)

    @property
    def id(self) -> str:
        """The id of the session, for `ohw resume`; empty before the first message."""
        return self.agent.session_id

    def send_message(self, message: str) -> None:
        """Send a message; while the agent runs, it is queued."""
        self.agent.send(message)

    def run(self) -> RunResult:
        """Run until the agent is done, needs an approval, or reaches a limit."""
        self.result = self.agent.run_sync()
        return self.result

    async def arun(self) -> RunResult:
        """Do the same as `run`, in an event loop."""
        self.result = await self.agent.run()
        return self.result

    def pause(self) -> None:
        """Stop the run; `run` continues after the next message."""
        self.agent.interrupt()

    def events(self) -> Iterator[Event]:
        """Yield the events of the session."""
        return self.agent.events()

    def close(self) -> None:
        """Release the session; its log stays."""
        self.agent.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
