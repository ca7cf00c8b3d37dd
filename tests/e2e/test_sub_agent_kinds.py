"""Kinds of sub-agents end to end: the real binary against real servers, and what the screen shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.test_models import KEYS, write_profiles
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Request, Turn, bash, finish
from tests.sandbox import Sandbox
from tests.sandbox import bash as scripted_bash
from tests.sandbox import finish as scripted_finish
from tests.subagent_scripts import delegating
from tests.terminal.terminal import Terminal
from workbench.session.storage.session_list import list_sessions
from workbench.tools.trust import AGENTS, agree, fingerprint

KIND = "---\nname: tester\ndescription: Runs the tests.\ntools: terminal\n{0}\n---\nRun the tests twice.\n"
ALWAYS = {"finish", "think", "task_tracker", "request_condensation"}


def define(sandbox: Sandbox, more: str = "", *, is_trusted: bool = True) -> None:
    path = sandbox.project / AGENTS[0] / "tester.md"
    path.parent.mkdir(parents=True)
    path.write_text(KIND.format(more))
    if is_trusted:
        agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))


def delegated(name: str, **arguments: str) -> Turn:
    return Turn(calls=(Called(name, arguments),))


def tools_in(request: Request) -> dict[str, dict[str, Any]]:
    return {tool["function"]["name"]: tool["function"] for tool in request.body["tools"]}


def run(sandbox: Sandbox, server: ModelServer, *more: str):
    arguments = ("--model", "openai/fake", "--api-base", server.base_url, "--mode", "never", "--json")
    done = sandbox.agent("run", "go", *arguments, *more, OPENAI_API_KEY="sk-of-the-test")
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("name", ["delegate_to_reviewer_agent", "delegate_to_reviewer"])
def test_tool_name_of_other_agents_starts_the_kind(sandbox: Sandbox, name):
    turns = [delegated(name, task="Review it."), bash("touch made"), finish("Nothing is wrong."), finish()]
    with ModelServer(turns) as server:
        done = run(sandbox, server)
    first, second, third, last = server.requests
    assert "- reviewer: Reviews changes or files" in tools_in(first)["delegate"]["description"]
    assert set(tools_in(second)) == {"execute_bash", "str_replace_editor", "glob", "grep", *ALWAYS}
    assert "# Your part: reviewer\n\nYou review code" in second.messages[0]["content"]
    assert "Review it." in second.messages[1]["content"]
    assert "for the sub-agent reviewer only calls that change nothing" in third.messages[-1]["content"]
    assert not (sandbox.project / "made").exists()
    assert "Nothing is wrong." in last.messages[-1]["content"]
    assert "# Your part" not in last.messages[0]["content"]
    observed = [json.loads(line) for line in done.stdout.splitlines() if '"its kind' in line or '"definition"' in line]
    assert observed[0]["observation"]["definition"].startswith("built-in · read-only · tools: execute_bash")


def test_any_other_name_starts_a_general_sub_agent(sandbox: Sandbox):
    turns = [delegated("delegate", agent="helper", inputs="Help."), bash("touch made"), finish("Helped."), finish()]
    with ModelServer(turns) as server:
        run(sandbox, server)
    parent, child = (set(tools_in(request)) for request in server.requests[:2])
    assert child == parent - {"delegate"}
    assert (sandbox.project / "made").exists()


def test_kind_of_a_trusted_project_uses_its_tools_prompt_and_saved_model(sandbox: Sandbox):
    first = [delegated("delegate", agent="tester", inputs="Test it."), finish("All is done.")]
    with ModelServer(first) as one, ModelServer([bash("echo key=$TWO_KEY="), finish("Tested.")]) as two:
        write_profiles(sandbox, one, two)
        file = sandbox.locations.settings_file
        file.write_text(file.read_text().replace('calls = "text"', ""))
        define(sandbox, f"model: two\napi_base: http://127.0.0.1:1\napi_key: {KEYS['ONE_KEY']}")
        done = sandbox.agent("run", "go", "--model", "one", "--json", **KEYS)
    assert done.returncode == 0, done.stderr
    assert {request.headers["Authorization"] for request in two.requests} == {"Bearer sk-second-secret"}
    assert "Run the tests twice." in two.requests[0].messages[0]["content"]
    assert "Tested." in one.requests[1].messages[-1]["content"]
    assert "- tester: Runs the tests." in tools_in(one.requests[0])["delegate"]["description"]
    assert done.stderr.count("tester.md: not used: api_base, api_key") == 1
    assert "key==" in done.stdout
    assert "Test it." not in str(one.requests[1].messages[0])


def test_kind_of_an_untrusted_project_is_neither_offered_nor_read(sandbox: Sandbox):
    define(sandbox, is_trusted=False)
    with ModelServer([delegated("delegate", agent="tester", inputs="Go."), finish("General."), finish()]) as server:
        done = run(sandbox, server)
    assert "tester" not in tools_in(server.requests[0])["delegate"]["description"]
    assert all("Run the tests twice." not in str(request.body) for request in server.requests)
    assert f"the sub-agents in {sandbox.project / AGENTS[0]} are ignored: the directory is not trusted" in done.stderr


def test_screen_asks_whether_to_trust_the_kinds_of_a_project(sandbox: Sandbox):
    define(sandbox, is_trusted=False)
    arguments = ["--model", sandbox.script(scripted_finish("All done.")), "--workspace", str(sandbox.project)]
    with Terminal(arguments, 120, 40, sandbox.env) as terminal:
        terminal.wait_for("Trust this directory?")
        terminal.wait_for(".agents/agents/tester.md")
        terminal.wait_for("a sub-agent: instructions and tools")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_tools_are_listed_with_the_kinds_of_sub_agents(sandbox: Sandbox):
    define(sandbox, "model: opus")
    own = sandbox.locations.agents
    own.mkdir(parents=True)
    (own / "mine.md").write_text("---\nname: mine\ndescription: My own.\nread_only: true\n---\nDo.\n")
    done = sandbox.command("tools")
    path = sandbox.project / AGENTS[0] / "tester.md"
    assert f"tester                 on: a kind of sub-agent, {path}\n  tools: terminal · model: opus\n" in done.stdout
    assert f"mine                   on: a kind of sub-agent, {own / 'mine.md'}\n  read-only · all tools" in done.stdout
    assert "reviewer               on: a kind of sub-agent, built-in\n  read-only · tools: execute_bash" in done.stdout
    assert f"{path}: model: opus is not a saved model" in done.stderr
    listed = json.loads(sandbox.command("tools", "--json", "--all").stdout)
    kinds = {entry["name"]: entry for entry in listed if entry["from"] == "Sub-agents"}
    assert list(kinds) == ["browsing", "explorer", "mine", "reviewer", "tester"]
    assert kinds["tester"]["description"] == "Runs the tests.\n\nRun the tests twice."
    plain = json.loads(sandbox.command("tools", "--json").stdout)
    assert not {"reviewer", "tester"} & {entry["name"] for entry in plain}


def test_screen_shows_the_kind_of_the_settings_and_what_it_has(sandbox: Sandbox):
    file = sandbox.locations.settings_file
    file.parent.mkdir(parents=True)
    file.write_text('[agents.tester]\ndescription = "Runs tests."\ntools = ["terminal"]\nread_only = true\n')
    model = delegating(
        sandbox.home / "script.toml", {"tester": [scripted_bash("touch made"), scripted_finish("Tested.")]}
    )
    arguments = ("share it", "--model", model, "--workspace", str(sandbox.project), "--mode", "high")
    with Terminal(arguments, 130, 40, sandbox.env) as terminal:
        terminal.wait_for("✓ Finished")
        terminal.wait_for("↳ tester · ")
        terminal.press(*"/tools", "enter")
        terminal.wait_for("Sub-agents")
        terminal.press("end", "up")
        terminal.wait_for("read-only · tools: terminal")
        terminal.press("escape", "ctrl+q")
        assert terminal.wait_exit() == 0
    assert not (sandbox.project / "made").exists()
    (child,) = [entry for entry in list_sessions(sandbox.locations) if entry.parent]
    assert child.agent == "tester"
    assert "tester, sub-agent of" in sandbox.command("sessions").stdout
