import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.fake_agent import FakeAgent, Hang, Look, NamedModel, calls, faults_of, says
from workbench.llm.model import Delta, ModelError
from workbench.session.session import CommandError
from workbench.tools.schema import Observation, TextContent

NOTE = ("note", {"text": "one"}, "HIGH")


def test_text_ends_the_run_and_waits_for_the_user(harness):
    d = harness(says("Hello, what shall I do?"))
    d.session.send("hi")
    d.run()
    assert d.kinds() == ["session_started", "user_message", "model_responded", "run_ended"]
    assert (d.session.phase, d.session.ended) == ("idle", "waiting")
    assert d.agent.requests == [[{"role": "user", "content": "hi"}]]


def test_risky_action_runs_only_after_its_approval(harness):
    d = harness(calls(NOTE), says("done"))
    d.session.send("go")
    d.run()
    assert d.session.phase == "deciding"
    assert d.notes == []
    d.answer()
    assert d.notes == ["one"]
    order = [k for k in d.kinds() if k.startswith("action")]
    assert order == ["action_proposed", "action_assessed", "action_decided", "action_started", "action_observed"]


@pytest.mark.parametrize("mode", ["medium", "ask", "high"])
def test_unknown_risk_asks(harness, mode):
    d = harness(calls(("note", {"text": "one"}, "SAFE")), mode=mode)
    d.session.send("go")
    d.run()
    assert d.session.phase == "deciding"
    assert d.notes == []


def test_action_allowed_by_the_mode_is_logged_as_decided(harness):
    d = harness(calls(NOTE, ("look", {})), mode="never")
    d.session.send("go")
    d.run()
    by = [(e.by, e.rule) for e in d.log() if e.kind == "action_decided"]
    assert by == [("mode", 'mode "Don\'t ask"'), ("rule", "read-only tool")]
    assert d.notes == ["one"]


def test_chat_message_is_never_a_decision(harness):
    d = harness(calls(NOTE), says("ok"))
    d.session.send("go")
    d.run()
    for text in ("yes", "stop, do not do that", "approved"):
        d.session.send(text)
        d.run()
    assert d.session.phase == "deciding"
    assert d.notes == []
    d.answer("rejected", note="no thanks")
    assert [m["content"] for m in d.agent.requests[-1][-3:]] == ["yes", "stop, do not do that", "approved"]
    assert faults_of(d.agent.requests[-1]) == []


def test_rejection_reaches_the_model_with_its_note(harness):
    d = harness(calls(NOTE, ("note", {"text": "two"}, "HIGH")), says("ok"))
    d.session.send("go")
    d.run()
    d.answer("rejected", note="use the other file")
    assert d.session.phase == "deciding", "the second action of the batch is asked on its own"
    d.answer()
    assert d.notes == ["two"]
    first, second = [m["content"] for m in d.agent.requests[-1] if m["role"] == "tool"]
    assert "rejected" in first
    assert "use the other file" in first
    assert second == "noted two"


def test_rejection_that_stops_ends_the_run_before_anything_else_starts(harness):
    d = harness(calls(NOTE, ("note", {"text": "two"}, "LOW")), says("ok"))
    d.session.send("go")
    d.run()
    d.answer("rejected", stop=True)
    assert (d.session.phase, d.session.ended, len(d.agent.requests)) == ("idle", "interrupted", 1)
    assert d.notes == []
    d.session.send("because of the weather")
    d.run()
    assert d.agent.requests[-1][-1]["content"] == "because of the weather"
    assert faults_of(d.agent.requests[-1]) == []


def test_decision_must_match_what_was_shown(harness):
    d = harness(calls(NOTE))
    d.session.send("go")
    d.run()
    action_id = d.session.question.proposed.action_id
    with pytest.raises(CommandError, match="changed"):
        d.session.decide(action_id, "approved", fingerprint="another")
    with pytest.raises(CommandError, match="no longer needs"):
        d.session.decide("other", "approved", fingerprint="x")
    assert d.notes == []
    d.answer()
    with pytest.raises(CommandError):
        d.session.decide(action_id, "approved", fingerprint="x")
    assert d.notes == ["one"]


