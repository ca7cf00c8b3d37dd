"""An agent that a program runs: prompts, tools, limits, events, and a session like one of the app."""

import asyncio
import functools
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from pydantic import ConfigDict, SecretStr

import workbench
import workbench.agent
import workbench.sdk
import workbench.tools
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.mcp.conftest import fake_server
from tests.sdk.fake_model import FakeModel, calls, says
from workbench import Agent, tool
from workbench.errors import UsageError
from workbench.llm.model import ModelError
from workbench.protocol.events import ActionDecided, ActionObserved
from workbench.sdk import LLM, Conversation, RunResult, ToolCallAgent, ToolCollection
from workbench.tools import (
    Action,
    BaseTool,
    BashTool,
    FinishTool,
    Observation,
    ThinkTool,
    Tool,
    ToolAnnotations,
    ToolDefinition,
    ToolResult,
    UnknownTool,
    register_tool,
    unregister_tool,
)


@tool(read_only=True)
async def weather(city: str, days: int = 1) -> str:
    """Forecast the weather of a city."""
    return f"{city}: sun for {days} days"


@tool
def note(text: str) -> str:
    """Take a note."""
    return f"noted {text}"


def test_a_prompt_is_answered_with_the_tools_of_the_program(agent_with):
    model = FakeModel(calls(("weather", {"city": "Rome", "days": 2})), says("Sun."))
    agent = agent_with(model, [weather, "think"])
    result = asyncio.run(agent.run("What is the weather in Rome?"))
    assert (result.text, result.reason, result.is_done, str(result)) == ("Sun.", "waiting", True, "Sun.")
    assert (result.steps, result.session_id) == (2, agent.session_id)
    assert model.offered == [["weather", "think"]] * 2
    assert model.results == ["Rome: sun for 2 days"]
    assert model.requests[0].messages[-1]["content"] == "What is the weather in Rome?"


def test_an_agent_runs_without_await_also_inside_an_event_loop(agent_with):
    agent = agent_with(FakeModel(says("One."), says("Two.")), [weather])
    assert agent.run_sync("go").text == "One."

    async def inside():
        return agent.run_sync("go on").text

    assert asyncio.run(inside()) == "Two."


TOOLS = {
    "function": (weather, "weather"),
    "plain function": (lambda: note, "note"),
    "class": (BashTool, "execute_bash"),
    "instance": (ThinkTool(), "think"),
    "name": ("glob", "glob"),
    "alias": ("bash", "execute_bash"),
    "class name": ("TaskTrackerTool", "task_tracker"),
    "specification": (Tool("execute_bash", {"no_change_timeout": 3}), "execute_bash"),
}


@pytest.mark.parametrize(("given", "name"), TOOLS.values(), ids=TOOLS)
def test_tools_are_named_in_every_way(agent_with, given, name):
    model = FakeModel(says("ok"))
    given = note if name == "note" else given
    agent_with(model, [given]).run_sync("go")
    assert model.offered == [[name]]


@pytest.mark.parametrize(
    ("tools", "error"),
    [
        (["no_such_tool"], UnknownTool),
        ([3], TypeError),
        ([lambda city: city], ValueError),
        ([dict], TypeError),
    ],
    ids=["unknown", "number", "lambda", "class"],
)
def test_what_is_no_tool_is_refused_at_once(agent_with, tools, error):
    with pytest.raises(error):
        agent_with(FakeModel(), tools)


def test_a_tool_cannot_pass_for_a_built_in_one(agent_with):
    @tool(name="execute_bash")
    def shell(command: str) -> str:
        return command

    with pytest.raises(UsageError, match="belongs to a built-in tool"):
        agent_with(FakeModel(says("ok")), [shell]).run_sync("go")


def test_a_session_that_runs_keeps_its_tool_when_the_name_is_registered_again(agent_with):
    def answering(text: str) -> ThinkTool:
        return ThinkTool().set_executor(lambda action: {"content": text})

    turns = (calls(("think", {"thought": "?"})), says("ok"))
    before, after = FakeModel(*turns, *turns), FakeModel(*turns)
    register_tool("think", answering("first"))
    try:
        running = agent_with(before, ["think"])
        running.run_sync("go")
        register_tool("think", answering("second"))
        running.run_sync("go on")
        agent_with(after, ["think"]).run_sync("go")
    finally:
        unregister_tool("think")
    assert before.results == ["first", "first"]
    assert after.results == ["second"]


