"""A session in an editor: the prompt is answered when its run ends, and what happens meanwhile arrives as updates."""

from __future__ import annotations

import asyncio

import acp
import pytest

from tests.acp.editor import PATIENCE, cancelled, choose, editor, editor_of_program, never, selected, until
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.sandbox import Sandbox, bash, finish
from tests.subagent_scripts import delegating
from workbench.protocol.events import ActionDecided, Event, UserMessage
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


def log(sandbox: Sandbox) -> list[Event]:
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        return list(store.events())


def decided(sandbox: Sandbox) -> list[ActionDecided]:
    return [event for event in log(sandbox) if isinstance(event, ActionDecided) and event.by == "person"]


def edit(old: str, new: str) -> dict:
    arguments = {"command": "str_replace", "path": "{workspace}/a.txt", "old_str": old, "new_str": new}
    return {"tool": "str_replace_editor", "risk": "MEDIUM", "summary": "Say it better", "arguments": arguments}


async def test_prompt_streams_text_shows_calls_and_ends(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    view = {"tool": "str_replace_editor", "arguments": {"command": "view", "path": "{workspace}/a.txt"}}
    model = sandbox.script({"text": "I look.", "reasoning": "Hm.", **view}, bash("echo hi"), finish("All good."))
    async with editor_of_program(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        assert await ide.prompt(session, "go") == "end_turn"
        assert ide.editor.said() == "I look.All good."
        assert ide.editor.said("agent_thought_chunk") == "Hm."
        read, command = ide.editor.calls().values()
        assert (read["kind"], read["status"]) == ("read", "completed")
        assert read["locations"][0]["path"] == str(sandbox.project / "a.txt")
        assert (command["title"], command["kind"], command["status"]) == ("echo hi", "execute", "completed")
        assert command["content"][0]["content"]["text"] == "```\nhi\n```"
        assert ide.editor.asked == []


async def test_edit_is_asked_about_with_its_diff_its_risk_and_the_reasons(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    model = sandbox.script(edit("two", "three"), finish())
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(choose("Allow once"),)) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        (asked,) = ide.editor.asked
        assert asked.diffs == [(str(sandbox.project / "a.txt"), "one\ntwo\n", "one\nthree\n")]
        assert asked.tool_call.title == "◆ MEDIUM: Edit a.txt"
        assert 'Why asked: mode "Ask every time". The model says MEDIUM: "Say it better".' in asked.text
        assert [each.line for each in asked.tool_call.locations] == [2]
        (call,) = ide.editor.calls().values()
        assert (call["status"], call["content"][0]["new_text"]) == ("completed", "one\nthree\n")
    assert (sandbox.project / "a.txt").read_text() == "one\nthree\n"
    assert [(each.verdict, each.by) for each in decided(sandbox)] == [("approved", "person")]


async def test_invisible_characters_of_a_change_are_shown_as_escapes(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    model = sandbox.script(edit("two", "t\u202ewo"), finish())
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(choose("Reject"),)) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        assert r"+ t\u202ewo" in ide.editor.asked[0].text


async def test_rejected_action_does_not_run_and_the_run_continues(sandbox: Sandbox):
    model = sandbox.script(bash("touch made", "HIGH"), finish("Then not."))
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(choose("Reject"),)) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        assert ide.editor.said() == "Then not."
        (call,) = ide.editor.calls().values()
        assert (call["status"], call["content"][0]["content"]["text"]) == ("failed", "rejected by you")
    assert not (sandbox.project / "made").exists()


async def test_user_rejects_and_says_why_with_the_next_prompt(sandbox: Sandbox):
    model = sandbox.script(bash("touch made", "HIGH"), finish("As you say."))
    answers = (choose("Reject and stop"),)
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=answers) as ide:
        session = await ide.new(sandbox)
        assert await ide.prompt(session, "go") == "end_turn"
        assert ide.editor.said() == ""
        assert await ide.prompt(session, "because it is spring") == "end_turn"
        assert ide.editor.said() == "As you say."
    assert [each.verdict for each in decided(sandbox)] == ["rejected"]
    assert [each.text for each in log(sandbox) if isinstance(each, UserMessage)] == ["go", "because it is spring"]


async def test_always_names_the_exact_rule_and_the_next_action_is_not_asked_about(sandbox: Sandbox):
    model = sandbox.script(bash("python3 -m unittest"), bash("python3 -m unittest"), finish())
    answers = (choose("Always allow in this session: allow $ python3 -m unittest"),)
    async with editor(sandbox, "--model", model, "--sandbox", "off", answers=answers) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        assert len(ide.editor.asked) == 1
        kinds = {each.kind for each in ide.editor.asked[0].options}
        assert kinds == {"allow_once", "allow_always", "reject_once"}
        assert [each["status"] for each in ide.editor.calls().values()] == ["completed"]


