"""Sub-agents that are other programs: what their sessions use in place of a model, of tools and of some settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from workbench.acp_client.link import AgentLink
from workbench.acp_client.model import RESTARTED, AgentModel, AgentTurns
from workbench.acp_client.program import config_of
from workbench.acp_client.run import AgentRun
from workbench.acp_client.tools import tools_of
from workbench.agent.agent_kinds import AgentKind
from workbench.config.settings import Settings
from workbench.llm.model import Model
from workbench.sandbox.session_sandbox import OFF, READ_ONLY
from workbench.session.model_keys import SessionModels
from workbench.session.state import State
from workbench.session.toolset import Overrides
from workbench.tools.context import ToolContext
from workbench.tools.selection import Selection, ToolState
from workbench.tools.web_read import NAME as WEB_READ

__all__ = ["RESTARTED", "OutsideAgent"]

_MOST_STEPS: Final = 1_000
"""The most steps in a run, unless the sub-agent's kind sets another limit; each tool call of the program is one
step.
"""


class OutsideAgent:
    """One sub-agent whose kind names a program to run."""

    def __init__(self, kind: AgentKind, workspace: Path, state: State, settings: Settings) -> None:
        """`state` and `settings` are those of the session that starts it; the sub-agent has the mode of that
        session.
        """
        self._kind = kind
        self._settings = settings
        self._state = state
        self._run = AgentRun(AgentLink(config_of(kind, str(workspace.resolve()))))
        self._turns = AgentTurns(only_reads=kind.only_reads or state.mode == "plan")

    @property
    def overrides(self) -> Overrides:
        """The model and the tools for the sub-agent's session."""
        return Overrides(_AgentModels(self._settings, self._open_model), self._open_tools)

    @property
    def settings(self) -> Settings:
        """The settings of the sub-agent's session.

        The program handles loops and its history by itself; if it may only read, the sandbox enforces that. The private
        addresses that its sandbox lets it reach are those of `web_read`, as in every session.
        """
        sandbox, reading = self._settings.sandbox, self._settings.tools.get(WEB_READ)
        return replace(
            self._settings,
            mode=self._state.mode,
            rules=self._state.rules,
            from_flags=("mode",),
            model=f"acp/{self._kind.name}",
            max_steps=self._kind.max_steps or _MOST_STEPS,
            sandbox=READ_ONLY if self._turns.only_reads and sandbox != OFF else sandbox,
            stop_loops=False,
            condense_events=0,
            condense_percent=0,
            tool_choice="auto",
            tools={WEB_READ: reading} if reading is not None else {},
            mcpServers={},
        )

    def when_gone(self, stop: Callable[[str], None]) -> None:
        """Call `stop` with the reason when the program ends on its own, since nothing would receive the answer to a
        question.
        """
        self._run.link.when_gone(lambda reason: stop(f"{self._kind.name} is gone: {reason}"))

    def _open_model(self) -> Model:
        return AgentModel(self._run, self._turns, lambda: self._state.mode != "plan")

    def _open_tools(self, context: ToolContext, is_child: bool) -> Selection:
        tools = tools_of(self._run, context)
        states = (ToolState(tool.name, True, self._kind.source, tools=(tool,)) for tool in tools)
        return Selection(tuple(states), ())


class _AgentModels(SessionModels):
    """Opens the agent's program, whatever model is named."""

    def __init__(self, settings: Settings, open_model: Callable[[], Model]) -> None:
        super().__init__(settings)
        self._open_model = open_model

    def open(self, name: str | None) -> Model:
        """Return the agent's program in place of a model."""
        return self._open_model()

    def check_name(self, name: str) -> None:
        """Accept any name."""