class Terminate(BaseTool):
    """Ends the conversation."""

    name = "terminate"
    parameters = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}

    async def execute(self, status: str) -> ToolResult:  # type: ignore[override]
        return ToolResult(output=f"ended with {status}")


@pytest.mark.parametrize("special", [("terminate",), "terminate", (Terminate(),)], ids=["names", "name", "tool"])
def test_a_special_tool_ends_the_run(agent_with, special):
    model = FakeModel(calls(("terminate", {"status": "success"})))
    tools = [weather] if isinstance(special[0], Terminate) else [weather, Terminate()]
    agent = agent_with(model, tools, special_tools=special, approve=lambda request: True)
    result = agent.run_sync("go")
    assert (result.reason, result.text, len(model.requests)) == ("finished", "ended with success", 1)


def test_the_built_in_finish_ends_the_run(agent_with):
    message = "All done.\n\n- " + "more " * 100 + "\n- and more"
    result = agent_with(FakeModel(calls(("finish", {"message": message}))), [FinishTool]).run_sync("go")
    assert (result.reason, result.text, result.detail) == ("finished", message, "All done.")


def test_a_tool_that_is_not_special_does_not_end_the_run(agent_with):
    model = FakeModel(calls(("terminate", {"status": "success"})), says("Still here."))
    result = agent_with(model, [Terminate()], special_tools=(), approve=lambda request: True).run_sync("go")
    assert (result.reason, result.text) == ("waiting", "Still here.")


def test_a_tool_called_terminate_is_special_by_default(agent_with):
    model = FakeModel(calls(("terminate", {"status": "success"})))
    result = agent_with(model, [Terminate()], approve=lambda request: True).run_sync("go")
    assert (result.reason, result.text) == ("finished", "ended with success")


def test_a_run_stops_at_its_limit_of_steps_and_continues(agent_with):
    model = FakeModel(*[calls(("weather", {"city": f"town {number}"})) for number in range(3)], says("Done."))
    agent = agent_with(model, [weather], max_steps=2)
    first = agent.run_sync("go")
    assert (first.reason, first.is_done, first.steps) == ("limit", False, 2)
    assert "max_steps" in str(first)
    assert agent.run_sync("go on").text == "Done."


@pytest.mark.parametrize(
    ("limit", "length"), [(1, 1), (10, 10), (100, 100), (5_000, 5_000), (9_999, 5_000), (0, 5_000), (None, 5_000)]
)
def test_a_result_reaches_the_model_with_exactly_max_observe_characters(agent_with, limit, length):
    @tool(read_only=True)
    def long() -> str:
        return "x" * 5_000

    model = FakeModel(calls(("long", {})), says("ok"))
    agent_with(model, [long], max_observe=limit).run_sync("go")
    assert len(model.results[0]) == length


@pytest.mark.parametrize("choice", ["none", "auto", "required"])
@pytest.mark.parametrize("name", ["tool_choice", "tool_choices"])
def test_the_choice_of_tools_reaches_the_model(agent_with, name, choice):
    model = FakeModel(calls(("finish", {"message": "ok"})))
    agent_with(model, ["finish"], **{name: choice}).run_sync("go")
    assert model.requests[0].tool_choice == choice


def test_the_names_of_openmanus_and_openhands_work(agent_with, local_sandbox):
    model = FakeModel(calls(("think", {"thought": "a"})))
    events = []
    agent = agent_with(
        llm=model, available_tools=ToolCollection("think"), special_tool_names=["think"], callbacks=[events.append]
    )
    assert agent.run_sync("go").reason == "finished"
    assert agent.available_tools is agent.tools
    assert events[0].kind == "session_started"
    assert workbench.Agent is workbench.ToolCallAgent is ToolCallAgent is workbench.sdk.Agent


def test_a_subclass_sets_arguments_as_attributes(agent_with, local_sandbox):
    class Forecaster(ToolCallAgent):
        name = "forecaster"
        available_tools = ToolCollection(weather, "think")  # type: ignore[assignment]
        special_tool_names = ("weather",)
        system_prompt = "You are a forecaster."
        max_steps = 3
        max_observe: int = 5

    model = FakeModel(calls(("think", {"thought": "a" * 100})), calls(("weather", {"city": "Rome"})))
    with Forecaster(model, workspace=local_sandbox.project) as agent:
        assert agent.run_sync("go").reason == "finished"
    assert model.requests[0].messages[0]["content"].endswith("\n\nYou are a forecaster.")
    assert [len(result) for result in model.results] == [5]