async def test_cancel_stops_a_command_and_the_session_goes_on(sandbox: Sandbox):
    model = sandbox.script(bash("echo started; sleep 600"), finish("Again."))
    async with editor(sandbox, "--model", model, "--mode", "high") as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(lambda: "started" in str(ide.editor.calls()), "the command to print")
        await ide.agent.cancel(session_id=session)
        assert await prompt == "cancelled"
        assert await ide.prompt(session, "once more") == "end_turn"
        assert ide.editor.said() == "Again."


async def test_cancel_while_a_question_is_open_decides_nothing(sandbox: Sandbox):
    model = sandbox.script(bash("touch made", "HIGH"), finish("Again."))
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(never,)) as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(lambda: ide.editor.asked, "the question")
        await ide.agent.cancel(session_id=session)
        assert await prompt == "cancelled"
        assert await ide.prompt(session, "once more") == "end_turn"
    assert decided(sandbox) == []
    assert not (sandbox.project / "made").exists()


@pytest.mark.parametrize("answer", [cancelled, lambda asked: selected("yes"), lambda asked: selected("1-once")])
async def test_answer_that_was_not_offered_decides_nothing_and_is_asked_again(sandbox: Sandbox, answer):
    model = sandbox.script(bash("touch made", "HIGH"), finish())
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(answer, choose("Allow once"))) as ide:
        session = await ide.new(sandbox)
        assert await ide.prompt(session, "go") == "end_turn"
        assert "nothing was decided. You are asked again with your next message." in ide.editor.said()
        assert not (sandbox.project / "made").exists()
        assert await ide.prompt(session, "well?") == "end_turn"
    assert (sandbox.project / "made").exists()
    assert [each.verdict for each in decided(sandbox)] == ["approved"]


async def test_late_answer_to_a_cancelled_question_decides_nothing(sandbox: Sandbox):
    is_late = asyncio.Event()

    async def late(asked):
        await is_late.wait()
        return selected(asked.option("Allow once"))

    model = sandbox.script(bash("touch made", "HIGH"), finish("Again."))
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(late,)) as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(lambda: ide.editor.asked, "the question")
        await ide.agent.cancel(session_id=session)
        assert await prompt == "cancelled"
        is_late.set()
        assert await ide.prompt(session, "once more") == "end_turn"
    assert decided(sandbox) == []
    assert not (sandbox.project / "made").exists()


async def test_editor_that_disconnects_leaves_the_question_open(sandbox: Sandbox):
    model = sandbox.script(bash("touch made", "HIGH"), finish())
    async with editor_of_program(sandbox, "--model", model, "--mode", "ask", answers=(never,)) as ide:
        prompt = asyncio.create_task(ide.prompt(await ide.new(sandbox), "go"))
        await until(lambda: ide.editor.asked, "the question")
        ide.process.stdin.close()
        assert await asyncio.wait_for(ide.process.wait(), PATIENCE) == 0
        with pytest.raises(ConnectionError):
            await prompt
    await until(lambda: not sandbox.engines(), "the engine to end")
    (session,) = list_sessions(sandbox.locations)
    assert session.waiting == 1
    assert decided(sandbox) == []


async def test_second_prompt_is_refused_while_one_runs(sandbox: Sandbox):
    model = sandbox.script(bash("sleep 600"), finish())
    async with editor(sandbox, "--model", model, "--mode", "high") as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(ide.editor.calls, "the command")
        with pytest.raises(acp.RequestError, match="a prompt of this session is still running"):
            await ide.prompt(session, "and this")
        await ide.agent.cancel(session_id=session)
        assert await prompt == "cancelled"


async def test_agent_asks_and_the_next_prompt_is_the_answer(sandbox: Sandbox):
    question = {"tool": "ask_human", "arguments": {"question": "Which color?", "options": ["red", "blue"]}}
    model = sandbox.script(question, finish("Blue it is."))
    async with editor(sandbox, "--model", model) as ide:
        session = await ide.new(sandbox)
        assert await ide.prompt(session, "paint") == "end_turn"
        assert "Which color?\n\n1. red\n2. blue" in ide.editor.said()
        assert await ide.prompt(session, "2") == "end_turn"
        assert ide.editor.said().endswith("Blue it is.")
    results = [event.observation for event in log(sandbox) if event.kind == "action_observed"]
    assert "blue" in str(results[0])


