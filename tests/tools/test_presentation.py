"""How the calls of each tool are shown on one line: from the arguments, safe to display, for a tool of any name."""

import subprocess
import sys

import pytest

from workbench.protocol.presentation import Presentation
from workbench.tools import ToolContext, ToolDefinition, think
from workbench.tools.manifest import ALL_TOOLS, GENERIC, kind_of, manifest_of, presentation_of
from workbench.tools.registry import find_tool
from workbench.tools.think.definition import ThinkAction, ThinkExecutor
from workbench.view.formatting.actions import headline, icon

WORKSPACE = "/home/ada/calc"
TASKS = [{"title": "one", "status": "done"}, {"title": "two", "status": "todo"}]


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("execute_bash", {"command": "ls -la"}, "ls -la"),
        ("execute_bash", {"command": "ls\npwd"}, "ls …"),
        ("execute_bash", {"command": "y\u202e", "is_input": True}, "input: y\\u202e"),
        ("execute_bash", {"command": "", "reset": True}, "restart the shell"),
        ("execute_bash", {"command": " "}, "wait for more output"),
        ("execute_bash", {}, "wait for more output"),
        ("str_replace_editor", {"command": "view", "path": f"{WORKSPACE}/a.py", "view_range": [3, -1]}, "a.py 3-end"),
        ("str_replace_editor", {"command": "view", "path": "/etc/hosts", "view_range": "odd"}, "/etc/hosts"),
        ("str_replace_editor", {"command": "create", "path": f"{WORKSPACE}/a.py"}, "a.py new"),
        ("str_replace_editor", {"command": ["create"], "path": f"{WORKSPACE}/a.py"}, "a.py"),
        ("edit_file", {"path": f"{WORKSPACE}/a.py", "content": "x"}, "a.py"),
        ("glob", {"pattern": "*\x1b[2J", "path": "src"}, "*\\e[2J in src"),
        ("grep", {"pattern": "a b", "path": WORKSPACE, "include": "*.py"}, "a b in . (*.py)"),
        ("grep", {"pattern": "{path:path}[x]"}, "{path:path}[x]"),
        ("delegate", {"agent": "reviewer", "inputs": "Look at it."}, "reviewer: Look at it."),
        ("delegate", {"inputs": "Look at it."}, "Look at it."),
        ("task_tracker", {"command": "plan", "task_list": TASKS}, "plan: 1 of 2 done"),
        ("task_tracker", {"command": "plan", "task_list": "none"}, "look at the plan"),
        ("think", {"thought": "hm"}, "hm"),
        ("finish", {"message": ""}, "finish message="),
        ("python_execute", {"code": "print(1)"}, "print(1)"),
        ("request_condensation", {}, "request_condensation"),
        ("gone\x1b", {"city": "Rome", "days": 3}, "gone\\e city=Rome, days=3"),
    ],
)
def test_call_is_presented_on_one_line(tool, arguments, line):
    assert headline(tool, arguments, None, WORKSPACE) == line


def test_every_built_in_tool_has_a_manifest_that_finds_its_class():
    for name in ALL_TOOLS:
        assert manifest_of(name) is not None
        assert getattr(find_tool(name), "name", name) == name


def test_manifests_load_without_the_code_of_the_tools():
    code = """
import sys
from workbench.tools.manifest import ALL_TOOLS, manifest_of
[manifest_of(name) for name in ALL_TOOLS]
print(sorted({"pydantic", "workbench.tools.tool", "workbench.tools.schema"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_third_party_tool_keeps_its_recorded_presentation():
    mine = Presentation(icon="§", headline="to {name}")
    assert kind_of("my_shell") == "other"
    assert presentation_of("my_shell", {}, mine) == mine
    assert presentation_of("my_shell", {}) == GENERIC
    assert presentation_of("execute_bash", {"command": "ls"}, mine).icon == "$"


@pytest.mark.parametrize("sign", ["", "ab", "漢", "\x1b", "\u0301", "\n"])
def test_icon_fills_one_cell(sign):
    assert icon(Presentation(icon=sign)) == GENERIC.icon


class Careless(ToolDefinition):
    """Returns `shown`, whatever it is, as its presentation."""

    shown: object = None

    def present(self, arguments):
        if isinstance(self.shown, Exception):
            raise self.shown
        return self.shown


@pytest.mark.parametrize(
    "shown",
    [
        None,
        "text",
        ValueError("no"),
        Presentation(icon=3),
        Presentation(headline="x" * 1_001),
        Presentation(result="?"),
    ],
)
def test_presentation_that_cannot_be_stored_is_ignored(shown):
    tool = Careless(name="mine", description="m", action_type=ThinkAction, executor=ThinkExecutor())
    tool.shown = shown
    assert tool.recorded_presentation({}) is None


def test_stored_presentation_is_well_formed():
    tool = Careless(name="mine", description="m", action_type=ThinkAction, executor=ThinkExecutor())
    tool.shown = Presentation(headline="a\udce9")
    assert tool.recorded_presentation({}) == Presentation(headline="a\ufffd")


def test_built_in_tool_stores_no_presentation(tmp_path):
    (tool,) = find_tool(think.NAME).create(ToolContext(str(tmp_path)))
    assert tool.presentation.icon == "✎"
    assert tool.recorded_presentation({"thought": "hm"}) is None