def test_file_changed_after_the_approval_is_asked_again(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    d = harness(calls(("write", {"path": str(file), "text": "new"}, "HIGH")), says("ok"))
    d.session.send("go")
    d.run()
    question = d.session.question
    d.session.decide(question.proposed.action_id, "approved", fingerprint=question.assessed.fingerprint)
    file.write_text("odd")  # same size, written by another program
    d.run()
    assert d.session.phase == "deciding"
    assert file.read_text() == "odd"
    assert d.session.question.assessed.preview[0].before == "odd"
    d.answer()
    assert file.read_text() == "new"


def test_link_in_place_of_the_file_is_asked_again(harness, tmp_path: Path):
    file, other = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_text("same")
    other.write_text("same")
    d = harness(calls(("write", {"path": str(file), "text": "new"}, "HIGH")))
    d.session.send("go")
    d.run()
    question = d.session.question
    d.session.decide(question.proposed.action_id, "approved", fingerprint=question.assessed.fingerprint)
    file.unlink()
    file.symlink_to(other)
    d.run()
    assert d.session.phase == "deciding"
    assert other.read_text() == "same"


def test_changed_file_is_in_the_log_once(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old\n" * 9_000)
    d = harness(calls(("write", {"path": str(file), "text": "new\n" * 9_000})))
    d.session.send("go")
    d.run()
    observed = next(e for e in d.log() if e.kind == "action_observed")
    assert (observed.observation["old_content"], observed.observation["new_content"]) == (None, None)
    assert observed.files_changed[0].before == "old\n" * 9_000
    assert observed.files_changed[0].after == file.read_text()


def test_edited_arguments_run_and_the_model_is_notified(harness):
    d = harness(calls(NOTE), says("ok"))
    d.session.send("go")
    d.run()
    with pytest.raises(CommandError, match="do not fit"):
        d.answer("edited", edited={"txt": 1})
    d.answer("edited", edited={"text": "better"})
    assert d.notes == [], "it is HIGH, so what the person wrote is asked about too"
    d.answer()
    assert d.notes == ["better"]
    assert '"better"' in d.agent.requests[-1][-1]["content"]


def test_model_gets_the_content_that_the_observation_provides(harness):
    class Brief(Observation):
        @property
        def to_llm_content(self):
            return (TextContent(text="in short"),)

    class Talk(Look):
        def __call__(self, action):
            return Brief.from_text("at length")

    d = harness(calls(("look", {})), says("ok"))
    d.tools["look"].executor = Talk()
    d.session.send("go")
    d.run()
    assert d.agent.requests[-1][-1]["content"] == "in short"


def test_plan_mode_denies_writes_and_says_why(harness):
    d = harness(calls(NOTE, ("look", {})), says("a plan"), mode="plan")
    d.session.send("go")
    d.run()
    assert d.notes == []
    assert "plan mode" in d.results()[0]
    assert d.results()[1] == "all is well"
    assert d.agent.plan is True


def test_mode_change_does_not_approve_an_unseen_change(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    d = harness(calls(("write", {"path": str(file), "text": "new"}, "HIGH")))
    d.session.send("go")
    d.run()
    file.write_text("mine")
    d.session.set(mode="never")
    d.run()
    assert d.session.phase == "deciding"
    assert file.read_text() == "mine"


@pytest.mark.parametrize(("mode", "phase"), [("ask", "deciding"), ("plan", "idle")])
def test_action_allowed_by_an_earlier_mode_does_not_start_under_a_stricter_one(harness, mode, phase):
    d = harness(calls(NOTE), says("ok"), mode="never")
    d.session.send("go")
    d.session.step()
    assert d.kinds()[-1] == "action_decided"
    d.session.set(mode=mode)
    d.run()
    assert (d.session.phase, d.notes) == (phase, [])


def test_failing_listener_leaves_the_state_consistent_with_the_log(harness):
    d = harness(calls(NOTE), says("ok"))

    def fail(event):
        if event.kind == "model_responded":
            raise ConnectionError("the listener is gone")

    d.hook = fail
    d.session.send("go")
    with pytest.raises(ConnectionError):
        d.run()
    assert d.kinds()[-1] == "action_assessed"
    assert d.session.phase == "deciding"


def test_finish_ends_the_run_and_later_calls_get_a_result(harness):
    d = harness(calls(("finish", {"message": "All done."}), NOTE), says("again"))
    d.session.send("go")
    d.run()
    assert d.session.ended == "finished"
    assert d.log()[-1].detail == "All done."
    assert d.notes == []
    d.session.send("thanks")
    d.run()
    assert faults_of(d.agent.requests[-1]) == []
    assert "not run" in d.agent.requests[-1][-2]["content"]


def test_message_sent_meanwhile_keeps_the_run_going(harness):
    def late(messages, on_delta, cancel):
        d.session.send("one more thing")
        return calls(("finish", {}))

    d = harness(late, says("seen"))
    d.session.send("go")
    d.run()
    assert [m["content"] for m in d.agent.requests[-1] if m["role"] == "user"] == ["go", "one more thing"]
    assert d.agent.requests[-1][-1]["content"] == "one more thing"
    assert faults_of(d.agent.requests[-1]) == []


@pytest.mark.parametrize(
    "bad", [("nothing", {}), ("note", "{'text': 1,}"), ("note", {"wrong": 1}), ("note", "[]"), ("note", '{"text": "a')]
)
def test_unreadable_call_is_an_error_result(harness, bad):
    d = harness(calls(bad, ("look", {})), says("ok"))
    d.session.send("go")
    d.run()
    first, second = [e for e in d.log() if e.kind == "action_observed"]
    assert first.observation["is_error"]
    assert not first.ran
    assert second.ran
    assert faults_of(d.agent.requests[-1]) == []


def test_call_cut_by_the_length_limit_never_runs(harness):
    d = harness(calls(NOTE, finish_reason="length"), says("ok"), mode="never")
    d.session.send("go")
    d.run()
    assert d.notes == []
    assert "length limit" in d.results()[0]


def test_three_unreadable_responses_pause_the_run(harness):
    d = harness(*(calls(("note", "{broken"), ("note", "no")) for _ in range(5)))
    d.session.send("go")
    d.run()
    assert d.session.ended == "stuck"
    assert len(d.agent.requests) == 3
    d.agent.script = [says("sorry")]
    d.session.send("try again")
    d.run()
    assert faults_of(d.agent.requests[-1]) == []


def test_empty_response_is_nudged_once(harness):
    d = harness(says("", reasoning="hm"), says(" "), says("never asked"))
    d.session.send("go")
    d.run()
    assert d.session.ended == "error"
    assert "empty" in d.log()[-1].detail
    assert [m["role"] for m in d.agent.requests[1]] == ["user", "user"]
    d.session.send("and now?")
    d.run()
    assert d.session.ended == "waiting"


def test_limit_pauses_and_a_message_continues(harness):
    d = harness(*(calls(("look", {})) for _ in range(5)), max_steps=2)
    d.session.send("go")
    d.run()
    assert (d.session.ended, len(d.agent.requests)) == ("limit", 2)
    d.session.set(max_steps=1)
    d.session.send("on")
    d.run()
    assert (d.session.ended, len(d.agent.requests)) == ("limit", 3)


def test_failed_model_call_ends_the_run_with_its_message(harness):
    d = harness(ModelError("no key for fake/one; set FAKE_KEY"), says("back again"))
    d.session.send("go")
    d.run()
    assert d.session.ended == "error"
    assert d.log()[-1].detail == "no key for fake/one; set FAKE_KEY"
    d.session.send("again")
    d.run()
    assert d.session.ended == "waiting"


def test_interrupted_response_is_kept_and_marked(harness):
    d = harness(says("half a sent", incomplete=True), says("whole"))
    d.session.send("go")
    d.run()
    assert d.session.ended == "error"
    d.session.send("go on")
    d.run()
    assert "half a sent" in d.agent.requests[-1][1]["content"]
    assert "cut off" in d.agent.requests[-1][1]["content"]


def test_changed_model_is_opened_for_the_next_call(harness):
    opened = []

    def open_model(name):
        opened.append(NamedModel(name))
        return opened[-1]

    d = harness(says("one"), says("two"), open_model=open_model)
    first = d.agent.model
    d.session.send("go")
    d.run()
    d.session.set(model="fake/two")
    d.session.send("on")
    d.run()
    assert d.agent.model is opened[-1]
    assert d.agent.model.name == "fake/two"
    assert first.closed
    assert [model.closed for model in opened] == [True, False]  # the first one only to check that it opens


def test_model_that_cannot_be_opened_is_refused_and_the_current_one_stays(harness):
    def open_model(name):
        raise ModelError(f"there is no model {name}")

    d = harness(says("one"), open_model=open_model)
    with pytest.raises(ModelError, match="there is no model fake/none"):
        d.session.set(model="fake/none", mode="ask")
    d.session.send("go")
    d.run()
    assert "settings_changed" not in d.kinds()
    assert "run_ended" in d.kinds()


def test_model_that_can_no_longer_be_opened_ends_the_run_with_its_message(harness):
    known = ["fake/two"]

    def open_model(name):
        if name not in known:
            raise ModelError(f"there is no model {name}")
        return NamedModel(name)

    d = harness(says("one"), open_model=open_model)
    d.session.set(model="fake/two")
    known.clear()
    d.session.send("go")
    d.run()
    assert d.log()[-1].detail == "there is no model fake/two"


@pytest.mark.parametrize("kind", ["key", "quota", ""])
@pytest.mark.parametrize("model", ["", "house"], ids=["own", "fallback"])
def test_run_that_the_model_ends_records_the_kind_of_failure(harness, kind, model):
    d = harness(ModelError("it failed", kind=kind, model=model))
    d.session.send("go")
    d.run()
    assert d.log()[-1].reason == "error"
    assert (d.log()[-1].fault, d.log()[-1].model) == (kind, model)


def test_reopened_model_is_opened_again_for_the_next_call(harness):
    opened, reloads = [], []

    def open_model(name):
        opened.append(NamedModel(name))
        return opened[-1]

    d = harness(says("one"), says("two"), says("three"), open_model=open_model, reload_models=lambda: reloads.append(1))
    first = d.agent.model
    d.session.send("go")
    d.run()
    d.session.reopen_model()
    assert reloads == [1]
    for text in ("on", "and on"):
        d.session.send(text)
        d.run()
    assert d.agent.model is opened[-1]
    assert first.closed
    assert [model.closed for model in opened] == [False]
    assert "settings_changed" not in d.kinds()


def test_model_that_cannot_be_reopened_ends_each_run_until_it_can(harness):
    errors = [ModelError("no key for it", kind="key")] * 2

    def open_model(name):
        if errors:
            raise errors.pop()
        return NamedModel(name)

    d = harness(says("one"), open_model=open_model)
    d.session.reopen_model()
    for _ in range(2):
        d.session.send("go")
        d.run()
        assert (d.log()[-1].detail, d.log()[-1].fault) == ("no key for it", "key")
    d.session.send("go")
    d.run()
    assert d.session.ended == "waiting"


def test_deltas_and_tool_output_are_live_only(harness):
    d = harness(calls(("note", {"text": "one"}), text="I note it."))
    d.session.send("go")
    d.run()
    kinds = [event.kind for event in d.live]
    assert "text_delta" in kinds
    assert "tool_output" in kinds
    assert not set(kinds) & set(d.kinds())
    assert [event.seq for event in d.events] == list(range(2, d.store.last_seq + 1))


def interrupted(d, started: threading.Event, then: Callable[[], None] = lambda: None) -> None:
    """Run until `started`, interrupt from another thread, call `then`, and wait until the session is idle."""
    runner = threading.Thread(target=d.run, daemon=True)
    runner.start()
    assert started.wait(60)
    d.session.interrupt()
    then()
    runner.join(60)
    assert not runner.is_alive()


def test_interrupt_reaches_a_running_tool(harness):
    d = harness(calls(("hang", {}), NOTE), says("ok"))
    d.session.send("go")
    interrupted(d, d.hang.began)
    assert (d.session.phase, d.session.ended) == ("idle", "interrupted")
    assert d.results()[0] == "came to an end"
    assert "not run" in d.results()[1]
    d.session.send("go on")
    d.run()
    assert faults_of(d.agent.requests[-1]) == []


def test_tool_that_ignores_an_interrupt_is_abandoned(harness):
    d = harness(calls(("hang", {}), ("note", {"text": "a"})), calls(("note", {"text": "b"})), hang=Hang(deaf=True))
    d.session.send("go")
    interrupted(d, d.hang.began)
    assert d.session.ended == "interrupted"
    assert "action_abandoned" in d.kinds()
    d.session.send("go on")
    d.run()
    assert d.notes == ["b"]
    assert "unknown" in d.agent.requests[-1][2]["content"]


def test_tool_that_missed_the_interrupt_is_interrupted_again(harness):
    class Sleepy(Hang):
        told = 0

        def interrupt(self) -> None:
            self.told += 1
            if self.told > 1:
                self.released.set()

    d = harness(calls(("hang", {})), hang=Sleepy())
    d.session.send("go")
    interrupted(d, d.hang.began)
    assert d.hang.released.is_set()


def test_tool_whose_interrupt_fails_is_abandoned(harness):
    class Broken(Hang):
        def interrupt(self) -> None:
            raise RuntimeError("cannot stop")

    d = harness(calls(("hang", {})), hang=Broken())
    d.session.send("go")
    interrupted(d, d.hang.began)
    assert d.session.ended == "interrupted"
    assert "action_abandoned" in d.kinds()


def test_message_sent_while_an_interrupted_tool_ends_is_handled(harness):
    d = harness(calls(("hang", {}), NOTE), says("ok"), hang=Hang(deaf=True))
    d.session.send("go")

    def redirect():
        d.session.send("do this instead")
        d.hang.released.set()

    interrupted(d, d.hang.began, redirect)
    d.run()
    assert (d.session.ended, d.notes) == ("waiting", [])
    assert d.agent.requests[-1][-1]["content"] == "do this instead"
    assert faults_of(d.agent.requests[-1]) == []


def test_message_sent_while_an_interrupted_model_ends_is_handled(harness):
    began, sent = threading.Event(), threading.Event()

    def slow(messages, on_delta, cancel):
        began.set()
        assert sent.wait(30)
        return calls(NOTE, text="I wi", incomplete=True)

    d = harness(slow, says("ok"), mode="never")
    d.session.send("go")

    def redirect():
        d.session.send("do this instead")
        sent.set()

    interrupted(d, began, redirect)
    d.run()
    assert (d.session.ended, d.notes) == ("waiting", [])
    assert d.agent.requests[-1][-1]["content"] == "do this instead"
    assert faults_of(d.agent.requests[-1]) == []


def test_interrupt_reaches_a_running_model(harness):
    began = threading.Event()

    def slow(messages, on_delta, cancel):
        on_delta(Delta("text", "I wi"))
        began.set()
        assert cancel.wait(30)
        return calls(NOTE, text="I wi", incomplete=True)

    d = harness(slow, says("ok"), mode="never")
    d.session.send("go")
    interrupted(d, began)
    assert (d.session.phase, d.session.ended, d.notes) == ("idle", "interrupted", [])
    d.session.send("go on")
    d.run()
    assert faults_of(d.agent.requests[-1]) == []
    assert "I wi" in d.agent.requests[-1][1]["content"]


def test_model_that_ignores_an_interrupt_is_abandoned_with_its_response(harness):
    began, release = threading.Event(), threading.Event()

    def deaf(messages, on_delta, cancel):
        began.set()
        assert release.wait(60)
        return calls(NOTE)

    d = harness(deaf, says("fresh"), mode="never")
    d.session.send("go")
    interrupted(d, began)
    release.set()
    d.session.send("go on")
    d.run()
    assert (d.session.ended, d.notes) == ("waiting", [])


def test_interrupt_during_a_question_ends_the_run(harness):
    d = harness(calls(NOTE, NOTE), says("ok"))
    d.session.send("go")
    d.run()
    d.session.send("queued")
    d.session.interrupt()
    assert (d.session.phase, d.session.ended) == ("idle", "interrupted")
    assert len(d.results()) == 2
    d.run()
    d.session.send("more")
    d.run()
    user_messages = [m["content"] for m in d.agent.requests[-1] if m["role"] == "user"]
    assert user_messages == ["go", "queued", "more"], "a queued prompt is neither lost nor sent twice"


def test_interrupt_of_an_idle_session_does_nothing(harness):
    d = harness(says("hi"))
    d.session.interrupt()
    d.session.send("go")
    d.run()
    assert d.session.ended == "waiting"
    assert "interrupted" not in [getattr(e, "reason", "") for e in d.log()]


def test_internal_error_ends_the_run_and_the_session_stays_usable(harness):
    def broken(messages, on_delta, cancel):
        raise ZeroDivisionError("ours")

    d = harness(calls(("look", {})), broken, says("well again"))
    d.session.send("go")
    with pytest.raises(ZeroDivisionError):
        d.run()
    d.session.fail("a fault of the workbench")
    assert (d.session.phase, d.session.ended) == ("idle", "error")
    d.session.send("again")
    d.run()
    assert d.session.ended == "waiting"


def test_approval_withdrawn_before_the_start_is_not_run(harness):
    d = harness(calls(NOTE))
    d.session.send("go")
    d.run()
    question = d.session.question
    d.session.decide(question.proposed.action_id, "approved", fingerprint=question.assessed.fingerprint)
    d.session.interrupt()
    d.run()
    assert d.notes == []
    assert "not run" in d.results()[0]


def test_exit_ends_the_run_and_blank_text_is_refused(harness):
    d = harness(calls(NOTE))
    d.session.send("go")
    d.run()
    d.session.send("/exit")
    assert d.session.ended == "interrupted"
    with pytest.raises(CommandError):
        d.session.send("  \n")


def test_forty_calls_are_decided_and_answered_in_order(harness):
    expected = [("note", {"text": f"n{i}"}, "HIGH" if i == 20 else "LOW") for i in range(40)]
    d = harness(calls(*expected), says("ok"))
    d.session.send("go")
    d.run()
    assert d.notes == [f"n{i}" for i in range(20)]
    d.answer("rejected")
    assert d.notes == [f"n{i}" for i in range(40) if i != 20]
    answered = [m["tool_call_id"] for m in d.agent.requests[-1] if m["role"] == "tool"]
    assert answered == [call["id"] for call in d.agent.requests[-1][1]["tool_calls"]]
    assert json.dumps(d.agent.requests[-1])


def test_repeated_ids_are_made_unique(harness):
    first, second = calls(("look", {})), calls(("look", {}))
    twin = type(second)(id="same", model="m", tool_calls=(first.tool_calls[0], first.tool_calls[0]))
    d = harness(first, twin, says("ok"))
    d.session.send("go")
    d.run()
    assert d.results() == ["all is well"] * 3
    assert faults_of(d.agent.requests[-1]) == []


def test_agent_gets_the_whole_history(harness):
    d = harness(calls(("look", {}), text="Let me look."), says("Fine."))
    assert isinstance(d.agent, FakeAgent)
    d.session.send("how is it?")
    d.run()
    assert [m["role"] for m in d.agent.requests[-1]] == ["user", "assistant", "tool"]
    assert d.agent.requests[-1][1]["content"] == "Let me look."
