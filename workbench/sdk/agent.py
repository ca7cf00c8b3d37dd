"""An agent that a program runs in its own process: a session that is driven by `run`, or step by step."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from workbench.errors import UsageError
from workbench.protocol.events import Event
from workbench.sdk.approval import Answer, Approve, Approver
from workbench.sdk.configuration import (
    ALIASES,
    AgentTools,
    checked,
    class_options,
    locations_for,
    overrides_for,
    settings_for,
    special_names,
)
from workbench.sdk.driver import OPEN_PHASES, Driver, OnEvent, blocking, listeners_in
from workbench.sdk.result import RunResult
from workbench.session.session_factory import (
    Listeners,
    OpenedSession,
    open_session,
    start_session,
)
from workbench.session.session_names import new_id
from workbench.session.toolset import Overrides
from workbench.session.workspace_check import checked_workspace
from workbench.tools.collection import ToolCollection, Toolish
from workbench.tools.finish import NAME as FINISH
from workbench.tools.name_filter import NameFilter
from workbench.tools.tool import ToolDefinition

TERMINATE = "terminate"
"""The name of the tool that ends a run in OpenManus."""


class ToolCallAgent:
    """A model with tools, in a session of its own.

    The session is like one of the app: actions need the same approvals, the user's rules and limits apply, and its log
    is listed among the user's sessions. The first `run`, `step` or `send` opens the session; `close`, or the end of a
    `with` block, releases it. Only one task at a time may drive an agent, but `send`, `interrupt`, `add_tools` and
    `remove_tool` may be called meanwhile, from any thread.
    """

    name: str = ""
    """A name for the program's own use, as in OpenManus; the model does not get it."""
    description: str = ""

    def __init__(
        self,
        model: object = None,
        tools: Sequence[Toolish] | ToolCollection | None = None,
        *,
        approve: Approve | None = None,
        answer: Answer | None = None,
        on_event: OnEvent | Sequence[OnEvent] = (),
        special_tools: str | Sequence[Any] = (FINISH, TERMINATE),
        mcp: Any = None,
        instructions: str = "",
        workspace: str | os.PathLike[str] = ".",
        session: str = "",
        data_dir: str | os.PathLike[str] | None = None,
        name: str = "",
        description: str = "",
        **settings: Any,
    ) -> None:
        """Create an agent; without `model` or `tools` it uses those of the user's settings.

        Other settings may be passed by name, such as `max_steps`, `max_observe` (None is unlimited), `tool_choice` or
        `mode`. `approve` decides actions that need an approval, `answer` answers the agent's questions; without them
        the run ends at the first. `session` is the ID of one to resume. Raises UsageError, TypeError or ValueError.
        """
        options = {**class_options(type(self), ToolCallAgent), **settings}
        options = {ALIASES.get(name, name): value for name, value in options.items()}
        self._instructions = str(options.pop("instructions", instructions) or "")
        self._model, tools = options.pop("model", model), options.pop("tools", tools)
        self.name, self.description = name or type(self).name, description or type(self).description
        callbacks = listeners_in(options.pop("on_event", on_event))
        self._special, more = special_names(options.pop("special_tools", special_tools))
        self._workspace, self._session_id = Path(workspace), session
        self._locations, mcp = locations_for(data_dir), options.pop("mcp", mcp)
        self._settings = settings_for(self._locations, self._model, options, mcp, has_tools=tools is not None)
        self._collection: ToolCollection | None = None
        if tools is not None:
            self._collection = tools if isinstance(tools, ToolCollection) else ToolCollection(*tools)
            self._collection.add_tools(*more)
        self._driver = Driver(self._open_session, self._overrides, Approver(approve, answer))
        self.configure(callbacks=callbacks)

    def configure(
        self,
        *,
        workspace: str | os.PathLike[str] | None = None,
        callbacks: Sequence[OnEvent] = (),
        max_steps: int | None = None,
    ) -> None:
        """Set the workspace and the limit of steps, and add functions that are called with every event.

        Raises UsageError for an invalid limit, and if the session is already open, because it keeps its workspace and
        limits.
        """
        if (workspace is not None or max_steps is not None) and self._driver.opened is not None:
            raise UsageError("this agent has a session, which stays in its workspace and keeps its limits")
        if workspace is not None:
            self._workspace = Path(workspace)
        if max_steps is not None:
            self._settings = replace(self._settings, max_steps=checked("max_steps", max_steps))
        self._driver.listeners += callbacks

    @property
    def tools(self) -> ToolCollection:
        """The tools that were passed to the agent; changes apply from its next model call on.

        Raises UsageError if none were passed, so that the agent has the tools of the settings.
        """
        if self._collection is None:
            raise UsageError("this agent has the tools of the settings file; give it `tools` to change them")
        return self._collection

    @property
    def available_tools(self) -> ToolCollection:
        """The same as `tools`; OpenManus programs use this name."""
        return self.tools

    def add_tools(self, *tools: Toolish) -> ToolCollection:
        """Add tools, available from the next model call on; return the collection. Raises UsageError, TypeError or
        ValueError.
        """
        return self.tools.add_tools(*tools)

    def remove_tool(self, name: str) -> ToolDefinition:
        """Remove a tool, with effect from the next model call on, and return it. Raises UnknownTool."""
        return self.tools.remove_tool(name)

    @property
    def session_id(self) -> str:
        """The ID of the session, for `ohw resume`; empty before a new session is opened."""
        return self._driver.opened.id if self._driver.opened is not None else self._session_id

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events of the session whose `seq` is above `after`."""
        return self._driver.open().events(after)

    def send(self, prompt: str) -> None:
        """Send a message without running; while the agent runs, it is queued for the next model call."""
        self._driver.send(prompt)

    def interrupt(self) -> None:
        """Stop the run; everything done so far is kept. May be called from any thread."""
        self._driver.interrupt()

    async def run(self, prompt: str | None = None, *, request: str | None = None) -> RunResult:
        """Send the prompt, if there is one, and run until the agent is done, needs an approval, or reaches a limit.

        `request` is another name of `prompt`, from OpenManus. If the task is canceled, the agent is interrupted. Raises
        WorkbenchError if the session cannot be opened; an exception of the caller's own functions stops the agent and
        is raised here.
        """
        return await self._driver.drive(request if prompt is None else prompt, lambda before: False)

    def run_sync(self, prompt: str | None = None, *, request: str | None = None) -> RunResult:
        """Send the prompt and run as `run` does, without `await`; works with or without a running event loop."""
        return blocking(self.run(prompt, request=request))

    async def think(self, prompt: str | None = None) -> bool:
        """Call the model once; return whether it has asked for tools."""
        await self._driver.drive(prompt, lambda before: before == "thinking")
        return self._driver.session.phase in OPEN_PHASES

    async def act(self) -> RunResult:
        """Run the actions of the last response, asking for the approvals they need; return the outcome so far."""
        session = self._driver.session
        if session.phase not in OPEN_PHASES:
            return self._driver.result()
        return await self._driver.drive(None, lambda before: session.phase not in OPEN_PHASES)

    async def step(self, prompt: str | None = None) -> bool:
        """Call the model once and run the actions it asks for; return whether the agent has more to do."""
        await self.think(prompt)
        await self.act()
        return self._driver.session.phase == "thinking"

    def step_sync(self, prompt: str | None = None) -> bool:
        """Do the same as `step`, without `await`."""
        return blocking(self.step(prompt))

    def _overrides(self) -> Overrides:
        names = NameFilter.of(self._settings.tools)
        tools = None if self._collection is None else AgentTools(self._collection, self._special, names)
        return overrides_for(self._settings, self._model, tools, self._instructions)

    def _open_session(self, prompt: str, session_id: str, listeners: Listeners) -> OpenedSession:
        if session_id or self._session_id:
            return open_session(self._locations, self._settings, session_id or self._session_id, **listeners)
        workspace, name = checked_workspace(self._workspace), new_id(prompt or "agent")
        return start_session(self._locations, self._settings, workspace, name, **listeners)

    def close(self) -> None:
        """End the tools and release the session; its log stays. May be called twice."""
        self._driver.close()
        if self._collection is not None and self._driver.opened is None:
            self._collection.close()

    @classmethod
    async def create(cls, *arguments: Any, **options: Any) -> Self:
        """Create an agent; OpenManus programs use this name."""
        return cls(*arguments, **options)

    async def cleanup(self) -> None:
        """Close the agent; OpenManus programs use this name."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self.close)
