"""A tool whose program is not installed names other tools of the session that can do the same."""

import json
import os
import sys

import pytest

from tests.mcp.mcp_session import mcp_harness
from tests.sandbox import bash, finish
from tests.session.fake_agent import calls, says
from tests.session.test_subagents import Place
from tests.tools.web.site import Site
from workbench.config.settings import Settings
from workbench.protocol.events import ActionObserved
from workbench.session.session_factory import start_session
from workbench.tools.alternatives import _OTHERS, alternatives, need_of_server
from workbench.tools.manifest import ALL_TOOLS
from workbench.tools.schema import Observation

CELL = {"tool": "execute_ipython_cell", "arguments": {"code": "1"}}
PAGE = {"tool": "browser", "arguments": {"code": "noop()"}}
OFF = dict.fromkeys(("execute_bash", "str_replace_editor", "glob", "grep", "web_read"), False)
NEEDS = {
    "bash": (bash("ls"), "There is no bash", {}),
    "ipython": (CELL, "There is no IPython", {"execute_ipython_cell": True}),
    "chromium": (PAGE, "there is no Chromium", {"browser": True}),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    opened = Place(tmp_path)
    yield opened
    opened.close()


def result(place: Place, turn: dict, *, mode: str = "never", **tools: object) -> str:
    """Return what the tool answers in a session with these tools."""
    place.script.write_text(script(turn))
    settings = Settings(model=f"scripted/{place.script}", mode=mode, tools=tools)
    place.opened = start_session(place.where, settings, place.directory, place.id, **place.heard)
    place.opened.session.send("go")
    place.drive()
    first = next(event for event in place.events if isinstance(event, ActionObserved))
    assert first.observation["is_error"]
    return "\n".join(block["text"] for block in first.observation["content"])


def script(*turns: dict) -> str:
    lines = []
    for number, turn in enumerate((*turns, finish())):
        arguments = ", ".join(f"{key} = {json.dumps(value)}" for key, value in turn["arguments"].items())
        lines += ["[[turn]]", f'name = "t{number}"', "[[turn.call]]", f'tool = "{turn["tool"]}"', 'risk = "LOW"']
        lines.append(f"arguments = {{ {arguments} }}")
    return "\n".join(lines)


def without_packages(monkeypatch, need: str) -> None:
    if need == "ipython":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("need", "more", "expected"),
    [
        ("bash", {}, "Instead, use str_replace_editor for files, or glob to find files, or grep to search in them."),
        ("bash", {"python_execute": True, "glob": False, "grep": False}, "use python_execute to run code, also"),
        ("ipython", {}, "Instead, use execute_bash to run scripts."),
        (
            "ipython",
            {"python_execute": True, "execute_bash": False},
            "use python_execute for code that needs no earlier",
        ),
        ("chromium", {}, "Instead, use web_read for pages that need no clicking, or execute_bash to fetch files."),
        ("chromium", {"web_read": False}, "Instead, use execute_bash to fetch files."),
    ],
    ids=["bash", "bash-python", "ipython", "ipython-python", "chromium", "chromium-bash"],
)
def test_missing_program_names_tools_that_are_on(place, monkeypatch, need, more, expected):
    turn, reason, tools = NEEDS[need]
    without_packages(monkeypatch, need)
    text = result(place, turn, **tools, **more)
    assert reason in text
    assert expected in text
    assert not [name for name, is_on in more.items() if not is_on and name in text]


def test_plan_mode_names_no_tool_that_it_denies(place):
    turn = {"tool": "execute_bash", "arguments": {"command": "ls"}}
    text = result(place, turn, mode="plan", python_execute=True, execute_ipython_cell=True)
    assert "Instead, use str_replace_editor for files, or glob to find files, or grep to search in them." in text
    assert "python" not in text


@pytest.mark.parametrize("need", NEEDS)
def test_missing_program_without_another_tool_names_none(place, monkeypatch, need):
    turn, reason, tools = NEEDS[need]
    without_packages(monkeypatch, need)
    text = result(place, turn, **{**OFF, **tools, turn["tool"]: True})
    assert reason in text
    assert "Instead" not in text


def test_cell_without_pip_and_uv_names_the_shell(place):
    code = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'pip' else f(n, *a)"
    turn = {"tool": "execute_ipython_cell", "arguments": {"code": f"{code}\n%pip list"}}
    text = result(place, turn, execute_ipython_cell=True)
    assert "this interpreter has no pip and there is no uv" in text
    assert "Instead, use execute_bash to install packages." in text


@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_page_that_scripts_build_names_the_browser_if_it_is_on(place, is_on):
    with Site({"/": lambda visit: visit.answer(b"<html><body><script>1</script></body></html>")}) as site:
        turn = {"tool": "web_read", "arguments": {"url": site.url()}}
        text = result(place, turn, web_read={"private": True}, browser=is_on)
    assert "contains no text that can be read" in text
    assert ("Instead, use browser to open the page with its scripts." in text) is is_on


@pytest.mark.parametrize("command", ["npx", "uvx"])
def test_server_whose_program_is_gone_names_the_shell(tmp_path, monkeypatch, command):
    program = tmp_path / "bin" / command
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    answers = (calls(("echo", {"text": "hello"})), says("Done."))
    with mcp_harness(tmp_path, monkeypatch, *answers, server={"command": command}, approved=True) as session:
        program.unlink()
        monkeypatch.setenv("PATH", str(program.parent))
        session.say("go")
        (observed,) = session.of("action_observed")
    text = "\n".join(block["text"] for block in observed.observation["content"])
    assert f"there is no program {command}" in text
    assert text.endswith("Instead, use execute_bash to run a program.")


@pytest.mark.parametrize(
    ("command", "need"),
    [
        (("npx", "-y", "@playwright/mcp"), "web server"),
        (("uvx", "mcp-server-fetch"), "web server"),
        (("npx", "@modelcontextprotocol/server-filesystem", "/w"), "file server"),
        (("uvx", "mcp-server-git"), "server"),
        (("docker", "run", "x"), "server"),
    ],
    ids=["browser", "fetch", "files", "git", "docker"],
)
def test_what_a_server_does_is_in_its_command(command, need):
    assert need_of_server(command) == need


@pytest.mark.parametrize("need", _OTHERS)
def test_only_tools_of_the_session_are_named(need):
    assert set(_OTHERS[need]) <= ALL_TOOLS
    assert alternatives(need, ()) == ""
    for name in _OTHERS[need]:
        assert alternatives(need, {name}) == f"Instead, use {name} {_OTHERS[need][name]}."


def test_hint_is_no_part_of_a_result_without_a_missing_program():
    plain = Observation.from_text("It failed.", is_error=True)
    assert plain.with_alternatives(ALL_TOOLS) is plain
    lacking = Observation.from_text("No bash.", is_error=True).lacking("bash")
    assert lacking.with_alternatives({"grep"}).text == "No bash.\nInstead, use grep to search in them."
    assert set(lacking.model_dump()) == {"content", "is_error"}