@pytest.mark.parametrize("name", ["instructions", "system_prompt"])
def test_instructions_are_added_to_those_of_the_app(agent_with, name):
    model = FakeModel(says("ok"))
    agent_with(model, [weather], **{name: "Be brief."}).run_sync("go")
    system = model.requests[0].messages[0]["content"]
    assert system.endswith("\n\nBe brief.")
    assert len(system) > 200


def test_agents_share_a_collection(agent_with, tmp_path):
    shared = ToolCollection(weather, BashTool)
    directories = [tmp_path / "one", tmp_path / "two"]
    for directory in directories:
        directory.mkdir()
    models = [FakeModel(calls(("execute_bash", {"command": "pwd"})), says("ok"), says("ok")) for _ in directories]
    agents = [
        agent_with(model, shared, workspace=directory) for model, directory in zip(models, directories, strict=True)
    ]

    async def run_all():
        return await asyncio.gather(*(agent.run("go") for agent in agents))

    assert [result.text for result in asyncio.run(run_all())] == ["ok", "ok"]
    assert [model.results[0].splitlines()[0] for model in models] == [str(each.resolve()) for each in directories]
    agents[0].close()
    shared.add_tool("think").remove_tool("weather")
    assert agents[1].run_sync("go on").text == "ok"
    assert models[1].offered[-1] == ["execute_bash", "think"]


def test_a_secret_that_hides_its_value_is_a_key(local_sandbox):
    with ModelServer([Turn(text="ok")]) as server:
        llm = SimpleNamespace(model="openai/my-model", api_key=SecretStr("sk-hidden-value"), base_url=server.base_url)
        with Agent(llm=llm, tools=[weather], workspace=local_sandbox.project) as agent:
            assert agent.run_sync("go").text == "ok"
        assert server.requests[0].headers["Authorization"] == "Bearer sk-hidden-value"


def test_a_key_in_the_environment_serves_every_agent_of_the_program(local_sandbox, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-of-the-environment")
    with ModelServer([Turn(text="one"), Turn(text="two")]) as server:
        for text in ("one", "two"):
            options = {"api_base": server.base_url, "api_key_env": "MY_KEY", "workspace": local_sandbox.project}
            with Agent("openai/my-model", [weather], **options) as agent:
                assert agent.run_sync("go").text == text
        keys = {request.headers["Authorization"] for request in server.requests}
    assert keys == {"Bearer sk-of-the-environment"}


def test_an_unknown_argument_is_refused_with_the_near_one(agent_with):
    with pytest.raises(TypeError, match="no argument 'max_step'; did you mean 'max_steps'"):
        agent_with(FakeModel(), max_step=3)
    with pytest.raises(UsageError, match="max_steps must be a whole number"):
        agent_with(FakeModel(), max_steps=0)
    with pytest.raises(TypeError, match="is not a model"):
        agent_with(3)
    with pytest.raises(UsageError, match="no model is set"):
        agent_with(tools=["think"])


def test_step_calls_the_model_once_and_runs_what_it_asks_for(agent_with):
    model = FakeModel(*[calls(("weather", {"city": city})) for city in ("Rome", "Oslo")], says("Done."))
    agent = agent_with(model, [weather])

    async def steps():
        more = [await agent.step("go")]
        while more[-1]:
            more.append(await agent.step())
        return more

    assert asyncio.run(steps()) == [True, True, False]
    assert len(model.requests) == 3
    assert agent.step_sync() is False


def test_think_and_act_are_the_halves_of_a_step(agent_with):
    model = FakeModel(calls(("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"})), says("Done."))
    agent, events = agent_with(model, [weather]), []
    agent.configure(callbacks=[events.append])

    async def halves():
        wants = await agent.think("go")
        before = sum(isinstance(event, ActionObserved) for event in events)
        await agent.act()
        return wants, before, sum(isinstance(event, ActionObserved) for event in events), await agent.think()

    assert asyncio.run(halves()) == (True, 0, 2, False)
    assert asyncio.run(agent.act()).text == "Done."


