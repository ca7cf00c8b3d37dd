"""Many tools: the model is offered the first, finds others by words, and keeps those found, over a restart too."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools.web.small_api import document, given, operation
from workbench.agent.agent import Agent
from workbench.agent.responses import read_response
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.llm.model import Cancel, ModelRequest, ModelResponse, ToolCall
from workbench.session import model_keys
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.session_names import new_id
from workbench.tools import BUILTIN_TOOLS, FindToolsTool, Tool, ToolContext, ToolDefinition, open_tools, resolve_tool
from workbench.tools.find_tools.offer import MOST, offer_of

FIGMA = Path(__file__).with_name("figma") / "openapi.yaml"


class Model:
    """Plays its answers, then says "done"; records its requests."""

    name = "openai/some"

    def __init__(self, *answers: ModelResponse) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    def respond(self, request: ModelRequest, on_delta: object, cancel: Cancel) -> ModelResponse:
        self.requests.append(request)
        return self.answers.pop(0) if self.answers else ModelResponse(id="end", model=self.name, text="done")

    def close(self) -> None:
        """Do nothing: no resource is open."""

    @property
    def offered(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.requests[-1].tools]


def calls(tool: str, number: int = 1, **arguments: Any) -> ModelResponse:
    call = ToolCall(f"call-{number}", tool, json.dumps({"summary": "looks", **arguments}))
    return ModelResponse(id=f"r{number}", model="some", tool_calls=(call,))


@pytest.fixture
def figma(tmp_path: Path) -> Iterator[dict[str, ToolDefinition]]:
    context = ToolContext(str(tmp_path))
    tools = open_tools(context)
    tools |= {tool.name: tool for tool in resolve_tool(Tool("openapi", {"figma": {"document": str(FIGMA)}}), context)}
    yield tools
    for tool in tools.values():
        tool.close()


def asked(agent: Agent) -> list[str]:
    agent.respond([], lambda delta: None, Cancel())
    return agent.model.offered  # type: ignore[attr-defined]


def find(tools: dict[str, ToolDefinition], query: str, **more: Any) -> Any:
    finder = tools["find_tools"]
    return finder(finder.action_from_arguments({"query": query, **more}))


def test_up_to_forty_tools_are_all_offered_without_find_tools(tmp_path, figma):
    few = dict(list(figma.items())[:41])
    assert len(few) == MOST + 1
    assert asked(Agent(Model(), few, tmp_path)) == [name for name in few if name != "find_tools"]


def test_beyond_forty_the_first_are_offered_and_the_others_counted(tmp_path, figma):
    turned = dict(reversed(list(figma.items())))
    agent = Agent(Model(), turned, tmp_path)
    offered = asked(agent)
    assert len(offered) == MOST
    assert set(BUILTIN_TOOLS) <= set(offered)
    finder = next(tool for tool in agent.offered() if tool["function"]["name"] == "find_tools")
    assert f"{len(figma) - MOST} of figma" in finder["function"]["description"]


def test_found_tools_are_offered_from_the_next_call_after_earlier_ones(tmp_path, figma):
    agent = Agent(Model(), figma, tmp_path)
    before = asked(agent)
    hidden = next(name for name in figma if name not in before)
    result = find(figma, hidden, most=1)
    assert result.found == [hidden]
    assert hidden in result.text
    assert asked(agent) == [*before, hidden]
    assert find(figma, "zzzzqqq").is_error
    find(figma, "figma_deleteWebhook")
    assert "figma_deleteWebhook" in asked(agent)
    agent.plan = True
    assert not {"figma_deleteWebhook", "figma_postComment"} & set(asked(agent))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("add a comment to a file", "figma_postComment"),
        ("remove webhook", "figma_deleteWebhook"),
        ("who is the current user", "figma_getMe"),
        ("change dev resources", "figma_putDevResources"),
        ("list the verions of a file", "figma_getFileVersions"),
        ("figma_getPayments", "figma_getPayments"),
        ("render images", "figma_getImages"),
    ],
)
def test_best_matching_tool_comes_first(figma, query, expected):
    offer = offer_of(figma)
    assert offer is not None
    offer.most = 0
    assert find(figma, query).found[0] == expected


def test_number_of_offered_tools_is_a_setting():
    with FindToolsTool(most=3) as tool:
        offer = offer_of({"find_tools": tool, **{str(number): tool for number in range(5)}})
    assert offer is not None
    assert offer.offered == ["0", "1", "find_tools"]


def test_unknown_tool_names_similar_ones_instead_of_all(tmp_path, figma):
    (call,) = read_response(calls("figma_getImage"), figma, ())
    assert "figma_getImages" in call.error
    assert len(call.error) < 300


def opened(where: Locations, settings: Settings, workspace: Path, session: str, *, is_new: bool) -> OpenedSession:
    heard: Any = {"on_event": lambda event: None, "on_live": lambda event: None}
    start = start_session(where, settings, workspace, session, **heard) if is_new else None
    return start or open_session(where, settings, session, **heard)


def run(session: OpenedSession, text: str) -> None:
    session.session.send(text)
    while session.session.step():
        pass


def test_found_tools_survive_a_restart_and_run(tmp_path, monkeypatch):
    paths = {f"/thing{number}": {"get": operation(f"thing{number}", given("q", "query"))} for number in range(60)}
    (tmp_path / "api.json").write_text(json.dumps(document(paths, url="http://127.0.0.1:9/")))
    (workspace := tmp_path / "work").mkdir()
    where = Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")
    api_settings = {"document": str(tmp_path / "api.json"), "base_url": "http://127.0.0.1:9/", "key_env": "WORD"}
    table = {"openapi": {"my": api_settings}}
    settings = Settings(model="openai/some", mode="never", tools=table)
    monkeypatch.setenv("WORD", "unlikely-0-word")
    echo = calls("execute_bash", 3, command="echo unlikely-0-word; echo $WORD.", security_risk="LOW")
    model = Model(calls("find_tools", query="my_thing57", most=1), calls("my_thing57", 2, q="x"), echo)
    monkeypatch.setattr(model_keys, "open_profile", lambda profile, key: model)
    session = opened(where, settings, workspace, name := new_id("many"), is_new=True)
    run(session, "find it")
    assert "my_thing57" not in [tool["function"]["name"] for tool in model.requests[0].tools]
    assert "my_thing57" in [tool["function"]["name"] for tool in model.requests[1].tools]
    assert "could not be called" in json.dumps(model.requests[2].messages[-1])
    assert "‹secret WORD›\n.\n" in str(model.requests[3].messages[-1]["content"])  # neither mentioned nor inherited
    session.close()
    again = opened(where, settings, workspace, name, is_new=False)
    run(again, "go on")
    again.close()
    assert len(model.requests) == 5
    assert model.offered[-1] == "my_thing57"
    assert len(model.offered) == MOST + 1
