"""Sessions in an editor: loaded, listed, resumed, forked and closed; they are those of every other front end."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import acp
import pytest
from acp import schema

from tests.acp.editor import PATIENCE, choose, editor, editor_of_program, never, until
from tests.acp.test_prompts import decided, log
from tests.fakes.mcp_http import HttpServer, sse_server
from tests.mcp.conftest import fake_server
from tests.plain.test_plain import asked, leave
from tests.sandbox import Sandbox, bash, finish
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionObserved, RunEnded, SettingsChanged, UserMessage
from workbench.session.session_names import session_path, state_directory
from workbench.session.storage.cleanup import mark_for_editor
from workbench.session.storage.paging import WINDOW
from workbench.session.storage.session_list import find_session, list_sessions
from workbench.session.storage.store import Store


async def test_capabilities_are_those_that_work(sandbox: Sandbox):
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        answer = await ide.agent.initialize(protocol_version=9)
        able = answer.agent_capabilities
        assert answer.protocol_version == 1
        assert able.load_session
        assert (able.prompt_capabilities.image, able.prompt_capabilities.audio) == (True, False)
        assert able.session_capabilities.delete is None
        assert answer.field_meta == {"ohw": {"usesClientFiles": True, "usesClientTerminals": False}}


async def test_loaded_session_is_shown_from_its_start_and_continues(sandbox: Sandbox):
    model = sandbox.script({"text": "I look.", **bash("echo hi")}, finish("First."), finish("Second."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "go")
    async with editor(sandbox, "--model", model) as ide:
        await ide.agent.load_session(session_id=session, cwd=str(sandbox.project))
        assert ide.editor.said("user_message_chunk") == "go"
        assert ide.editor.said() == "I look.First."
        (call,) = ide.editor.calls().values()
        assert (call["title"], call["status"]) == ("echo hi", "completed")
        ide.editor.updates.clear()
        assert await ide.prompt(session, "more") == "end_turn"
        assert ide.editor.said() == "Second."
        assert ide.editor.said("user_message_chunk") == ""


async def test_resumed_session_continues_without_its_past(sandbox: Sandbox):
    model = sandbox.script(finish("First."), finish("Second."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "go")
    async with editor(sandbox, "--model", model) as ide:
        await ide.agent.resume_session(session_id=session, cwd=str(sandbox.project))
        assert ide.editor.said("user_message_chunk") == ""
        assert await ide.prompt(session, "more") == "end_turn"
        assert ide.editor.said() == "Second."


async def test_fork_continues_apart_from_its_session(sandbox: Sandbox):
    model = sandbox.script(finish("First."), finish("Second."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "go")
        fork = (await ide.agent.fork_session(session_id=session, cwd=str(sandbox.project))).session_id
        assert fork != session
        assert await ide.prompt(fork, "elsewhere") == "end_turn"
        assert ide.editor.said() == "First.Second."
    by_id = {each.id: each for each in list_sessions(sandbox.locations)}
    assert by_id[fork].forked_from == session


async def test_closed_session_ends_its_run_and_can_be_loaded_again(sandbox: Sandbox):
    model = sandbox.script(bash("sleep 600"), finish("Again."))
    async with editor(sandbox, "--model", model, "--mode", "high") as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(ide.editor.calls, "the command")
        await ide.agent.close_session(session_id=session)
        assert await prompt == "cancelled"
        await until(lambda: not sandbox.engines(), "the engine to end")
        with pytest.raises(acp.RequestError, match="is not open here"):
            await ide.prompt(session, "more")
        await ide.agent.load_session(session_id=session, cwd=str(sandbox.project))
        assert await ide.prompt(session, "more") == "end_turn"


@pytest.mark.parametrize("how", ["load", "resume"])
async def test_session_without_a_message_outlives_the_agents_process(sandbox: Sandbox, how: str):
    model = sandbox.script(finish("Here."))
    async with editor_of_program(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.agent.set_session_mode(session_id=session, mode_id="plan")
        ide.process.kill()
    await until(lambda: not sandbox.engines(), "the engine to end")
    assert list_sessions(sandbox.locations) == []
    assert find_session(sandbox.locations, session).id == session
    async with editor(sandbox, "--model", model) as ide:
        assert (await ide.agent.list_sessions()).sessions == []
        with pytest.raises(acp.RequestError, match=r"the session works in .*project"):
            await ide.agent.load_session(session_id=session, cwd=str(sandbox.home))
        opened = await getattr(ide.agent, f"{how}_session")(session_id=session, cwd=str(sandbox.project))
        assert opened.modes.current_mode_id == "plan"
        assert await ide.prompt(session, "hello") == "end_turn"
        assert ide.editor.said().startswith("Here.")
    assert [each.id for each in list_sessions(sandbox.locations)] == [session]


async def test_session_whose_engine_never_started_is_loaded_as_an_empty_one(sandbox: Sandbox):
    name = "20260101-project-1a2b"
    mark_for_editor(sandbox.locations, name, sandbox.project)
    async with editor(sandbox, "--model", sandbox.script(finish("Here."))) as ide:
        with pytest.raises(acp.RequestError, match=r"the session works in .*project"):
            await ide.agent.load_session(session_id=name, cwd=str(sandbox.home))
        await ide.agent.load_session(session_id=name, cwd=str(sandbox.project))
        assert await ide.prompt(name, "hello") == "end_turn"
        assert ide.editor.said() == "Here."


@pytest.mark.parametrize("is_loaded", [False, True])
async def test_session_that_is_closed_without_a_message_leaves_nothing(sandbox: Sandbox, *, is_loaded: bool):
    model = sandbox.script(finish())
    async with editor_of_program(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.agent.set_session_mode(session_id=session, mode_id="plan")
        if not is_loaded:
            await ide.agent.close_session(session_id=session)
    await until(lambda: not sandbox.engines(), "the engine to end")
    async with editor_of_program(sandbox, "--model", model) as ide:
        if is_loaded:
            await ide.agent.load_session(session_id=session, cwd=str(sandbox.project))
            await ide.agent.close_session(session_id=session)
            await until(lambda: not sandbox.engines(), "the engine to end")
        with pytest.raises(acp.RequestError, match=r"no session .*without a message is deleted"):
            await ide.agent.load_session(session_id=session, cwd=str(sandbox.project))
    assert not session_path(sandbox.locations, session).exists()
    assert not state_directory(sandbox.locations, session).exists()


async def test_sessions_are_listed_by_directory_in_pages(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    model = sandbox.script(finish("Hello."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "say hello")
        (listed,) = (await ide.agent.list_sessions(cwd=str(sandbox.project))).sessions
        assert (listed.session_id, listed.title, listed.cwd) == (session, "say hello", str(sandbox.project))
        assert (await ide.agent.list_sessions(cwd=str(sandbox.home))).sessions == []
        with pytest.raises(acp.RequestError, match="no cursor"):
            await ide.agent.list_sessions(cursor="nonsense")


@pytest.mark.parametrize(
    ("name", "directory", "message"),
    [
        ("nonsense", "project", "no session 'nonsense'; one closed without a message is deleted"),
        ("", "home", "the session works in .*project"),
    ],
)
async def test_session_that_cannot_be_loaded_is_an_error(sandbox: Sandbox, name: str, directory: str, message: str):
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "go")
        with pytest.raises(acp.RequestError, match=message):
            await ide.agent.load_session(session_id=name or session, cwd=str(getattr(sandbox, directory)))


async def test_question_left_open_by_one_editor_is_asked_by_the_next(sandbox: Sandbox):
    model = sandbox.script(bash("touch made", "HIGH"), finish("Made."))
    async with editor_of_program(sandbox, "--model", model, "--mode", "ask", answers=(never,)) as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(lambda: ide.editor.asked, "the question")
        ide.process.kill()
        with pytest.raises(ConnectionError):
            await prompt
    async with editor(sandbox, "--model", model, answers=(choose("Allow once"),)) as ide:
        await ide.agent.load_session(session_id=session, cwd=str(sandbox.project))
        assert ide.editor.asked == []
        assert await ide.prompt(session, "well?") == "end_turn"
        assert [each.tool_call.title for each in ide.editor.asked] == ["▲ HIGH: touch made"]
    assert (sandbox.project / "made").exists()


async def test_session_of_an_editor_opens_in_a_terminal_and_back(sandbox: Sandbox):
    model = sandbox.script(finish("From the editor."), finish("From the terminal."), finish("Back."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "one")
    with Terminal(("resume", session, "--plain"), 100, 150, sandbox.env) as terminal:
        terminal.wait_for("From the editor.")
        asked(terminal, "\n>")
        terminal.type("two\n")
        terminal.wait_for("From the terminal.")
        leave(terminal)
    async with editor(sandbox, "--model", model) as ide:
        await ide.agent.load_session(session_id=session, cwd=str(sandbox.project))
        assert ide.editor.said("user_message_chunk") == "onetwo"
        assert await ide.prompt(session, "three") == "end_turn"
        assert ide.editor.said() == "From the editor.From the terminal.Back."


async def test_session_of_an_editor_opens_on_the_screen(sandbox: Sandbox):
    model = sandbox.script({"text": "I look."} | bash("echo hi"), finish("From the editor."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "one")
    with Terminal(("resume", session), 120, 34, sandbox.env) as terminal:
        terminal.wait_for("From the editor.")
        assert "echo hi" in terminal.text()


async def test_long_session_is_shown_whole(sandbox: Sandbox):
    async with editor(sandbox, "--model", sandbox.script(finish("The end."))) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "0,")
        await ide.agent.close_session(session_id=session)
        await until(lambda: not sandbox.engines(), "the engine to end")
        with Store.open(session_path(sandbox.locations, session)) as store:
            runs = ((UserMessage(text=f"{number},"), RunEnded(reason="finished")) for number in range(1, WINDOW))
            store.append(*itertools.chain(*runs))
        await ide.agent.load_session(session_id=session, cwd=str(sandbox.project))
        numbers = ide.editor.said("user_message_chunk").split(",")[:-1]
        assert numbers == [str(number) for number in range(WINDOW)]


async def test_editor_follows_a_screen_until_it_takes_control(sandbox: Sandbox):
    model = sandbox.script(finish("One."), finish("Two."), finish("Three."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "go")
        with Terminal(("attach", session, "--plain"), 100, 150, sandbox.env) as terminal:
            terminal.wait_for("One.")
            terminal.type("/pen\n")
            terminal.wait_for("control")
            asked(terminal, "\n>")
            terminal.type("from here\n")
            terminal.wait_for("Two.")
            await until(lambda: "Two." in ide.editor.said(), "the answer in the editor")
            assert ide.editor.said("user_message_chunk") == "from here"
            with pytest.raises(acp.RequestError, match="/pen takes control"):
                await ide.prompt(session, "and here")
            assert await ide.prompt(session, "/pen") == "end_turn"
            assert await ide.prompt(session, "and here") == "end_turn"
            leave(terminal)


async def test_mode_is_changed_and_the_editor_is_told(sandbox: Sandbox):
    async with editor(
        sandbox, "--model", sandbox.script(bash("touch made"), finish()), answers=(choose("Rej"),)
    ) as ide:
        answer = await ide.agent.new_session(cwd=str(sandbox.project))
        session = answer.session_id
        assert answer.modes.current_mode_id == "medium"
        assert [each.id for each in answer.modes.available_modes] == ["plan", "ask", "medium", "edits", "high"]
        await ide.agent.set_session_mode(session_id=session, mode_id="ask")
        (update,) = ide.editor.of_kind("current_mode_update")
        assert update.current_mode_id == "ask"
        await ide.prompt(session, "go")
        assert len(ide.editor.asked) == 1


@pytest.mark.parametrize(("mode", "message"), [("never", "has to be confirmed"), ("nonsense", "there is no mode")])
async def test_mode_that_cannot_be_set_is_an_error(sandbox: Sandbox, mode: str, message: str):
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        session = await ide.new(sandbox)
        with pytest.raises(acp.RequestError, match=message):
            await ide.agent.set_session_mode(session_id=session, mode_id=mode)
        assert await ide.prompt(session, "go") == "end_turn"


async def test_mode_that_never_asks_is_not_taken_from_a_flag(sandbox: Sandbox):
    model = sandbox.script(bash("rm -rf x", "HIGH"), finish())
    async with editor(sandbox, "--model", model, "--mode", "never", answers=(choose("Reject"),)) as ide:
        answer = await ide.agent.new_session(cwd=str(sandbox.project))
        assert answer.modes.current_mode_id == "medium"
        await ide.prompt(answer.session_id, "go")
        assert "so this session is not in that mode" in ide.editor.said()


async def test_model_is_chosen_among_the_saved_ones(sandbox: Sandbox):
    sandbox.locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text('[models.small]\nmodel = "scripted/demo"\n')
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        answer = await ide.agent.new_session(cwd=str(sandbox.project))
        _, option = answer.config_options
        assert (option.category, [each.value for each in option.options][1:]) == ("model", ["small"])
        changed = await ide.agent.set_config_option(session_id=answer.session_id, config_id="model", value="small")
        assert changed.config_options[1].current_value == "small"
        with pytest.raises(acp.RequestError, match="none of the models"):
            await ide.agent.set_config_option(session_id=answer.session_id, config_id="model", value="gpt-17")
        await ide.prompt(answer.session_id, "go")
    assert [each.model for each in log(sandbox) if isinstance(each, SettingsChanged)] == ["small"]


async def test_plan_is_approved_with_a_command(sandbox: Sandbox):
    model = sandbox.script({"text": "I would look."} | bash("ls"), finish("The plan."), finish("Done as planned."))
    async with editor(sandbox, "--model", model, "--mode", "plan") as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "plan it")
        assert "The plan is ready. /approve runs it in Ask (medium+)" in ide.editor.said()
        assert await ide.prompt(session, "/approve") == "end_turn"
        assert ide.editor.said().endswith("Done as planned.")
        with pytest.raises(acp.RequestError, match="no plan waits"):
            await ide.prompt(session, "/approve")


async def test_custom_commands_are_offered_and_expanded(sandbox: Sandbox):
    directory = sandbox.locations.commands
    directory.mkdir(parents=True)
    (directory / "review.md").write_text("---\ndescription: review a file\nargument-hint: file\n---\nReview $1.\n")
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        session = await ide.new(sandbox)
        (offered,) = await until(lambda: ide.editor.of_kind("available_commands_update"), "the commands")
        names = [each.name for each in offered.available_commands]
        assert names == ["approve", "compact", "sandbox", "pen", "review"]
        await ide.prompt(session, "/review a.py")
        await ide.prompt(session, "/sandbox")
        assert "sandbox" in ide.editor.said()
    (message,) = [each for each in log(sandbox) if isinstance(each, UserMessage)]
    assert message.text == "Review a.py."


async def test_tasks_are_the_plan(sandbox: Sandbox):
    tasks = [{"id": "1", "title": "Look", "status": "done"}, {"id": "2", "title": "Write", "status": "todo"}]
    plan = {"tool": "task_tracker", "arguments": {"command": "plan", "task_list": tasks}}
    async with editor(sandbox, "--model", sandbox.script(plan, finish())) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        (update,) = ide.editor.of_kind("plan")
        assert [(each.content, each.status) for each in update.entries] == [("Look", "completed"), ("Write", "pending")]


async def test_server_of_the_editor_has_its_tools_in_the_session(sandbox: Sandbox, tmp_path):
    written = fake_server(tmp_path)
    server = schema.McpServerStdio(name="fake", command=written["command"], args=written["args"], env=[])
    call = {"tool": "echo", "arguments": {"text": "hello"}}
    model = sandbox.script(*[call, finish()] * 30)
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(choose("Allow once"),)) as ide:
        session = await ide.new(sandbox, mcp_servers=[server])
        while not ide.editor.asked:  # a new server has a second to list its tools before the first model call
            assert await ide.prompt(session, "go") == "end_turn"
    results = [each.observation for each in log(sandbox) if isinstance(each, ActionObserved) and each.ran]
    assert "hello" in str(results)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_server_of_the_editor_may_be_a_url(sandbox: Sandbox, transport: str):
    key = schema.HttpHeader(name="Authorization", value="Bearer of-the-editor")
    call = {"tool": "echo", "arguments": {"text": "hello"}}
    model = sandbox.script(*[call, finish()] * 30)
    answers = (choose("Allow once"),)
    with HttpServer() as remote, sse_server() as sse:
        if transport == "http":
            server: Any = schema.HttpMcpServer(type="http", name="web", url=remote.url, headers=[key])
        else:
            server = schema.SseMcpServer(type="sse", name="web", url=sse, headers=[])
        async with editor(sandbox, "--model", model, "--mode", "ask", answers=answers) as ide:
            session = await ide.new(sandbox, mcp_servers=[server])
            while not ide.editor.asked:  # a new server has a second to list its tools before the first model call
                assert await ide.prompt(session, "go") == "end_turn"
    results = [each.observation for each in log(sandbox) if isinstance(each, ActionObserved) and each.ran]
    assert "hello" in str(results)
    if transport == "http":
        assert {headers.get("authorization") for _, _, headers in remote.requests} == {"Bearer of-the-editor"}


async def test_editor_without_a_model_is_told_to_set_one_up(sandbox: Sandbox):
    async with editor(sandbox) as ide:
        with pytest.raises(acp.RequestError, match="no model is set") as error:
            await ide.new(sandbox)
        assert error.value.code == -32000
        with pytest.raises(acp.RequestError, match="no model is set"):
            await ide.agent.authenticate(method_id="ohw-settings")


async def test_files_of_an_untrusted_directory_are_ignored_and_named(sandbox: Sandbox):
    tools = sandbox.project / ".ohw" / "tools"
    tools.mkdir(parents=True)
    (tools / "mine.py").write_text("raise SystemExit('it ran')\n")
    async with editor(sandbox, "--model", sandbox.script(finish("Hello."))) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        assert "This directory has its own tools and rules, which are ignored" in ide.editor.said()


async def test_prompt_survives_the_end_of_the_engine(sandbox: Sandbox):
    model = sandbox.script(bash("sleep 600"), finish("Again."))
    async with editor(sandbox, "--model", model, "--mode", "high") as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(ide.editor.calls, "the command")
        sandbox.engine().kill()
        with pytest.raises(acp.RequestError, match="agent process stopped"):
            await asyncio.wait_for(prompt, PATIENCE)
        assert await ide.prompt(session, "more") == "end_turn"
        assert ide.editor.said().endswith("Again.")
    assert decided(sandbox) == []