@pytest.mark.parametrize(
    ("cwd", "message"),
    [
        ("/no/such/directory", "does not exist"),
        ("relative", "absolute path"),
    ],
)
async def test_directory_that_cannot_be_used_is_an_error(sandbox: Sandbox, cwd: str, message: str):
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        with pytest.raises(acp.RequestError, match=message):
            await ide.agent.new_session(cwd=cwd)
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"


async def test_run_that_reaches_a_limit_says_so(sandbox: Sandbox):
    model = sandbox.script(bash("true"), bash("true"), finish())
    async with editor(sandbox, "--model", model, "--max-steps", "1") as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "max_turn_requests"
        assert "paused after 1 model call" in ide.editor.said()


async def test_rejected_key_is_an_error_that_asks_to_set_up_a_model(sandbox: Sandbox):
    with ModelServer(key="sk-of-the-server") as server:
        async with editor(sandbox, "--model", "openai/small", "--api-base", server.base_url) as ide:
            session = await ide.new(sandbox)
            with pytest.raises(acp.RequestError, match="rejected the API key") as error:
                await ide.prompt(session, "go")
            assert error.value.code == -32000


async def test_failed_model_is_an_error(sandbox: Sandbox):
    async with editor(sandbox, "--model", "openai/small", "--api-base", "http://127.0.0.1:9") as ide:
        session = await ide.new(sandbox)
        with pytest.raises(acp.RequestError) as error:
            await ide.prompt(session, "go")
        assert error.value.code == -32603


async def test_usage_tells_how_full_the_context_is(sandbox: Sandbox):
    with ModelServer([Turn(calls=(Called("finish", {"message": "Done."}),))]) as server:
        args = ("--model", "openai/small", "--api-base", server.base_url)
        sandbox.env["OHW_CONTEXT_WINDOW"] = "9000"
        async with editor(sandbox, *args) as ide:
            await ide.prompt(await ide.new(sandbox), "go")
            (update,) = ide.editor.of_kind("usage_update")
            assert (update.used, update.size) == (100, 9000)


async def test_title_of_a_question_is_replaced_once_it_is_answered(sandbox: Sandbox):
    model = sandbox.script(bash("echo hi"), finish())
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=(choose("Allow once"),)) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        first, second, *_ = [each for each in ide.editor.updates if each.session_update.startswith("tool_call")]
        assert (first.title, second.title, second.content) == ("echo hi", "echo hi", [])


async def test_question_of_a_sub_agent_names_it(sandbox: Sandbox):
    agents = {"writer": [bash("touch made", "HIGH"), finish("I made it.")]}
    model = delegating(sandbox.home / "script.toml", agents)
    async with editor(sandbox, "--model", model, answers=(choose("Allow once"),)) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        (asked,) = ide.editor.asked
        assert asked.tool_call.title == "▲ HIGH: writer: touch made"
        assert "Asked for the sub-agent writer." in asked.text
        assert ide.editor.calls()["writer: touch made"]["status"] == "completed"
        assert ide.editor.said() == "All is done."
    assert (sandbox.project / "made").exists()


async def test_two_sessions_of_an_editor_run_at_once(sandbox: Sandbox):
    model = sandbox.script(bash("until test -e go; do sleep 0.05; done"), finish("Done."))
    async with editor(sandbox, "--model", model, "--mode", "high") as ide:
        sessions = [await ide.new(sandbox) for _ in range(2)]
        prompts = [asyncio.create_task(ide.prompt(each, "wait")) for each in sessions]
        await until(lambda: len(ide.editor.of_kind("tool_call")) == 2, "both commands")
        (sandbox.project / "go").touch()
        assert await asyncio.gather(*prompts) == ["end_turn", "end_turn"]


async def test_unknown_session_is_an_error(sandbox: Sandbox):
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        with pytest.raises(acp.RequestError, match="'nonsense' is not open here"):
            await ide.prompt("nonsense", "go")


async def test_session_of_an_editor_is_listed_as_any_other(sandbox: Sandbox):
    async with editor(sandbox, "--model", sandbox.script(finish("Hello."))) as ide:
        session = await ide.new(sandbox)
        await ide.prompt(session, "say hello")
    listed = sandbox.command("sessions").stdout
    assert session in listed
    assert "say hello" in listed


def test_terminal_is_told_that_an_editor_starts_the_command(sandbox: Sandbox):
    done = sandbox.ohw("acp", "--model", "scripted/demo", stdin="")
    assert (done.returncode, done.stdout) == (0, "")
