"""Hooks in Claude Code's format: which of them run, what they read, and what their output means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from workbench.hooks import claude
from workbench.hooks.files import find_hooks, notices_of
from workbench.hooks.occurrence import Occurrence
from workbench.hooks.runner import HookRun
from workbench.mcp.tool import MCPToolDefinition
from workbench.protocol.events import ActionObserved, ActionProposed, UserMessage
from workbench.tools.agent_tool_names import mcp_name
from workbench.tools.str_replace_editor.definition import FileEditorTool
from workbench.tools.trust import brought, fingerprint


def write(workspace: Path, hooks: object, name: str = "settings.json") -> Path:
    path = workspace / ".claude" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks}))
    return path


def listed(workspace: Path, hooks: object, *, is_trusted: bool = True) -> list[Any]:
    write(workspace, hooks)
    trusted = (fingerprint(workspace),) if is_trusted else ()
    return find_hooks((), workspace / "settings.toml", workspace, trusted)


def group(command: str, matcher: str = "", **more: object) -> list[dict[str, object]]:
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}]


def call(tool: str, **arguments: object) -> Occurrence:
    proposed = ActionProposed(action_id="a1", response_id="r", call_id="a1", tool=tool, arguments=arguments)
    return Occurrence("before_action", "s1", "/w", "medium", proposed, proposed)


def answered(output: object, about: Occurrence | None = None, status: int = 0, errors: str = "") -> Any:
    text = output if isinstance(output, str) else json.dumps(output)
    return claude.answer_of(HookRun(status, text, errors), about or call("execute_bash", command="ls"))


def test_hooks_of_a_trusted_directory_are_mapped_to_our_events(tmp_path):
    ours = {name: each for each, name in claude.EVENTS.items()}
    hooks = listed(tmp_path, {name: group("true", "Edit|Write", timeout=7) for name in claude.EVENTS})
    assert [(each.state, each.event) for each in hooks] == [("active", event) for event in ours]
    assert {(each.hook.matcher, each.hook.timeout, each.hook.format) for each in hooks} == {
        ("Edit|Write", 7.0, "claude")
    }
    assert all(each.hook.in_sandbox for each in hooks)


def test_hooks_of_an_untrusted_directory_do_not_run_and_that_is_said(tmp_path):
    hooks = listed(tmp_path, {"Stop": group("true")}, is_trusted=False)
    assert [(each.state, each.hook) for each in hooks] == [("not trusted", None)]
    assert "are ignored: the directory is not trusted" in notices_of(hooks)[0]


@pytest.mark.parametrize(
    ("hooks", "state", "detail"),
    [
        ({"WorktreeCreate": group("true")}, "not supported", "there is no event WorktreeCreate here"),
        ({"Stop": [{"hooks": [{"type": "prompt", "prompt": "?"}]}]}, "not supported", "hooks of type 'prompt'"),
        ({"Stop": group("")}, "invalid", "it has no command"),
        ({"Stop": group("true", timeout="soon")}, "invalid", "its timeout 'soon' is not a number"),
        ({"PreToolUse": group("true", "(")}, "invalid", "its matcher is not a regular expression"),
        ({"Stop": "true"}, "invalid", "it is not a table with a list of hooks"),
        ({"Stop": [{"hooks": {"command": "true"}}]}, "invalid", "it is not a table with a list of hooks"),
        (["x"], "invalid", "its hooks are not a table of events"),
    ],
)
def test_hook_that_cannot_run_is_listed_with_the_reason(tmp_path, hooks, state, detail):
    (each,) = listed(tmp_path, hooks)
    assert (each.state, each.hook) == (state, None)
    assert detail in each.detail


def test_file_that_is_not_json_is_one_listed_problem(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{")
    (each,) = find_hooks((), tmp_path / "settings.toml", tmp_path, (fingerprint(tmp_path),))
    assert each.state == "invalid"
    assert "cannot be read" in each.detail


def test_settings_without_hooks_need_no_trust(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(ls:*)"]}}')
    assert list(brought(tmp_path)) == []


def test_trust_covers_the_scripts_that_hooks_name(tmp_path):
    script, beside = tmp_path / "tools/fmt.sh", tmp_path / ".claude/hooks/lib.py"
    for path in (script, beside):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("true\n")
    own = write(tmp_path, {"PostToolUse": group('"$CLAUDE_PROJECT_DIR"/tools/fmt.sh --all')})
    assert set(brought(tmp_path)) == {own, script, beside}
    before = fingerprint(tmp_path)
    script.write_text("rm -rf /\n")
    assert fingerprint(tmp_path) != before


@pytest.mark.parametrize(
    ("tool", "arguments", "name", "expected"),
    [
        ("execute_bash", {"command": "ls", "timeout": 3}, "Bash", {"command": "ls"}),
        (
            "str_replace_editor",
            {"command": "create", "path": "/w/a", "file_text": "x"},
            "Write",
            {"file_path": "/w/a", "content": "x"},
        ),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "/w/a", "old_str": "x", "new_str": "y"},
            "Edit",
            {"file_path": "/w/a", "old_string": "x", "new_string": "y"},
        ),
        ("str_replace_editor", {"command": "view", "path": "/w/a"}, "Read", {"file_path": "/w/a"}),
        ("grep", {"pattern": "x", "include": "*.py"}, "Grep", {"pattern": "x", "glob": "*.py"}),
        ("note_taker", {"text": "x"}, "note_taker", {"text": "x"}),
    ],
)
def test_call_is_told_in_the_words_of_claude_code(tool, arguments, name, expected):
    told = json.loads(claude.payload(call(tool, **arguments)))
    assert (told["hook_event_name"], told["tool_name"], told["tool_input"]) == ("PreToolUse", name, expected)
    assert (told["session_id"], told["cwd"], told["permission_mode"]) == ("s1", "/w", "default")
    assert claude.names(call(tool, **arguments))[0] == name


def test_tool_of_an_mcp_server_has_the_name_that_claude_code_gives_it():
    about = msgspec.structs.replace(call("search", q="x"), mcp_name="mcp__github__search")
    assert claude.names(about) == ("mcp__github__search", "search")
    told = json.loads(claude.payload(about))
    assert (told["tool_name"], told["tool_input"]) == ("mcp__github__search", {"q": "x"})


def test_name_of_an_mcp_tool_names_its_server():
    tool = MCPToolDefinition("search", {"name": "search", "inputSchema": {"type": "object"}}, "github")
    assert mcp_name(tool) == "mcp__github__search"
    assert mcp_name(FileEditorTool("/w")) == ""


def test_other_events_have_the_entries_of_claude_code():
    result = ActionObserved(action_id="a1", observation={"content": [{"type": "text", "text": "ok"}]})
    after = Occurrence("after_action", "s1", "/w", "plan", result, call("execute_bash", command="ls").proposed)
    told = json.loads(claude.payload(after))
    assert (told["hook_event_name"], told["tool_response"]) == ("PostToolUse", result.observation)
    assert told["permission_mode"] == "plan"
    told = json.loads(claude.payload(Occurrence("user_message", "s1", "/w", event=UserMessage(text="hi"))))
    assert (told["hook_event_name"], told["prompt"]) == ("UserPromptSubmit", "hi")
    told = json.loads(claude.payload(Occurrence("before_compaction", "s1", "/w", trigger="auto")))
    assert (told["hook_event_name"], told["trigger"]) == ("PreCompact", "auto")
    told = json.loads(claude.payload(Occurrence("session_start", "s1", "/w", trigger="resume")))
    assert (told["hook_event_name"], told["source"]) == ("SessionStart", "resume")


@pytest.mark.parametrize(("word", "decision"), [("allow", "approve"), ("ask", "ask"), ("deny", "deny"), ("defer", "")])
def test_permission_decision_is_read(word, decision):
    special = {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": "because"}
    answer = answered({"hookSpecificOutput": special})
    assert (answer.decision, answer.explanation, answer.failure) == (decision, "because", "")


@pytest.mark.parametrize(
    ("values", "decision", "explanation"),
    [
        ({"decision": "block", "reason": "no"}, "deny", "no"),
        ({"decision": "approve"}, "approve", ""),
        ({"continue": False, "stopReason": "stop"}, "deny", "stop"),
        ({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}}, "deny", "no"),
        ({"systemMessage": "note"}, "", ""),
    ],
)
def test_older_and_other_forms_of_a_decision_are_read(values, decision, explanation):
    answer = answered(values)
    assert (answer.decision, answer.explanation) == (decision, explanation)


def test_changed_input_becomes_our_arguments():
    about = call("str_replace_editor", command="create", path="/w/a", file_text="x")
    special = {"permissionDecision": "allow", "updatedInput": {"file_path": "/w/b", "content": "y", "other": 1}}
    answer = answered({"hookSpecificOutput": special}, about)
    assert answer.arguments == {"command": "create", "path": "/w/b", "file_text": "y"}
    assert answer.decision == "approve"


def test_plain_output_is_context_only_at_the_start_and_with_a_message():
    assert answered("all is formatted").context == ""
    for event in ("session_start", "user_message"):
        assert answered("Use tabs.", Occurrence(event, "s1", "/w")).context == "Use tabs."


def test_exit_code_2_denies_with_what_is_on_stderr():
    answer = answered('{"decision": "approve"}', status=2, errors="not here\n")
    assert (answer.decision, answer.explanation) == ("deny", "not here")


@pytest.mark.parametrize(
    "output",
    ['{"decision": 1}', '{"hookSpecificOutput": []}', '{"decision": "perhaps"}', "{", '{"systemMessage": {"a": 1}}'],
)
def test_output_that_cannot_be_read_is_a_failure_and_decides_nothing(output):
    answer = answered(output)
    assert answer.failure
    assert answer.decision == ""
