"""Which action stands for what another agent asks for: one of ours only if the agent says nothing else about it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp.schema import FileEditToolCallContent, ToolCallProgress

from workbench.acp_client.calls import AgentCall, CallDiff, action_for, says_the_same
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


def patch(path: Path | str, *more: str) -> str:
    return "\n".join((f"Index: {path}", "=" * 67, f"--- {path}", f"+++ {path}", "@@ -0,0 +1 @@", "+a", *more, ""))


def codex_change(path: Path, **fields: object) -> dict:
    return {"call_id": "c1", "turn_id": "t1", "auto_approved": False, "changes": {str(path): fields}}


def opencode_file(path: Path, **fields: object) -> dict:
    entry = {"filePath": str(path), "relativePath": "a.txt", "type": "add", "patch": patch(path), "additions": 1}
    return {"filepath": "a.txt", "diff": patch(path), "files": [entry | fields]}


AS_AGENTS_SEND = {
    "Codex": lambda path: codex_change(path, type="add", content="a\n"),
    "Codex, an update": lambda path: codex_change(
        path, type="update", unified_diff="@@ -0,0 +1 @@\n+a", move_path=None
    ),
    "OpenCode": lambda path: {"filepath": str(path), "diff": patch(path)},
    "OpenCode, a patch": opencode_file,
    "Claude Code": lambda path: {"replace_all": False, "file_path": str(path), "old_string": "", "new_string": "a\n"},
}


@pytest.mark.parametrize("fields", AS_AGENTS_SEND.values(), ids=AS_AGENTS_SEND)
def test_edit_as_an_agent_sends_it_is_an_edit(tmp_path: Path, fields):
    path = tmp_path / "a.txt"
    tool, _ = action_for(call_with(fields(path), NEW, paths=(str(path),)), str(tmp_path))
    assert tool == "str_replace_editor"


WITH_ANOTHER_FILE = {
    "another change": lambda path: {"changes": {str(path): {"type": "add"}, "/etc/passwd": {"type": "add"}}},
    "a move": lambda path: codex_change(path, type="update", move_path="/etc/passwd"),
    "a deletion": lambda path: codex_change(path, type="delete", content="a\n"),
    "a change with another key": lambda path: codex_change(path, type="update", script="rm -rf /"),
    "changes that are no table": lambda path: {"changes": [str(path)]},
    "another file": lambda path: opencode_file(path, filePath="/etc/passwd"),
    "a file that moves": lambda path: opencode_file(path, type="move", movePath="/etc/passwd"),
    "a file without a path": lambda path: {"files": [{"type": "add"}]},
    "another file in the diff": lambda path: {"filepath": str(path), "diff": patch(path) + patch("/etc/passwd")},
    "a rename in the diff": lambda path: {"filepath": str(path), "diff": patch(path, "rename to /etc/passwd")},
    "a diff that is no text": lambda path: {"filepath": str(path), "diff": [patch(path)]},
}


@pytest.mark.parametrize("fields", WITH_ANOTHER_FILE.values(), ids=WITH_ANOTHER_FILE)
def test_edit_that_may_be_more_than_its_diff_is_in_its_own_words(tmp_path: Path, fields):
    tool, arguments = action_for(call_with(fields(tmp_path / "a.txt"), NEW), str(tmp_path))
    assert tool == "agent_call"
    assert arguments["input"]


def test_command_as_codex_sends_it_is_the_script_of_its_shell(tmp_path: Path):
    fields = {
        **{"call_id": "c1", "turn_id": "t1", "started_at_ms": 1, "cwd": str(tmp_path), "reason": "It writes."},
        "command": ["/bin/bash", "-lc", "mkdir made && echo ok"],
        "parsed_cmd": [{"type": "unknown", "cmd": "mkdir made && echo ok"}],
        "proposed_execpolicy_amendment": ["mkdir", "made"],
        "available_decisions": ["approved", "abort"],
    }
    approved = ("execute_bash", {"command": "mkdir made && echo ok"})
    assert action_for(call_with(fields), str(tmp_path)) == approved
    done = call_with({**fields, "process_id": "7", "source": "unified_exec_startup"})
    assert says_the_same(done, *approved, str(tmp_path))


@pytest.mark.parametrize("words", [["zsh", "-c", "ls"], ["bash", "-c", "ls", "x"], ["bash", "-x", "ls"]])
def test_other_command_line_of_a_shell_stays_as_it_is(tmp_path: Path, words):
    assert action_for(call_with({"command": words}), str(tmp_path)) == ("execute_bash", {"command": " ".join(words)})


def test_directory_of_a_command_as_its_location_says_nothing_more(tmp_path: Path):
    fields = {"command": "ls", "cwd": str(tmp_path), "description": "Lists"}
    done = call_with(fields, paths=(str(tmp_path),))
    assert says_the_same(done, "execute_bash", {"command": "ls"}, str(tmp_path))
    assert action_for(call_with(fields, paths=(f"{tmp_path}/secret",)), str(tmp_path))[0] == "agent_call"
    assert action_for(call_with(None, NEW, paths=(str(tmp_path),)), str(tmp_path))[0] == "agent_call"


@pytest.mark.parametrize(
    ("kind", "title", "command"),
    [
        ("execute", "git push", "git push"),
        ("read", "git push", ""),
        ("execute", "ls\nrm -rf ~", ""),
        ("execute", "x" * 300, ""),
    ],
)
def test_title_of_a_call_that_runs_something_is_rated_as_its_command(tmp_path: Path, kind, title, command):
    call = AgentCall("c1")
    call.apply(ToolCallProgress(session_update="tool_call_update", tool_call_id="c1", kind=kind, title=title))
    tool, arguments = action_for(call, str(tmp_path))
    assert (tool, arguments.get("command", "")) == ("agent_call", command)
    assert ("details" in arguments) == bool(command)  # without it, a command line would count as all of it
    assert says_the_same(call, tool, arguments, str(tmp_path))


@pytest.mark.parametrize(
    ("text", "output", "result"),
    [
        ("```console\n 4 total\n```", None, " 4 total"),
        ("````\n```\nx\n```\n````\n", None, "```\nx\n```"),
        ("```\na\n```\nand\n```\nb\n```", None, "```\na\n```\nand\n```\nb\n```"),
        ("", {"stdout": "x", "formatted_output": "one\n", "exit_code": 0}, "one\n"),
        ("", [{"type": "text", "text": "Updated."}], "Updated."),
        ("", {"exit_code": 3}, '{\n "exit_code": 3\n}'),
        ("", {"error": "no"}, "no"),
    ],
)
def test_result_is_the_output_without_its_wrapping(text, output, result):
    assert AgentCall("c1", text=text, output=output).result == result


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