def test_every_event_reaches_the_callbacks_in_order_and_in_the_callers_thread(agent_with):
    threads, kinds, later = set(), [], []

    def listen(event):
        threads.add(threading.current_thread())
        kinds.append(event.kind)

    async def listen_later(event):
        await asyncio.sleep(0)
        later.append(event.kind)

    agent = agent_with(FakeModel(calls(("weather", {"city": "Rome"})), says("ok")), [weather])
    agent.configure(callbacks=[listen, listen_later])
    agent.send("before it runs")
    agent.run_sync()
    assert threads == {threading.current_thread()}
    recorded = [event.kind for event in agent.events()]
    assert kinds == later == recorded[: len(kinds)]
    assert {*recorded[len(kinds) :]} <= {"version_taken"}  # the last one may be delivered after the run
    assert kinds.index("user_message") < kinds.index("action_started") < kinds.index("action_observed")
    assert kinds.index("action_observed") < kinds.index("run_ended")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_callback_that_fails_stops_the_agent(agent_with, is_async):
    async def fail_later(event):
        fail(event)

    def fail(event):
        if event.kind == "action_proposed":
            raise LookupError("nobody listens")

    model = FakeModel(calls(("weather", {"city": "Rome"})), says("never asked"))
    agent = agent_with(model, [weather], on_event=fail_later if is_async else fail)
    with pytest.raises(LookupError, match="nobody listens"):
        agent.run_sync("go")
    assert len(model.requests) == 1


def test_tools_are_added_and_removed_while_the_agent_runs(agent_with):
    def change(event):
        if event.kind == "action_observed" and "note" not in agent.tools:
            agent.add_tools(note, "think")
            agent.remove_tool("weather")

    model = FakeModel(
        calls(("weather", {"city": "Rome"})), calls(("weather", {"city": "Oslo"}), ("note", {"text": "a"})), says("ok")
    )
    agent = agent_with(model, [weather], on_event=change, approve=lambda request: True)
    agent.run_sync("go")
    assert model.offered == [["weather"], ["note", "think"], ["note", "think"]]
    assert "there is no tool 'weather'" in model.results[1]
    assert model.results[2] == "noted a"


def test_a_session_keeps_a_registered_tool_that_is_registered_again(agent_with):
    def register(answer):
        register_tool("own", tool(name="own", read_only=True)(lambda: answer))

    register("first")
    model = FakeModel(*[calls(("own", {})), says("ok")] * 2)
    agent = agent_with(model, ["own"])
    agent.run_sync("go")
    register("second")
    agent.run_sync("go on")
    assert model.results == ["first", "first"]
    other = FakeModel(calls(("own", {})), says("ok"))
    agent_with(other, ["own"]).run_sync("go")
    unregister_tool("own")
    assert other.results == ["second"]
    agent.run_sync("go on")
    assert model.offered[-1] == ["own"]


def test_a_tool_that_is_removed_still_ends_its_call(agent_with):
    @tool(read_only=True)
    def vanish() -> str:
        agent.remove_tool("vanish")
        return "gone"

    model = FakeModel(calls(("vanish", {})), says("ok"))
    agent = agent_with(model, [vanish, "think"])
    agent.run_sync("go")
    assert model.results == ["gone"]
    assert model.offered == [["vanish", "think"], ["think"]]


def test_an_added_special_tool_ends_the_run(agent_with):
    agent = agent_with(
        FakeModel(says("ready"), calls(("terminate", {"status": "ok"}))),
        [weather],
        special_tools=["terminate"],
        approve=lambda request: True,
    )
    agent.run_sync("go")
    agent.add_tools(Terminate())
    assert agent.run_sync("go on").reason == "finished"


def test_an_agent_without_own_tools_has_those_of_the_settings(agent_with):
    model = FakeModel(says("ok"))
    agent = agent_with(model)
    agent.run_sync("go")
    assert {"execute_bash", "str_replace_editor", "finish"} <= set(model.offered[0])
    with pytest.raises(UsageError, match="has the tools of the settings"):
        agent.add_tools(weather)


def test_a_model_that_fails_ends_the_run_with_its_message(agent_with):
    result = agent_with(FakeModel(ModelError("the key is wrong")), [weather]).run_sync("go")
    assert (result.reason, result.detail, str(result)) == ("error", "the key is wrong", "[error] the key is wrong")


