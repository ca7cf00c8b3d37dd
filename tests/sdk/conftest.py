"""Agents in the project of a sandbox, which are closed after the test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.sandbox import Sandbox
from workbench.sdk import ToolCallAgent


@pytest.fixture
def agent_with(local_sandbox: Sandbox) -> Iterator[Callable[..., ToolCallAgent]]:
    agents = []

    def create(*arguments: Any, **options: Any) -> ToolCallAgent:
        agent = ToolCallAgent(*arguments, **{"workspace": local_sandbox.project, **options})
        agents.append(agent)
        return agent

    yield create
    for agent in agents:
        agent.close()
