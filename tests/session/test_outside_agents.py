"""Sub-agents that are other programs: what they do is on the timeline, and what they ask for is decided like ours."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import tests.fakes.acp_agent
import tests.fakes.acp_package_agent
from tests.sandbox import Sandbox, bash, command_line, finish, toml, wait_for
from tests.session.outside_agents import OutsidePlace
from workbench.acp_client import program
from workbench.agent.agent_kinds import AgentProgram, agent_kinds
from workbench.config.settings import Settings
from workbench.protocol.events import (
    ActionAbandoned,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ModelResponded,
    RunEnded,
    UserMessage,
)
from workbench.tools.trust import AGENTS, fingerprint

RULES = ("allow $ touch made", "deny $ touch other")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[OutsidePlace]:
    made = OutsidePlace(tmp_path)
    yield made
    made.close()


def ask(number: str = "c1", **fields) -> dict:
    return {"ask": {"toolCallId": number, "title": "Run it", "kind": "execute", **fields}}


def ended(number: str = "c1", text: str = "done", status: str = "completed") -> dict:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return {"progress": {"toolCallId": number, "status": status, "content": content}}


def write(path: Path, content: str) -> dict:
    return {"path": str(path), "content": content}


def programs() -> list[psutil.Process]:
    """Return the processes of scripted agents that this one has started."""
    children = psutil.Process().children(recursive=True)
    return [each for each in children if any("acp_agent.py" in word for word in command_line(each)[:2])]


def diff(path: Path, old: str | None, new: str) -> list[dict]:
    return [{"type": "diff", "path": str(path), "oldText": old, "newText": new}]


def test_final_message_is_the_result_and_all_it_said_planned_and_cost_is_in_its_own_log(place):
    plan = [{"content": "Look", "priority": "high", "status": "completed"}]
    usage = {"used": 900, "size": 1000, "cost": {"amount": 0.5, "currency": "USD"}}
    said = [{"say": "It is "}, {"say": "fine."}]
    place.play([{"think": "Hm."}, {"say": "I look."}, {"plan": plan}, {"usage": usage}, *said])
    place.approve_start()
    assert place.result == ("It is fine.", False)
    (child,) = place.children()
    answers = [event for event in place.log(child) if isinstance(event, ModelResponded)]
    assert [(each.reasoning, each.text) for each in answers] == [("", ""), ("Hm.", "I look."), ("", "It is fine.")]
    assert [each.cost for each in answers] == [0.0, 0.0, 0.5]
    (task,) = place.steps("action_proposed", "task_tracker")
    assert [(each["title"], each["status"]) for each in task.arguments["task_list"]] == [("Look", "done")]
    (task_text,) = [event.text for event in place.log(child) if isinstance(event, UserMessage)]
    assert place.said("prompt") == [task_text]
    assert "helper, do your part." in task_text
    (offered,) = place.said("initialize")
    assert offered["fs"] == {"writeTextFile": True}  # without readTextFile, which is false in the protocol then
    assert not offered.get("terminal")
    assert place.said("cwd") == [str(place.directory.resolve())]


def every_step(directory: Path, agent: str) -> tuple[list[Any], list[Any]]:
    """Have an agent play every kind of step that sends a message; return what the session and what the agent got.

    The number of responses depends on time, so their texts are joined and actions are listed without their responses.
    """
    directory.mkdir()
    place = OutsidePlace(directory)
    steps = [
        {"think": "Hm."},
        {"say": "I look."},
        {"plan": [{"content": "Look", "priority": "high", "status": "completed"}]},
        {"usage": {"used": 900, "size": 1000, "cost": {"amount": 0.5, "currency": "USD"}}},
        {"call": {"toolCallId": "c0", "title": "Search", "kind": "search", "rawInput": {"command": "rg x"}}},
        ended("c0", "3 matches"),
        ask(kind="edit", content=diff(place.directory / "new.txt", None, "fresh\n")),
        {"write": write(place.directory / "new.txt", "fresh\n"), "if_allowed": True},
        ended(),
        {"read": {"path": str(place.directory / "new.txt")}},
        {"write": write(place.directory / "other.txt", "no")},
        ask("c2", options=[]),
        {"until_canceled": True},
    ]
    place.play(
        steps, mode="medium", agent=agent, table={"env": {"SIGN_IN_WITH": "ITS_KEY", "ITS_KEY": "secret-value-1"}}
    )
    place.approve_start()
    question = place.question_about("str_replace_editor")
    place.answer(question, "approved")
    place.answer(place.next_question(question), "rejected")
    wait_for(lambda: len(place.said("answer")) == 2, "the end of all steps but one")
    wait_for(lambda: place.has_recorded("without an option to allow it"), "the record of the refusal")
    place.opened.session.interrupt()
    place.join()
    place.close()
    (child,) = place.children()
    log = place.log(child)
    said = [event for event in log if isinstance(event, ModelResponded)]
    got = [
        "".join(each.text for each in said),
        "".join(each.reasoning for each in said),
        *((each.tool, each.arguments) for each in log if isinstance(each, ActionProposed)),
        *((each.verdict, each.by) for each in log if isinstance(each, ActionDecided)),
        *(each.observation["content"] for each in log if isinstance(each, ActionObserved)),
    ]
    text = json.dumps([got, list(map(json.loads, place.heard_file.read_text().splitlines()))])
    return tuple(json.loads(text.replace(str(directory), "").replace(agent, "AGENT")))


def test_session_is_the_same_as_with_an_agent_that_uses_the_package_of_the_protocol(tmp_path):
    got, heard = every_step(tmp_path / "one", tests.fakes.acp_agent.__file__)
    package_got, package_heard = every_step(tmp_path / "two", tests.fakes.acp_package_agent.__file__)
    assert [next(iter(each)) for each in heard] == [
        *("initialize", "authenticate", "cwd", "prompt", "answer", "written", "read", "refused", "answer", "cancel")
    ]
    assert heard[0].pop("initialize")["fs"].items() <= package_heard[0].pop("initialize")["fs"].items()  # with defaults
    assert heard == package_heard
    assert got == package_got
    assert got[:2] == ["I look.", "Hm."]


def test_call_that_it_did_not_ask_about_is_on_the_timeline_with_its_result(place):
    call = {"toolCallId": "c1", "title": "Search \x1b[31mred", "kind": "search", "rawInput": {"command": "rg x"}}
    place.play([{"call": call}, ended(text="3 matches"), {"say": "Fine."}])
    place.approve_start()
    place.join()
    (report,) = place.steps("action_proposed", "agent_report")
    assert report.arguments["command"] == "rg x"
    assert "\x1b" not in report.arguments["title"]
    (result,) = place.steps("action_observed", "agent_report")
    assert result.observation["content"][0]["text"] == "3 matches"


def test_start_without_a_sandbox_is_high_and_a_rejection_is_the_result(place):
    place.play([{"say": "Fine."}], mode="high")
    question = place.question()
    assert question.event.risk == "HIGH"
    assert "no sandbox around it" in question.event.reasons[0]
    place.answer(question, "rejected", note="not here")
    text, is_error = place.result
    assert is_error
    assert "not here" in text
    assert place.said("initialize") == []


def test_command_that_it_asks_about_has_our_rating_and_runs_only_when_approved(place):
    line = {"rawInput": {"command": "rm -rf build; touch made", "description": "Lists files"}}
    place.play([ask(**line), {"shell": "touch made", "if_allowed": True}, ended(), {"say": "Fine."}], mode="medium")
    place.approve_start()
    question = place.question_about("execute_bash")
    proposed = place.steps("action_proposed", "execute_bash")[0]
    assert proposed.arguments["command"] == "rm -rf build; touch made"
    assert question.event.risk == "MEDIUM"
    assert [(each.text, each.risk) for each in question.event.segments] == [
        ("rm -rf build", "MEDIUM"),
        ("touch made", "MEDIUM"),
        ("a call of another agent", "MEDIUM"),
    ]
    place.answer(question, "approved")
    assert place.result == ("Fine.", False)
    assert (place.directory / "made").exists()
    assert place.said("answer") == [{"outcome": {"outcome": "selected", "optionId": "yes"}}]
    (observed,) = place.steps("action_observed", "execute_bash")
    assert observed.observation["content"][0]["text"] == "helper reports: done"
    form = proposed.presentation
    assert (form.agent, form.note) == ("helper", "helper runs this itself; no sandbox limits it.")


def test_description_of_a_request_is_not_the_result_of_the_call(place):
    described = [{"type": "content", "content": {"type": "text", "text": "It writes."}}]
    end = {"progress": {"toolCallId": "c1", "status": "completed", "rawOutput": {"formatted_output": "ok"}}}
    place.play([ask(rawInput={"command": "rm -rf build"}, content=described), end, {"say": "Fine."}], mode="medium")
    place.approve_start()
    place.answer(place.question_about("execute_bash"), "approved")
    assert place.result == ("Fine.", False)
    (observed,) = place.steps("action_observed", "execute_bash")
    assert observed.observation["content"][0]["text"] == "helper reports: ok"


def test_reason_of_a_rejection_reaches_the_agent(place):
    command = ask(rawInput={"command": "rm -rf build"})
    place.play([command, ended(status="failed"), {"say": "Not then."}], [{"say": "I use git clean."}], mode="medium")
    place.approve_start()
    place.answer(place.question_about("execute_bash"), "rejected", note="use git clean")
    assert place.result == ("Not then.\n\nI use git clean.", False)
    (answer,) = place.said("answer")
    assert answer["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert "use git clean" in place.said("prompt")[1]


def test_turn_that_ends_because_of_a_rejection_continues_without_a_reason_too(place):
    command = ask(rawInput={"command": "rm -rf build"})
    place.play([command, {"stop": "cancelled"}], [{"say": "Then not."}], mode="medium")
    place.approve_start()
    place.answer(place.question_about("execute_bash"), "rejected")
    assert place.result == ("Then not.", False)
    assert "The user rejected this action" in place.said("prompt")[1]


def test_rejection_without_a_reason_is_no_message_if_the_turn_continues(place):
    command = ask(rawInput={"command": "rm -rf build"})
    place.play([command, ended(status="failed"), {"say": "Not then."}], mode="medium")
    place.approve_start()
    place.answer(place.question_about("execute_bash"), "rejected")
    assert place.result == ("Not then.", False)
    assert len(place.said("prompt")) == 1


def test_turn_that_ends_canceled_by_itself_is_an_error(place):
    place.play([{"stop": "cancelled"}], mode="never")
    assert place.result[1]


@pytest.mark.parametrize("has_key", [True, False])
def test_agent_that_takes_a_key_from_its_environment_is_told_to_use_it(place, has_key):
    key = {"ITS_KEY": "secret-value-1"} if has_key else {}
    place.play([{"say": "Fine."}], mode="never", table={"env": {"SIGN_IN_WITH": "ITS_KEY", **key}})
    text, is_error = place.result
    assert (place.said("authenticate"), is_error) == (["key"] if has_key else [], not has_key)
    assert ("it needs a sign-in (Sign in on the web, Use a key)" in text) == (not has_key)


def test_agent_reads_files_of_the_workspace_and_no_others(place):
    inside, outside = place.directory / "a.txt", place.directory.parent / "secret.txt"
    inside.write_text("one\ntwo\nthree\n")
    outside.write_text("no\n")
    (place.directory / "link").symlink_to(outside)
    paths = [{"path": str(inside)}, {"path": str(inside), "line": 2, "limit": 1}]
    others = [{"path": str(each)} for each in (outside, place.directory / "link", place.directory / "gone", "../x")]
    place.play([*({"read": each} for each in (*paths, *others)), {"say": "Fine."}], mode="never")
    assert place.result == ("Fine.", False)
    assert place.said("read") == ["one\ntwo\nthree\n", "two\n"]
    assert len(place.said("refused")) == len(others)


def test_rules_for_commands_apply_to_one_that_only_a_title_names(place):
    named = ask(title="touch other", content=[])
    place.play([named, ended(status="failed"), {"say": "Fine."}], mode="medium", rules=RULES)
    place.approve_start()
    place.join()
    (decided,) = place.steps("action_decided", "agent_call")
    assert (decided.verdict, decided.by) == ("rejected", "rule")


def warnings_of(place: OutsidePlace) -> list[tuple[str, str]]:
    """Return the problem and the result of each report that warns, all of which count as errors."""
    problems = {
        each.action_id: each.arguments.get("problem") for each in place.steps("action_proposed", "agent_report")
    }
    results = {each.action_id: each.observation for each in place.steps("action_observed", "agent_report")}
    assert all(results[name]["is_error"] for name, problem in problems.items() if problem)
    return [(problem, results[name]["content"][0]["text"]) for name, problem in problems.items() if problem]


@pytest.mark.parametrize("when", ["after the answer", "before the answer"])
def test_call_that_runs_although_it_is_rejected_is_reported(place, when):
    command = ask(rawInput={"command": "rm -rf build"})
    late = [command, ended(text="gone"), {"say": "Fine."}]
    early = [{"meanwhile": ended(text="gone")}, command, {"say": "Fine."}]
    place.play(late if when == "after the answer" else early, mode="medium")
    place.approve_start()
    question = place.question_about("execute_bash")
    if when == "before the answer":
        place.go_ahead()
    place.answer(question, "rejected")
    assert place.result == ("Fine.", False)
    assert warnings_of(place) == [("Ran although it was rejected", "Ran although it was rejected. gone")]


@pytest.mark.parametrize(
    "change",
    [{"rawInput": {"command": "rm -rf ~"}}, {"content": diff(Path("/etc/passwd"), None, "x")}],
    ids=["another command", "an edit besides"],
)
def test_command_that_is_another_one_at_its_end_counts_as_failed(place, change):
    end = ended()["progress"] | change
    place.play([ask(rawInput={"command": "rm -rf build"}), {"progress": end}, {"say": "Fine."}], mode="medium")
    place.approve_start()
    place.answer(place.question_about("execute_bash"), "approved")
    assert place.result == ("Fine.", False)
    (observed,) = place.steps("action_observed", "execute_bash")
    assert observed.observation["is_error"]
    assert "is not what was approved" in observed.observation["content"][0]["text"]


def test_call_that_ended_before_it_was_approved_counts_as_failed(place):
    place.play(
        [{"meanwhile": ended(text="gone")}, ask(rawInput={"command": "rm -rf build"}), {"say": "Fine."}], mode="medium"
    )
    place.approve_start()
    question = place.question_about("execute_bash")
    place.go_ahead()
    place.answer(question, "approved")
    assert place.result == ("Fine.", False)
    (observed,) = place.steps("action_observed", "execute_bash")
    assert observed.observation["is_error"]
    assert "before you answered" in observed.observation["content"][0]["text"]


def test_reused_id_is_a_call_of_its_own_and_a_missing_end_is_reported(place):
    first, second = ({"call": {"toolCallId": "c1", "title": title}} for title in ("First", "Second"))
    open_ = {"call": {"toolCallId": "c2", "title": "Third", "rawInput": {"command": "sleep 9"}}}
    place.play([first, ended(text="one"), second, ended(text="two"), open_, {"say": "Fine."}], mode="never")
    assert place.result == ("Fine.", False)
    reports = place.steps("action_proposed", "agent_report")
    assert [each.arguments["title"] for each in reports] == ["First", "Second", "Third"]
    assert [problem for problem, _ in warnings_of(place)] == ["End not reported"]


def test_call_without_an_end_is_reported_when_the_program_ends(place):
    place.play([{"call": {"toolCallId": "c1", "title": "Delete it"}}, {"exit": 3}], mode="never")
    text, is_error = place.result
    assert is_error
    assert "exit code 3" in text
    assert [problem for problem, _ in warnings_of(place)] == ["End not reported"]


def test_flood_ends_an_open_question(place):
    place.play([{"meanwhile": {"floods": 6_000}}, ask(rawInput={"command": "rm -rf build"})], mode="medium")
    place.approve_start()
    place.question_about("execute_bash")
    place.directory.parent.joinpath("go").touch()
    text, is_error = place.result
    assert is_error
    assert "more than a session accepts" in text
    assert place.waiting() == []


def test_outside_the_sandbox_rules_deny_a_command_and_none_allows_it(place):
    steps = [ask(rawInput={"command": "touch made"}), ended(), ask("c2", rawInput={"command": "touch other"})]
    place.play([*steps, ended("c2", status="failed"), {"say": "Fine."}], mode="medium", rules=RULES)
    place.approve_start()
    place.answer(place.question_about("execute_bash"), "approved")
    place.join()
    assert [each["outcome"].get("optionId") for each in place.said("answer")] == ["yes", "no"]
    decided = {each.action_id: each for each in place.steps("action_decided", "execute_bash")}
    assert [(each.verdict, each.by) for each in decided.values()] == [("approved", "person"), ("rejected", "rule")]
    assert "a rule of the user denies it" in place.said("prompt")[1]


def test_call_in_the_agents_own_words_is_medium_and_never_allowed_always(place):
    harmless = {"title": "List files", "kind": "read", "rawInput": {"tool": "Frobnicate", "level": 9}}
    place.play([ask(**harmless), ended(), {"say": "Fine."}], mode="medium")
    place.approve_start()
    question = place.question_about("agent_call")
    assert question.event.risk == "MEDIUM"
    assert question.event.always_choices == ()
    assert "own words" in question.event.no_always
    place.answer(question, "approved")
    assert place.result == ("Fine.", False)


def test_edit_is_shown_as_a_diff_and_asked_about_once_if_we_write_it(place):
    path = place.directory / "a.txt"
    path.write_text("one\ntwo\n")
    steps = [ask(kind="edit", content=diff(path, "two", "three")), {"write": write(path, "one\nthree\n")}, ended()]
    place.play([*steps, {"say": "Fine."}], mode="medium")
    place.approve_start()
    question = place.question_about("str_replace_editor")
    (shown,) = question.event.preview
    assert (shown.before, shown.after) == ("one\ntwo\n", "one\nthree\n")
    place.answer(question, "approved")
    assert place.result == ("Fine.", False)
    assert path.read_text() == "one\nthree\n"
    (observed,) = place.steps("action_observed", "str_replace_editor")
    assert [each.after for each in observed.files_changed] == ["one\nthree\n"]


def test_edits_of_several_files_are_one_question_with_all_diffs(place):
    one, two = place.directory / "one.txt", place.directory / "two.txt"
    one.write_text("1\n")
    content = [*diff(one, "1\n", "one\n"), *diff(two, None, "two\n")]
    steps = [{"say": "Now."}, {"write": write(one, "one\n")}, {"write": write(two, "two\n")}, ended()]
    place.play([ask(kind="edit", content=content), *steps, {"say": "Fine."}], mode="medium")
    place.approve_start()
    question = place.question_about("agent_call")
    assert [(each.path, each.after) for each in question.event.preview] == [(str(one), "one\n"), (str(two), "two\n")]
    place.answer(question, "approved")
    assert place.result == ("Now.Fine.", False)
    assert (one.read_text(), two.read_text()) == ("one\n", "two\n")
    (observed,) = place.steps("action_observed", "agent_call")
    assert [each.path for each in observed.files_changed] == [str(one), str(two)]


def test_edit_that_differs_from_what_was_approved_counts_as_failed(place):
    path = place.directory / "a.txt"
    path.write_text("one\ntwo\n")
    edit = ask(kind="edit", content=diff(path, "two", "three"))
    place.play([edit, {"shell": f"echo evil > {path}"}, ended(), {"say": "Fine."}], mode="medium")
    place.approve_start()
    place.answer(place.question_about("str_replace_editor"), "approved")
    place.join()
    (observed,) = place.steps("action_observed", "str_replace_editor")
    assert observed.observation["is_error"]
    assert "does not have the content that was approved" in observed.observation["content"][0]["text"]
    assert observed.files_changed == ()


@pytest.mark.parametrize("verdict", ["approved", "rejected"])
def test_write_is_an_edit_of_ours(place, verdict):
    path = place.directory / "new.txt"
    place.play([{"write": write(path, "fresh\n")}, {"say": "Fine."}], mode="medium")
    place.approve_start()
    question = place.question_about("str_replace_editor")
    assert [(each.before, each.after) for each in question.event.preview] == [(None, "fresh\n")]
    place.answer(question, verdict)
    assert place.result == ("Fine.", False)
    assert path.exists() == (verdict == "approved")
    assert place.said("written") == ([str(path)] if path.exists() else [])
    refusals = place.said("refused")
    assert [("The user rejected this action" in each) for each in refusals] == ([] if path.exists() else [True])
    assert place.steps("action_proposed", "str_replace_editor")[0].presentation is None  # it is an edit of ours


def test_part_of_an_edit_is_written_by_us_and_the_agent_is_told(place):
    path = place.directory / "a.txt"
    before = "".join(f"{number}\n" for number in range(40))
    path.write_text(before)
    after = before.replace("3\n4\n", "3\nfour\n", 1).replace("35\n", "last\n")
    place.play([ask(kind="edit", content=diff(path, before, after)), {"say": "Then."}], [{"say": "I see."}], mode="ask")
    place.approve_start()
    place.answer(place.question_about("str_replace_editor"), "approved", hunks=(0,))
    assert place.result == ("Then.\n\nI see.", False)
    assert path.read_text() == before.replace("3\n4\n", "3\nfour\n", 1)
    assert "accepted only a part" in place.said("prompt")[1]
    assert place.said("answer")[0]["outcome"]["optionId"] == "no"


def test_command_changed_by_the_user_is_not_allowed_and_the_agent_is_told(place):
    place.play([ask(rawInput={"command": "rm -rf ~/x"}), {"say": "Then."}], [{"say": "I see."}], mode="ask")
    place.approve_start()
    question = place.question_about("execute_bash")
    (proposed,) = place.steps("action_proposed", "execute_bash")
    place.answer(question, "edited", edited={**proposed.arguments, "command": "echo x"})
    assert place.result == ("Then.\n\nI see.", False)
    assert place.said("answer")[0]["outcome"]["optionId"] == "no"


def test_plan_mode_starts_no_program_that_nothing_holds(place):
    place.play([{"say": "Fine."}], mode="plan")
    text, is_error = place.result
    assert is_error
    assert "may only read" in text
    assert place.said("initialize") == []


ENDS: dict[str, list[dict[str, Any]]] = {
    "reacts at once": [{"until_canceled": True}],
    "reacts after a while": [{"until_canceled": 2.5}],
    "never reacts": [{"until_canceled": False}],
    "ignores signals and the end of its input": [{"outlive": True}, {"until_canceled": False}],
    "is in a call": [{"call": {"toolCallId": "c1", "title": "Build"}}, {"until_canceled": False}],
}


@pytest.mark.parametrize("steps", ENDS.values(), ids=ENDS)
def test_stopped_program_is_ended_with_its_children_and_the_call_says_that_it_was_stopped(place, steps):
    child = place.directory / "pid"
    place.play([{"say": "I begin."}, {"shell": "sleep 300 & echo $! > pid.new; mv pid.new pid"}, *steps])
    place.approve_start()
    wait_for(child.exists, "its child")
    place.opened.session.interrupt()
    assert place.opened.session.state.is_stopping
    text, is_error = place.result
    assert not place.opened.session.state.is_stopping
    assert (text, is_error) == ("The sub-agent was stopped. The last it said: I begin.", True)
    assert place.said("cancel") == ["one"]
    assert programs() == []
    assert not psutil.pid_exists(int(child.read_text()))
    assert [event for event in place.log() if isinstance(event, ActionAbandoned)] == []
    assert place.opened.session.ended == "interrupted"


def test_program_that_is_stopped_while_it_starts_is_ended(place):
    words = [sys.executable, "-c", "import time; open('began', 'w').close(); time.sleep(300)"]
    place.run_program(*words, mode="never")
    wait_for((place.directory / "began").exists, "its start")
    place.opened.session.interrupt()
    text, _ = place.result
    assert text == "The sub-agent was stopped."


def test_program_that_ends_in_the_middle_of_a_question_withdraws_it(place):
    place.play([{"shell": "(sleep 1; kill -9 $PPID) &"}, ask(rawInput={"command": "rm -rf ~/x"})])
    place.approve_start()
    place.question_about("execute_bash")
    text, is_error = place.result
    assert is_error
    assert "helper is gone: it ended" in text
    assert place.waiting() == []


def test_permission_without_a_usable_option_is_refused_and_reported(place):
    always = [{"optionId": "a", "name": "Always", "kind": "allow_always"}]
    place.play([ask(options=[]), ask("c2", options=always), {"say": "Fine."}])
    place.approve_start()
    assert place.result == ("Fine.", False)
    assert [each["outcome"] for each in place.said("answer")] == [{"outcome": "cancelled"}] * 2
    reports = [each.observation["content"][0]["text"] for each in place.steps("action_observed", "agent_report")]
    assert all("without an option to allow it this once" in each for each in reports)
    assert len(reports) == 2


def test_permission_asked_for_twice_is_two_questions(place):
    place.play(
        [ask(rawInput={"command": "rm -rf ~/x"}), ask(rawInput={"command": "rm -rf ~/x"}), ended(), {"say": "Fine."}]
    )
    place.approve_start()
    first = place.question_about("execute_bash")
    place.answer(first, "rejected")
    second = place.next_question(first)
    place.answer(second, "approved")
    place.join()
    assert [each["outcome"]["optionId"] for each in place.said("answer")] == ["no", "yes"]


BAD = {
    "missing": (["no-such-agent-program"], "there is no program no-such-agent-program"),
    "ends at once": (
        [sys.executable, "-c", "import sys; sys.exit('no key')"],
        "it ended with exit code 1; it wrote: no key",
    ),
    "prints other things": (
        [sys.executable, "-c", "print('Welcome!'); print('[1]', flush=True); input()"],
        "it printed what is not a message: Welcome!",
    ),
    "answers with nonsense": (
        [sys.executable, "-c", 'input(); print(\'{"jsonrpc":"2.0","id":0,"result":{"x":1}}\', flush=True); input()'],
        "its answer does not follow the protocol",
    ),
    "speaks another version": (
        [
            sys.executable,
            "-c",
            'input(); print(\'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":9}}\', flush=True); input()',
        ],
        "it speaks version 9 of the protocol, not 1",
    ),
    "never answers": ([sys.executable, "-c", "import time; time.sleep(100)"], "it did not answer within 3 s"),
    "prints 100 MB": (
        [sys.executable, "-c", "import os\nfor _ in range(100): os.write(1, b'x' * 1_000_000)"],
        "it sent a message of more than 16 MB",
    ),
}


@pytest.mark.parametrize(("command", "reason"), BAD.values(), ids=BAD)
def test_unusable_program_is_a_clear_error_and_the_session_goes_on(place, monkeypatch, command, reason):
    monkeypatch.setattr(program, "START_SECONDS", 3.0)
    place.run_program(*command, mode="never")
    text, is_error = place.result
    assert is_error
    assert reason in text
    assert place.opened.session.ended == "finished"


def test_flood_in_the_middle_of_a_turn_is_an_error(place):
    place.play([{"say": "I begin."}, {"flood": 100}], mode="never")
    text, is_error = place.result
    assert is_error
    assert "it sent a message of more than 16 MB" in text


def test_stop_reason_of_the_agent_is_in_the_error(place):
    place.play([{"say": "I would rather not."}, {"stop": "refusal"}], mode="never")
    assert place.result == (
        "The sub-agent did not finish: error, helper: it refused to continue. The last it said: I would rather not..",
        True,
    )


def test_question_is_gone_with_the_workbench_and_the_call_says_so(place):
    place.play([ask(rawInput={"command": "rm -rf ~/x"}), {"say": "Fine."}])
    place.approve_start()
    place.question_about("execute_bash")
    assert not place.opened.delegates.can_rest  # an engine stays, because the program could not be resumed
    place.leave()
    place.reopen()
    place.go_on()
    text, is_error = place.result
    assert is_error
    assert "its program ended with the workbench" in text
    (child,) = place.children()
    assert [each.reason for each in place.log(child) if isinstance(each, RunEnded)] == ["interrupted"]


def test_kind_of_a_project_needs_trust_and_stays_inside_the_sandbox(place):
    file = place.directory / AGENTS[0] / "claude.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: claude\ncommand: claude-acp\nargs: [--fast]\nsandbox: false\n---\n")
    assert agent_kinds(place.where, Settings(), place.directory).named("claude") is None
    trusting = Settings(trusted=(fingerprint(place.directory),))
    kind = agent_kinds(place.where, trusting, place.directory).named("claude")
    assert kind.facts == "another agent: claude-acp --fast"
    assert kind.program.is_confined
    assert "only your own settings" in kind.problems[0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("npx", "-y", "a b"), "npx -y 'a b'"),
        (("${HOME}/x", "--key=${KEY}"), "${HOME}/x --key=${KEY}"),
        (("it's ${X}", "'${X}"), shlex.join(("it's ${X}", "'${X}"))),
    ],
)
def test_command_line_of_a_program_has_balanced_quotes(words, line):
    assert AgentProgram(words[0], words[1:]).line == line


def test_ohw_itself_can_be_the_sub_agent(place, tmp_path):
    home = tmp_path / "inner"
    home.mkdir()
    inner = Sandbox(home, place.directory).script(bash("touch made"), finish("Done inside."))
    place.run_program(sys.executable, "-m", "workbench", "acp", "--model", inner, "--mode", "ask", mode="medium")
    place.approve_start()
    question = place.question_about("execute_bash")
    assert place.steps("action_proposed", "execute_bash")[0].arguments["command"] == "touch made"
    assert question.event.risk == "MEDIUM"
    place.answer(question, "approved")
    assert place.result == ("Done inside.", False)
    assert (place.directory / "made").exists()


def test_program_gets_the_variables_that_are_passed_on_and_its_own_but_no_keys(place, monkeypatch):
    for name in ("MY_API_KEY", "OTHER_API_KEY", "PASSED_TOKEN"):
        monkeypatch.setenv(name, f"value-of-{name}")
    names = " ".join(f"{name}=${name}" for name in ("ITS_KEY", "OTHER_API_KEY", "PASSED_TOKEN"))
    table = {"env": {"ITS_KEY": "${MY_API_KEY}"}}
    place.play(
        [{"shell": f"echo {names} > env"}, {"say": "Fine."}], mode="never", table=table, pass_env=("PASSED_TOKEN",)
    )
    place.join()
    (start,) = place.steps("action_proposed", "start_agent")
    assert start.presentation.note == "It gets ITS_KEY (from MY_API_KEY)."
    expected = "ITS_KEY=value-of-MY_API_KEY OTHER_API_KEY= PASSED_TOKEN=value-of-PASSED_TOKEN\n"
    assert (place.directory / "env").read_text() == expected


def test_killed_workbench_takes_the_program_with_it(sandbox, tmp_path):
    script = tmp_path / "turns.json"
    script.write_text(json.dumps([[{"shell": "sleep 300 &"}, {"until_canceled": False}]]))
    call = {"tool": "delegate", "arguments": {"agent": "helper", "inputs": "Do it."}}
    words = [sys.executable, tests.fakes.acp_agent.__file__, str(script)]
    sandbox.locations.config.mkdir(parents=True)
    sandbox.locations.settings_file.write_text(
        f'sandbox = "off"\n[agents.helper]\ncommand = {toml(words[0])}\nargs = {toml(words[1:])}\n'
    )
    running = sandbox.start("run", "--model", sandbox.script(call), "--mode", "never", "go")
    heard = script.with_name("heard.jsonl")
    wait_for(lambda: heard.exists() and "prompt" in heard.read_text(), "the prompt")
    assert wait_for(lambda: [each for each in sandbox.processes() if "300" in command_line(each)], "its child")
    running.kill()
    running.communicate()
    wait_for(lambda: not sandbox.processes(), "the end of all processes")