def test_a_canceled_task_interrupts_the_agent(agent_with):
    began = threading.Event()

    def slow(request, cancel):
        began.set()
        assert cancel.wait(60)
        return says("")

    agent = agent_with(FakeModel(slow, says("again")), [weather])

    async def cancel():
        task = asyncio.create_task(agent.run("go"))
        await asyncio.to_thread(began.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await agent.run("go on")

    assert asyncio.run(cancel()).text == "again"
    assert "interrupted" in [getattr(event, "reason", "") for event in agent.events()]


def test_interrupt_ends_a_running_tool(agent_with):
    began = threading.Event()

    @tool(read_only=True)
    async def hang() -> str:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError("it hangs for ever")

    agent = agent_with(FakeModel(calls(("hang", {})), says("never asked")), [hang])

    async def interrupt():
        task = asyncio.create_task(agent.run("go"))
        await asyncio.to_thread(began.wait, 60)
        agent.interrupt()
        return await task

    assert asyncio.run(interrupt()).reason == "interrupted"


def test_agents_run_side_by_side_in_one_loop(agent_with):
    agents = [agent_with(FakeModel(calls(("weather", {"city": f"{n}"})), says(f"{n}")), [weather]) for n in range(4)]

    async def run_all():
        return await asyncio.gather(*(agent.run("go") for agent in agents))

    assert [result.text for result in asyncio.run(run_all())] == ["0", "1", "2", "3"]
    assert len({agent.session_id for agent in agents}) == 4


def test_one_task_at_a_time_drives_an_agent(agent_with):
    agent = agent_with(FakeModel(says("one")), [weather])

    async def twice():
        return await asyncio.gather(agent.run("go"), agent.run("go"), return_exceptions=True)

    first, second = asyncio.run(twice())
    assert first.text == "one"
    assert isinstance(second, UsageError)


def test_the_session_is_among_those_of_the_user_and_goes_on(agent_with, local_sandbox):
    agent = agent_with(FakeModel(says("One.")), [weather])
    agent.run_sync("Find the weather")
    agent.close()
    assert agent.session_id in local_sandbox.ohw("sessions").stdout
    model = FakeModel(says("Two."))
    again = agent_with(model, [weather], session=agent.session_id)
    assert again.run_sync("And now?").text == "Two."
    assert [message["role"] for message in model.requests[0].messages] == ["system", "user", "assistant", "user"]


def test_sessions_can_be_kept_in_another_directory(agent_with, local_sandbox, tmp_path):
    agent = agent_with(FakeModel(says("ok")), [weather], data_dir=tmp_path / "data")
    agent.run_sync("go")
    assert [path.stem for path in (tmp_path / "data/sessions").glob("*.session")] == [agent.session_id]
    assert not list(local_sandbox.locations.sessions.glob("*"))


def test_close_leaves_no_process_and_refuses_further_runs(agent_with):
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    model = FakeModel(calls(("execute_bash", {"command": "echo hello"})), says("ok"))
    agent = agent_with(model, [BashTool])
    with agent:
        assert agent.run_sync("go").text == "ok"
        assert model.results[0].startswith("hello")
    agent.close()
    assert {each.pid for each in psutil.Process().children(recursive=True)} <= before
    assert not model.is_closed
    with pytest.raises(UsageError, match="closed"):
        agent.run_sync("go")


def test_the_settings_of_the_user_hold(agent_with, local_sandbox):
    local_sandbox.locations.config.mkdir(parents=True)
    local_sandbox.locations.settings_file.write_text("max_steps = 1\n")
    model = FakeModel(calls(("weather", {"city": "Rome"})), says("never asked"))
    assert agent_with(model, [weather]).run_sync("go").reason == "limit"


def test_a_conversation_sends_and_runs(agent_with, tmp_path):
    events = []
    agent = agent_with(FakeModel(says("One."), says("Two.")), [weather])
    with Conversation(agent, workspace=tmp_path, callbacks=[events.append]) as conversation:
        conversation.send_message("go")
        assert conversation.run().text == "One."
        conversation.send_message("go on")
        assert asyncio.run(conversation.arun()).text == "Two."
        assert conversation.result is not None
        assert conversation.id == agent.session_id
    assert events[0].workspace == str(tmp_path.resolve())


def test_a_provider_is_named_with_key_and_address(local_sandbox):
    script = [Turn(calls=[Called("weather", {"city": "Rome"})]), Turn(text="Sun.")]
    with ModelServer(script) as server:
        llm = LLM("openai/my-model", api_key="sk-of-the-test", base_url=server.base_url)
        with Agent(llm, [weather], workspace=local_sandbox.project) as agent:
            assert agent.run_sync("go").text == "Sun."
        assert server.requests[0].headers["Authorization"] == "Bearer sk-of-the-test"
    assert "sk-of-the-test" not in repr(llm)


def test_a_sub_agent_works_with_the_tools_and_the_model_of_the_program(agent_with):
    task = {"agent": "helper", "inputs": "Find the weather."}
    model = FakeModel(
        calls(("delegate", task)), calls(("weather", {"city": "Rome"})), says("Sun in Rome."), says("It says sun.")
    )
    agent = agent_with(model, [weather, "delegate"], approve=lambda request: True)
    assert agent.run_sync("go").text == "It says sun."
    assert model.offered == [["weather", "delegate"], ["weather"], ["weather"], ["weather", "delegate"]]


def test_a_kind_of_sub_agent_has_fewer_tools_of_the_program(agent_with):
    task = {"agent": "forecaster", "inputs": "Find the weather."}
    model = FakeModel(calls(("delegate", task)), says("Sun."), says("It says sun."))
    kinds = {"forecaster": {"tools": ["weather"], "prompt": "You forecast."}}
    agent = agent_with(model, [weather, "delegate", "grep", "think"], approve=lambda request: True, agents=kinds)
    assert agent.run_sync("go").text == "It says sun."
    assert model.offered[1] == ["weather", "think"]


@pytest.mark.parametrize("is_nested", [True, False], ids=["mcpServers", "table"])
def test_servers_are_given_as_a_dictionary(agent_with, tmp_path, is_nested):
    table = {"fake": fake_server(tmp_path)}
    model = FakeModel(calls(("echo", {"text": "hello"})), says("ok"))
    mcp = {"mcpServers": table} if is_nested else table
    agent = agent_with(model, ["think"], mcp=mcp, approve=lambda request: True)
    assert agent.run_sync("go").text == "ok"
    assert {"think", "echo", "peek"} <= set(model.offered[0])
    assert "echo: hello" in model.results[0]


NAMED = ["grep", "glob", "weather", "echo", "peek"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (None, NAMED),
        ("", NAMED),
        ("g", ["grep", "glob"]),
        ("^(?!grep)(.*)", ["glob", "weather", "echo", "peek"]),
        ("^(?!fake)(.*)|^fake.*echo.*$", ["grep", "glob", "weather", "echo"]),
        ("^fake_peek$|weather", ["weather", "peek"]),
        ("echo", ["echo"]),
        ("eek", []),
    ],
    ids=["none", "empty", "start", "excludes", "documented", "server", "tool", "middle"],
)
def test_tools_are_filtered_by_name_as_in_openhands(agent_with, tmp_path, pattern, expected):
    model = FakeModel(says("ok"), says("ok"))
    tools = ["think", "finish", "grep", "glob", weather]
    agent = agent_with(model, tools, mcp={"fake": fake_server(tmp_path)}, filter_tools_regex=pattern)
    agent.run_sync("go")
    agent.add_tools(note)
    agent.run_sync("on")
    for offered in model.offered:
        assert [name for name in NAMED if name in offered] == expected
        assert {"think", "finish"} <= set(offered)
    assert ("note" in model.offered[1]) is (not pattern or pattern.startswith("^(?!"))


