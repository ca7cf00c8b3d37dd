"""The tools of a custom command: what a list in the notation of Claude Code allows of each tool."""

import pytest

from workbench.protocol.events import CustomCommand
from workbench.risk import RatingContext, assess
from workbench.rules.allowed_tools import limit_notice, limit_of
from workbench.rules.subject import subject_of
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools

WORKSPACE = "/home/ada/project"
TOOLS = open_tools(ToolContext(WORKSPACE), ["execute_bash", "str_replace_editor", "grep"])
VIEW = {"command": "view", "path": f"{WORKSPACE}/a.py"}
EDIT = {"command": "create", "path": f"{WORKSPACE}/a.py", "file_text": "x"}


def is_allowed(tool: str, arguments: dict[str, str], *allowed: str) -> bool:
    definition = TOOLS[tool]
    local = assess(definition, arguments, RatingContext(WORKSPACE, WORKSPACE))
    subject = subject_of(tool, arguments, local, WORKSPACE)
    reads = arguments.get("command") == "view"
    ruling = limit_of(CustomCommand(name="it", tools=allowed), subject, definition, reads=reads)
    assert ruling is None or (ruling.verdict == "deny" and "/it allows only these tools" in ruling.reason)
    return ruling is None


@pytest.mark.parametrize(
    ("line", "allowed", "is_within"),
    [
        ("git status", "Bash", True),
        ("git status", "Bash(*)", True),
        ("git status", "execute_bash", True),
        ("git status", "*", True),
        ("git status", "Read", False),
        ("git status", "Bash(git status)", True),
        ("git status -s", "Bash(git status)", False),
        ("git status -s", "Bash(git status:*)", True),
        ("git add a.py", "Bash(git add:*)", True),
        ("git addx a.py", "Bash(git add:*)", False),
        ("git push", "Bash(git add:*)", False),
        ("git add a.py && rm -rf src", "Bash(git add:*)", False),
        ("git add $(rm -rf src)", "Bash(git add:*)", False),
        ("git add a.py; git push", "Bash(git add:*)", False),
        ("git status", "Read(./**)", False),
    ],
)
def test_pattern_allows_the_commands_that_it_names(line, allowed, is_within):
    assert is_allowed("execute_bash", {"command": line}, allowed) is is_within


@pytest.mark.parametrize(
    ("arguments", "allowed", "is_within"),
    [(VIEW, "Read", True), (EDIT, "Read", False), (VIEW, "Edit", True), (EDIT, "Edit", True), (EDIT, "Grep", False)],
    ids=["read-read", "edit-read", "read-edit", "edit-edit", "edit-grep"],
)
def test_name_for_reading_allows_no_writing(arguments, allowed, is_within):
    assert is_allowed("str_replace_editor", arguments, allowed) is is_within


def test_no_list_allows_everything_and_an_empty_one_nothing():
    local = assess(TOOLS["grep"], {"pattern": "x"}, RatingContext(WORKSPACE, WORKSPACE))
    subject = subject_of("grep", {"pattern": "x"}, local, WORKSPACE)
    assert limit_of(None, subject, TOOLS["grep"], reads=True) is None
    assert limit_of(CustomCommand(name="it"), subject, TOOLS["grep"], reads=True) is None
    assert limit_of(CustomCommand(name="it", tools=()), subject, TOOLS["grep"], reads=True) is not None
    assert "allows only these tools, in the notation of its author: none." in limit_notice(
        CustomCommand(name="it", tools=())
    )
