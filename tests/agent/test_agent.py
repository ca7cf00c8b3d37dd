"""Requests of the agent: instructions first, then the tools; plan mode offers fewer of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workbench.agent.agent import Agent, described_for
from workbench.agent.prompts import system_prompt
from workbench.llm.model import Cancel, Delta, ModelRequest, ModelResponse
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools
from workbench.tools.think.definition import ThinkTool

USER = {"role": "user", "content": "hello"}

CHANGES_NOTHING = {
    *("glob", "grep", "web_read", "task_tracker", "think", "ask_human", "delegate", "request_condensation", "finish"),
}


class RecordingModel:
    """Answers everything with "ok" and remembers the requests."""

    def __init__(self, name: str = "openai/some") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        self.requests.append(request)
        return ModelResponse(id="1", model=self.name, text="ok")

    def close(self) -> None:
        pass


@pytest.fixture
def open_agent(tmp_path: Path) -> Iterator[Callable[..., tuple[Agent, RecordingModel]]]:
    tools = open_tools(ToolContext(str(tmp_path)))

    def start(name: str = "openai/some", **options: bool | str) -> tuple[Agent, RecordingModel]:
        model = RecordingModel(name)
        return Agent(model, tools, tmp_path, **options), model

    yield start
    for tool in tools.values():
        tool.close()


def names(request: ModelRequest) -> set[str]:
    return {tool["function"]["name"] for tool in request.tools}


def test_instructions_come_first_and_tools_are_sent_separately(open_agent, tmp_path):
    agent, model = open_agent()
    assert agent.respond([USER], lambda delta: None, Cancel()).text == "ok"
    system, user = model.requests[0].messages
    assert system["role"] == "system"
    assert f"Working directory: {tmp_path}" in system["content"]
    assert user == USER
    changing = {"execute_bash", "str_replace_editor"}
    assert names(model.requests[0]) == changing | CHANGES_NOTHING


def test_tool_choice_is_sent_with_the_tools(open_agent):
    agent, model = open_agent(tool_choice="required")
    agent.respond([USER], lambda delta: None, Cancel())
    assert model.requests[0].tool_choice == "required"
    assert model.requests[0].tools


def test_plan_mode_offers_only_tools_that_change_nothing(open_agent):
    agent, model = open_agent(plan=True)
    agent.respond([USER], lambda delta: None, Cancel())
    agent.plan = False
    agent.respond([USER], lambda delta: None, Cancel())
    planned, free = model.requests
    assert names(planned) == CHANGES_NOTHING | {"str_replace_editor", "execute_bash"}  # for `view` and `ls`
    assert "Plan mode" in planned.messages[0]["content"]
    assert "execute_bash" in names(free)
    assert "Plan mode" not in free.messages[0]["content"]


def test_models_with_small_tool_budgets_get_short_descriptions(open_agent):
    agent, model = open_agent("openai/gpt-4o")
    agent.respond([USER], lambda delta: None, Cancel())
    long_agent, long_model = open_agent("openai/other")
    long_agent.respond([USER], lambda delta: None, Cancel())
    assert len(str(model.requests[0].tools)) < len(str(long_model.requests[0].tools))


def every_part(node: object) -> Iterator[dict]:
    """Return all schemas inside a schema; the mapping under `properties` is not itself a schema."""
    if isinstance(node, list):
        yield from (part for item in node for part in every_part(item))
    elif isinstance(node, dict):
        yield node
        yield from (part for value in node.values() for part in every_part(value))


def test_gemini_gets_schemas_without_defaults_even_after_a_model_change(open_agent):
    agent, model = open_agent("vertex_ai/gemini-3-pro")
    agent.respond([USER], lambda delta: None, Cancel())
    assert not any("default" in part for part in every_part(model.requests[0].tools))
    agent.model = other = RecordingModel("openai/gpt-4o")
    agent.respond([USER], lambda delta: None, Cancel())
    assert any("default" in part for part in every_part(other.requests[0].tools))
    texts = [{tool["function"]["description"] for tool in each.requests[0].tools} for each in (model, other)]
    assert not texts[0] & texts[1]


@pytest.mark.parametrize(
    ("name", "is_short"),
    [
        ("openai/gpt-4o", True),
        ("openai/gpt-4.1-mini", True),
        ("o1", True),
        ("openai/o3-mini", True),
        ("azure/o4-mini", True),
        ("openai/gpt-5", False),
        ("anthropic/claude-opus-4-1", False),
        ("proto1/large", False),
    ],
)
def test_model_name_decides_about_short_descriptions(tmp_path, name, is_short):
    tool = ThinkTool()
    description = described_for(name, tool)["function"]["description"]
    assert description == (tool.short_description if is_short else tool.description)


def test_prompt_names_the_workspace_rules_and_risks(tmp_path):
    prompt = system_prompt(tmp_path, {"task_tracker", "ask_human", "finish"})
    for part in ("Working directory", "security_risk", "LOW", "MEDIUM", "HIGH", "summary"):
        assert part in prompt
    for tool in ("task_tracker", "ask_human", "finish"):
        assert tool in prompt
        assert tool not in system_prompt(tmp_path, ())