def test_tools_of_the_settings_are_filtered_by_name(agent_with, local_sandbox):
    model = FakeModel(says("ok"))
    agent_with(model, filter_tools_regex="^(?!execute_|delegate)").run_sync("go")
    assert not [name for name in model.offered[0] if name.startswith(("execute_", "delegate"))]
    assert {"grep", "str_replace_editor", "finish"} <= set(model.offered[0])


def test_a_filter_that_is_no_pattern_is_refused(agent_with):
    with pytest.raises(UsageError, match="filter_tools_regex must be a regular expression"):
        agent_with(FakeModel(), ["grep"], filter_tools_regex="(")


def test_importing_the_package_costs_nothing():
    code = (
        "import sys, workbench, workbench.sdk; assert 'Agent' in dir(workbench); "
        "print([name for name in ('pydantic', 'asyncio', 'msgspec', 'litellm') if name in sys.modules]); "
        "from workbench import Agent; print([name for name in ('litellm', 'textual', 'mcp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_every_name_of_the_package_resolves():
    assert all(getattr(workbench.sdk, name) is not None for name in workbench.sdk.__all__)
    assert set(workbench._SDK) <= set(workbench.sdk.__all__)
    assert all(getattr(workbench, name) is getattr(workbench.tools, name) for name in workbench._TOOLS)
    assert workbench.agent.ToolCallAgent is ToolCallAgent
    assert workbench.RunResult is RunResult
    for module in (workbench, workbench.sdk, workbench.agent):
        with pytest.raises(AttributeError, match="Nothing"):
            module.Nothing  # noqa: B018


def test_decisions_are_recorded_like_those_of_the_user(agent_with):
    agent = agent_with(FakeModel(calls(("note", {"text": "a"})), says("ok")), [note], approve=lambda request: True)
    agent.run_sync("go")
    (decided,) = [event for event in agent.events() if isinstance(event, ActionDecided)]
    assert (decided.by, decided.verdict) == ("person", "approved")


class Client:
    """Something that no JSON can express."""

    def __str__(self) -> str:
        return "a client"


class Loose(Observation):
    """A result with any fields."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)
    client: Client | None = None


class Failing(Loose):
    """A result that cannot be shown."""

    @property
    def to_llm_content(self):
        raise RuntimeError("no words")


class Plain(Loose):
    """A result that gives its content as a text."""

    @property
    def to_llm_content(self):
        return "plain"


def circle():
    part: dict[str, Any] = {}
    part["part"] = part
    return part


def loose(**fields: Any) -> Loose:
    return Loose(**fields)


RESULTS: dict[str, tuple[Observation, str]] = {
    "object": (loose(content="seen", more=object()), "seen"),
    "field": (loose(content="seen", client=Client()), "seen"),
    "field without content": (loose(client=Client()), '{"client":"a client"}'),
    "binary": (loose(content="seen", more=b"\xff"), "seen"),
    "circle": (loose(content="seen", more=circle()), "seen"),
    "circle without content": (loose(more=circle(), count=2), '{"client":null,"count":2}'),
    "deep": (loose(content="seen", more=functools.reduce(lambda part, _: [part], range(3_000), 1)), "seen"),
    "surrogate": (loose(content="se\ud800en", more="\udc00"), "se\ufffden"),
    "large number": (loose(content="seen", more=10**400), "seen"),
    "names of files": (loose(content="seen", old_content=["a"], prev_content={"b": 1}), "seen"),
    "failing": (
        Failing(content="seen"),
        "seen\nThe tool has run, but its result cannot be shown: RuntimeError: no words.",
    ),
    "text": (Plain(), "plain"),
}


@pytest.mark.parametrize(("result", "text"), RESULTS.values(), ids=RESULTS)
def test_a_result_that_is_no_json_never_ends_the_session(agent_with, result, text):
    class Ask(Action):
        """Ask nothing."""

    search = ToolDefinition(
        name="search",
        description="Search.",
        action_type=Ask,
        observation_type=Loose,
        executor=lambda action: result,
        annotations=ToolAnnotations(readOnlyHint=True),
    )
    model = FakeModel(calls(("search", {})), says("Done."), says("Again."))
    agent = agent_with(model, [search])
    assert agent.run_sync("go").text == "Done."
    assert model.results == [text]
    agent.close()
    again = agent_with(FakeModel(says("Again.")), [search], session=agent.session_id)
    assert again.run_sync("and now").text == "Again."


@pytest.mark.parametrize("prompt", [5, b"go", ["go"], {"prompt": "go"}], ids=["number", "bytes", "list", "table"])
def test_a_prompt_that_is_no_text_is_refused_and_the_agent_can_go_on(agent_with, prompt):
    agent = agent_with(FakeModel(says("Done.")), [])
    for work in (agent.run_sync, agent.send):
        with pytest.raises(TypeError, match=f"a prompt is a text, not {type(prompt).__name__}"):
            work(prompt)
    assert agent.run_sync("go").text == "Done."


@pytest.mark.parametrize(("steps", "words"), [(1, "1 model call"), (2, "2 model calls")], ids=["one", "two"])
def test_a_limit_says_how_many_calls_there_were(agent_with, steps, words):
    model = FakeModel(*(calls(("weather", {"city": "Rome", "days": days})) for days in range(3)))
    result = agent_with(model, [weather], max_steps=steps).run_sync("go")
    assert str(result) == f"[limit] paused after {words} (max_steps). Send a message to continue"
