"""Which action stands for what another agent asks for: one of ours only if the agent says nothing else about it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp.schema import FileEditToolCallContent, ToolCallProgress

from workbench.acp_client.calls import AgentCall, CallDiff, action_for
from workbench.acp_client.inbox import AgentInbox
from workbench.acp_client.requests import WriteRequest


def call_with(fields: object, *diffs: CallDiff, paths: tuple[str, ...] = ()) -> AgentCall:
    return AgentCall("c1", "Do it", diffs=diffs, paths=paths, input=fields)


NEW = CallDiff("a.txt", None, "a\n")
UNCLEAR = {
    "two commands": {"command": "ls", "cmd": "rm -rf ~"},
    "two directories": {"command": "ls", "cwd": "/", "workdir": "/tmp"},
    "a directory that is no text": {"command": "rm -rf build", "cwd": ["/"]},
    "another key": {"command": "ls", "run": "rm -rf /"},
}


@pytest.mark.parametrize("fields", UNCLEAR.values(), ids=UNCLEAR)
@pytest.mark.parametrize("diffs", [(), (NEW,)], ids=["alone", "beside an edit"])
def test_input_with_more_than_a_command_is_in_its_own_words(tmp_path: Path, fields, diffs):
    tool, arguments = action_for(call_with(fields, *diffs), str(tmp_path))
    assert tool == "agent_call"
    assert all(f'"{key}"' in arguments["input"] for key in fields)


@pytest.mark.parametrize("key", ["command", "cmd"])
def test_one_command_in_one_directory_is_a_command_line(tmp_path: Path, key):
    fields = {key: ["ls", "-l"], "cwd": "/", "description": "Lists"}
    assert action_for(call_with(fields), str(tmp_path)) == ("execute_bash", {"command": "cd / && ls -l"})


MORE = {
    "unknown keys": ({"argv": ["rm", "-rf", "/"]}, ()),
    "another location": ({"file_path": "a.txt"}, ("/etc/passwd",)),
    "another file": ({"file_path": "/etc/passwd", "content": "a\n"}, ()),
    "a list of edits": ({"file_path": "a.txt", "content": [{"path": "/etc/passwd"}]}, ()),
    "a text": ("rm -rf /", ()),
}


@pytest.mark.parametrize(("fields", "paths"), MORE.values(), ids=MORE)
def test_edit_beside_which_it_says_more_is_in_its_own_words(tmp_path: Path, fields, paths):
    tool, arguments = action_for(call_with(fields, NEW, paths=paths), str(tmp_path))
    assert tool == "agent_call"
    assert arguments["input"]
    assert set(paths) < set(arguments["paths"])


def test_edit_whose_input_says_the_same_is_an_edit(tmp_path: Path):
    path = str(tmp_path / "a.txt")
    fields = {"file_path": path, "content": "a\n", "description": "Adds it"}
    tool, arguments = action_for(call_with(fields, NEW, paths=("a.txt",)), str(tmp_path))
    assert (tool, arguments) == ("str_replace_editor", {"command": "create", "path": path, "file_text": "a\n"})


def reported(*diffs: FileEditToolCallContent) -> AgentCall:
    call = AgentCall("c1")
    call.apply(ToolCallProgress(session_update="tool_call_update", tool_call_id="c1", content=list(diffs)))
    return call


def file_edit(path: str, text: str) -> FileEditToolCallContent:
    return FileEditToolCallContent(type="diff", path=path, new_text=text)


@pytest.mark.parametrize("edits", [[("a", "x" * 600_000)], [(f"f{n}", "x") for n in range(60)]], ids=["large", "many"])
def test_changes_too_large_to_keep_are_cut_and_in_its_own_words(tmp_path: Path, edits):
    call = reported(*(file_edit(*edit) for edit in edits))
    assert call.size < 100_000
    tool, arguments = action_for(call, str(tmp_path))
    assert (tool, "edits" in arguments) == ("agent_call", False)
    call.forget()
    assert (call.size, call.diffs) == (0, ())


def test_waiting_writes_count_as_text():
    async def writes(count: int) -> list[bool]:
        inbox = AgentInbox()
        return [inbox.put(WriteRequest("a", "x" * 4_000_000)) for _ in range(count)]

    assert asyncio.run(writes(4)) == [True, True, False, False]
