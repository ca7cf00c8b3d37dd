"""The function from events to the state that the screen shows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.sample_session import (
    AFTER,
    BEFORE,
    START,
    STEADY,
    WORKSPACE,
    Script,
    fold,
    long_session,
    working_session,
)
from workbench.client.client import CommandRefused, Disconnected, EngineNotice
from workbench.diff.hunks import split_lines
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.usage import Usage
from workbench.view.formatting.actions import outcome
from workbench.view.formatting.detail import detail_text, detail_title
from workbench.view.formatting.timeline_rows import authorship
from workbench.view.reducer import Changed, apply
from workbench.view.state import ActionItem, AgentItem, NoticeItem, SessionState, UserItem
from workbench.view.wrapping import count_lines


def test_running_session_is_shown_in_order():
    state = working_session().state()

    assert [type(item) for item in state.items[:3]] == [UserItem, AgentItem, ActionItem]
    assert [item.number for item in state.actions.values()] == list(range(1, 9))
    assert state.is_running
    assert state.waiting == ["a8"]
    assert list(state.running) == ["a7"]
    assert state.cost == pytest.approx(0.02)


def test_failed_command_is_marked_with_its_exit_code():
    state = working_session().state()

    failed = state.actions["a4"]

    assert (failed.phase, failed.exit_code) == ("failed", 1)


def test_one_unknown_price_makes_the_cost_unknown_permanently():
    script = Script().start().user("hi").answer("a", cost=0.5).answer("b", cost=None).answer("c", cost=0.5)

    assert script.state().cost is None


def test_tokens_of_the_last_request_are_the_context_usage():
    script = Script().start().answer("a", usage=Usage(input=100, output=5)).answer("b", usage=Usage(input=140))

    state = script.state()

    assert state.input_tokens == 140
    assert state.total_tokens == 245


@pytest.mark.parametrize("verdict", ["approved", "edited", "rejected"])
def test_decision_ends_the_waiting(verdict):
    script = Script().start()
    action_id = script.ask("execute_bash", command="rm x")
    state = script.state()
    assert state.waiting == [action_id]
    decision = ev.ActionDecided(seq=99, action_id=action_id, verdict=verdict, by="person", note="not that")

    changed = apply(state, decision)

    assert state.waiting == []
    assert changed.waiting
    assert state.actions[action_id].phase == ("rejected" if verdict == "rejected" else "approved")
    assert state.actions[action_id].note == "not that"


def test_action_that_never_ran_no_longer_waits():
    script = Script().start()
    action_id = script.ask("execute_bash", command="rm x")
    script.add(ev.ActionObserved, action_id=action_id, observation={}, ran=False)

    state = script.state()

    assert state.waiting == []
    assert state.actions[action_id].phase == "skipped"


def test_message_sent_during_a_run_is_queued_until_a_later_model_call():
    script = Script().start().user("first")
    state = script.state()
    sent = START + timedelta(seconds=60)
    apply(state, ev.UserMessage(seq=10, at=sent, text="and this"))
    assert [item.text for item in state.queued] == ["and this"]

    began_before = ev.ModelResponded(
        seq=11, at=sent + timedelta(seconds=5), latency=9, response_id="r", model="m", text="x"
    )
    apply(state, began_before)
    assert [item.text for item in state.queued] == ["and this"]

    began_after = ev.ModelResponded(seq=12, at=sent + timedelta(seconds=9), latency=2, response_id="s", model="m")
    changed = apply(state, began_after)

    assert not state.queued
    assert [item.queued for item in changed.updated if isinstance(item, UserItem)] == [False]


def test_notes_from_the_workbench_to_the_agent_are_shown():
    state = Script().start().user("hi").state()
    nudge = ev.AgentNudged(seq=8, reason="stuck", text="You go in circles", evidence="look gave the same 4 times")
    apply(state, nudge)
    apply(state, ev.AgentNudged(seq=9, reason="no_call", text="Call a tool."))
    first, second = [item.text for item in state.items if isinstance(item, NoticeItem)]
    assert "look gave the same 4 times" in first
    assert "called no tool" in second


def test_response_that_names_its_last_event_marks_messages_as_read():
    script = Script().start().user("first").user("and this").user("and that")
    state = script.state()
    script.answer("x", latency=1000.0, seen=3)
    apply(state, script.events[-1])
    assert [item.text for item in state.queued] == ["and that"]


def test_a_message_leaves_the_queue_when_the_request_that_includes_it_is_sent():
    script = Script().start().user("first").user("and this").user("and that")
    state = script.state()
    changed = apply(state, live.EngineState(state="thinking", sent=3))
    assert [item.text for item in state.queued] == ["and that"]
    assert [(item.text, item.queued) for item in changed.updated if isinstance(item, UserItem)] == [("and this", False)]
    assert not apply(state, live.EngineState(state="thinking", sent=3)).updated


def test_stored_answer_replaces_the_streamed_one():
    state = Script().start().user("hi").state()
    apply(state, live.ReasoningDelta(text="hm"))
    apply(state, live.TextDelta(text="Hel"))
    apply(state, live.TextDelta(text="lo"))
    assert state.live is not None
    assert (state.live.text, state.live.reasoning) == ("Hello", "hm")

    changed = apply(state, ev.ModelResponded(seq=9, response_id="r", model="m", text="Hello!"))

    assert state.live is None
    assert changed.live
    assert [item.text for item in changed.added if isinstance(item, AgentItem)] == ["Hello!"]


def test_live_output_is_bounded_and_replaced_by_the_observation():
    script = Script().start()
    action_id = script.begin("execute_bash", command="yes")
    state = script.state()
    for _ in range(30):
        apply(state, live.ToolOutput(action_id=action_id, text="y\n" * 1_000))
    assert len(state.actions[action_id].output) == 20_000

    apply(state, ev.ActionObserved(seq=50, action_id=action_id, observation={"content": [{"text": "done"}]}))

    assert state.actions[action_id].output == "done"
    assert not state.running


def test_steps_belong_to_tasks_in_progress_and_a_task_without_one_is_claimed():
    script = Script().start()
    plan = [{"id": "1", "title": "one", "status": "in_progress"}, {"id": "2", "title": "two", "status": "todo"}]
    script.run("task_tracker", command="plan", task_list=plan)
    script.run("execute_bash", command="ls")
    script.run("think", thought="hm")
    script.run("task_tracker", command="plan", task_list=[{**entry, "status": "done"} for entry in plan])

    first, second = script.state().tasks

    assert (first.steps, first.is_claimed) == ([2], False)
    assert (second.steps, second.is_claimed) == ([], True)


def test_plan_in_the_observation_takes_precedence_over_the_arguments():
    script = Script().start()
    tasks = [{"id": "task-1", "title": "Untitled task", "status": "todo", "notes": ""}]
    script.run("task_tracker", command="plan", task_list=[{}, "nonsense"], _task_list=tasks)

    assert [task.title for task in script.state().tasks] == ["Untitled task"]


def test_refused_plan_changes_nothing():
    script = Script().start()
    script.run("task_tracker", command="plan", task_list=[{"title": "x"}], _is_error=True)

    assert script.state().tasks == []


def test_changes_keep_the_first_original_and_the_last_text():
    script = Script().start()
    path = f"{WORKSPACE}/a.py"
    for before, after in ((None, "a\n"), ("a\n", "a\nb\n")):
        script.run("str_replace_editor", path=path, _files=(ev.FileDelta(path=path, before=before, after=after),))

    file = script.state().changes[path]

    assert (file.before, file.after, file.added, file.removed) == (None, "a\nb\n", 2, 0)


def test_file_with_its_original_text_again_is_no_change():
    script = Script().start()
    path = f"{WORKSPACE}/a.py"
    script.run("execute_bash", _files=(ev.FileDelta(path=path, before="a", after="b"),))
    script.add(ev.FilesChanged, files=(ev.FileDelta(path=path, before="b", after="a"),))

    assert script.state().changes == {}


def test_changes_by_others_are_separate():
    script = Script().start()
    script.add(ev.FilesChanged, files=(ev.FileDelta(path="/x", before="b", after="a"),))

    script.run("execute_bash", _files=(ev.FileDelta(path="/x", before="a", after="c"),))
    both = script.state()
    script.add(ev.UserCommand, action_id="p1", command="touch y")
    mine = (ev.FileDelta(path="/y", before=None, after=""), ev.FileDelta(path="/x", before="c", after="d"))
    script.add(ev.VersionTaken, version="v", action_id="p1", files=mine)
    assert authorship(both.changes["/x"]) == "edited by the agent and elsewhere"
    assert authorship(script.state().changes["/x"]) == "edited by the agent, you and elsewhere"
    assert authorship(script.state().changes["/y"]) == "edited by you"


def test_changes_on_disk_by_a_command_are_on_its_card_and_counted_once():
    script = Script().start()
    script.run("execute_bash", _files=(ev.FileDelta(path="/p/a", before="1\n", after="2\n"),))
    action_id = next(iter(script.state().actions))
    later = (
        ev.FileDelta(path="/p/a", before="2\n", after="2\n3\n"),
        ev.FileDelta(path="/p/b", before=None, after="x\n"),
    )
    script.add(ev.VersionTaken, version="v", action_id=action_id, files=later)
    state = script.state()

    item = state.actions[action_id]
    assert [(file.path, file.before, file.after) for file in item.files] == [
        ("/p/a", "1\n", "2\n3\n"),
        ("/p/b", None, "x\n"),
    ]
    assert outcome(item) == "+3 −1"
    assert [(file.added, file.removed) for file in state.changes.values()] == [(2, 1), (1, 0)]


def test_notice_about_versions_is_a_line_of_the_conversation():
    script = Script().start()
    script.add(ev.VersionTaken, notice="there are no file versions: git is not installed")
    assert script.state().items[-1].text == "There are no file versions: git is not installed"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("finished", "finished"),
        ("interrupted", "warning"),
        ("limit", "warning"),
        ("stuck", "warning"),
        ("error", "error"),
    ],
)
def test_end_of_a_run_is_shown(reason, kind):
    script = Script().start().user("hi")
    script.add(ev.RunEnded, reason=reason, detail="because")

    state = script.state()

    assert not state.is_running
    assert state.ended == reason
    notice = state.items[-1]
    assert isinstance(notice, NoticeItem)
    assert notice.kind == kind
    assert ("because" in notice.text) == (reason != "finished")


def test_waiting_for_an_answer_needs_no_notice():
    script = Script().start().user("hi").answer("Which one?")
    script.add(ev.RunEnded, reason="waiting")

    state = script.state()

    assert state.ended == "waiting"
    assert isinstance(state.items[-1], AgentItem)


def test_settings_and_abandoned_actions_are_shown():
    script = Script().start()
    action_id = script.begin("execute_bash", command="sleep 9")
    script.add(ev.ActionAbandoned, action_id=action_id)
    script.add(ev.SettingsChanged, mode="high")

    state = script.state()

    assert state.mode == "high"
    assert state.actions[action_id].phase == "lost"
    assert [item.text for item in state.items if isinstance(item, NoticeItem)] == [
        "Action 1: the outcome is unknown; it is not run again",
        "Mode changed to: Ask (high only)",
    ]


_LAST = "Mode changed to: Accept edits"


@pytest.mark.parametrize(
    ("between", "texts"),
    [
        ("", [_LAST]),
        ("message", ["Mode changed to: Plan", _LAST]),
        ("model", ["Mode changed to: Plan", "Model changed to: other", _LAST]),
        ("both", ["Mode changed to: Plan", "Mode changed to: Ask every time, model changed to: other", _LAST]),
    ],
    ids=["nothing", "message", "model", "both"],
)
def test_notices_of_modes_next_to_each_other_become_one(between, texts):
    script = Script().start()
    script.add(ev.SettingsChanged, mode="high")
    script.add(ev.SettingsChanged, mode="plan")
    if between == "message":
        script.user("go")
    elif between:
        script.add(ev.SettingsChanged, mode="ask" if between == "both" else None, model="other")
    script.add(ev.SettingsChanged, mode="edits")

    state = script.state()

    assert state.mode == "edits"
    assert [item.text for item in state.items if isinstance(item, NoticeItem)] == texts


@pytest.mark.parametrize(
    ("modes", "before"),
    [(["plan"], "medium"), (["edits", "plan"], "edits"), (["plan", "plan"], "medium"), (["plan", "high"], "")],
    ids=["first", "changed", "twice", "left"],
)
def test_mode_before_plan_is_remembered(modes, before):
    script = Script().start()
    for mode in modes:
        script.add(ev.SettingsChanged, mode=mode)

    assert script.state().mode_before_plan == before


def test_lost_engine_leaves_nothing_running_and_everything_shown():
    state = working_session().state()
    apply(state, live.TextDelta(text="Half a sen"))

    changed = apply(state, Disconnected("the engine stopped", for_good=True))

    assert state.work == "lost"
    assert state.live is None
    assert not state.running
    assert state.actions["a7"].phase == "lost"
    cut = [item for item in changed.added if isinstance(item, AgentItem)]
    assert [(item.text, item.incomplete) for item in cut] == [("Half a sen", True)]


def test_refused_command_is_shown():
    state = SessionState()

    apply(state, CommandRefused("it is not waiting"))

    assert [item.text for item in state.items if isinstance(item, NoticeItem)] == ["it is not waiting"]


def test_commands_refused_one_after_another_for_the_same_reason_have_one_notice():
    state = SessionState()
    reasons = ["read-only", "read-only", "it is not waiting", "read-only"]

    assert [apply(state, CommandRefused(reason)).refused for reason in reasons] == reasons
    assert [item.text for item in state.items] == ["read-only", "it is not waiting", "read-only"]


def test_line_from_the_engine_is_a_notice():
    state = SessionState()

    changed = apply(state, EngineNotice("the tool weather is ignored"))

    assert [item.text for item in changed.added if isinstance(item, NoticeItem)] == ["the tool weather is ignored"]


def test_event_is_applied_once():
    script = working_session()
    state = script.state()
    before = len(state.items)

    assert apply(state, script.events[1]) == Changed()  # type: ignore[arg-type]
    assert len(state.items) == before


def test_engine_state_is_shown():
    state = SessionState()

    changed = apply(state, live.EngineState(state="thinking", detail="again in 3 s"))

    assert changed.status
    assert (state.work, state.work_detail) == ("thinking", "again in 3 s")


def test_ten_thousand_events_cost_the_same_each():
    events = list(long_session(2_000))

    state = fold(events)

    assert len(state.actions) == 2_000
    assert len(events) > 10_000


@STEADY
@given(st.text(), st.text())
def test_counted_lines_match_the_difference_in_length(before, after):
    added, removed = count_lines(before, after)

    assert added - removed == len(split_lines(after)) - len(split_lines(before))
    assert (added, removed) >= (0, 0)


def test_huge_files_are_counted_without_comparing_every_pair():
    before = "".join(f"{number}\n" for number in range(100_000))

    assert count_lines(before, "new\n" + before.replace("\n", "!\n")) == (100_001, 100_000)


def test_everything_known_about_an_action_is_on_its_page():
    script = Script().start()
    script.add(ev.ModelResponded, response_id="r", model="big-model", usage=Usage(input=7))
    delta = ev.FileDelta(path=f"{WORKSPACE}/a.py", before=BEFORE, after=AFTER)
    script.run("execute_bash", "all\nof\nit", "MEDIUM", command="make\ntest", _exit_code=2, _files=(delta,), _pid=7)
    action = script.state().actions["a1"]

    text = detail_text(action, WORKSPACE)

    for part in ("make", "all", "a.py", "allowed by you", "big-model: 7 tokens in", "pid: 7"):
        assert part in text
    assert detail_title(action) == "Action 1 · execute_bash · failed · exit 2"


BUSY = {"fallback": "two", "fallback_reason": "one is overloaded"}
ANSWERED = ev.ModelResponded(response_id="r", model="m", **BUSY)


def notices(state: SessionState) -> list[str]:
    return [item.text for item in state.items if isinstance(item, NoticeItem)]


def test_fallback_model_is_named_once_in_each_run():
    script = Script().start().user("hi")
    for number in range(2):
        script.add(ev.ModelResponded, response_id=f"r{number}", model="m", **BUSY)
    script.add(ev.ModelResponded, response_id="x", model="m", fallback="three", fallback_reason="one is overloaded")
    line = "one is overloaded: two is asked instead"
    assert notices(script.state()) == [line, "one is overloaded: three is asked instead"]
    script.add(ev.RunEnded, reason="waiting")
    script.user("and now?").add(ev.ModelResponded, response_id="y", model="m", **BUSY)
    assert notices(script.state())[-1] == line


def test_fallback_model_of_a_sub_agent_is_named():
    script = Script().start().user("hi")
    script.add(ev.DelegateStep, action_id="d", agent="scout", session="s", event=ANSWERED)
    script.add(ev.ModelResponded, response_id="x", model="m", **BUSY)
    assert notices(script.state()) == ["one is overloaded: two is asked instead"]
