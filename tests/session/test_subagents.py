"""Sub-agents: sessions that run inside an action of their parent and ask in the same place."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.sandbox import bash, finish, wait_for
from tests.session.fake_agent import faults_of
from tests.subagent_scripts import delegating
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.events import ActionObserved, DelegateStep, Event, ModelResponded, SessionStarted, UserMessage
from workbench.protocol.usage import Usage
from workbench.session.limits import Limits, TokenCount
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.session_names import new_id, session_path
from workbench.session.state import State
from workbench.session.storage.session_list import find_session, last_session, list_sessions
from workbench.session.storage.store import Store
from workbench.session.storage.store_files import delete_file
from workbench.session.sub_agent_budget import Budget, BudgetExhausted
from workbench.session.sub_agents import delegate_step
from workbench.session.turn.message_history import messages
from workbench.tools.delegate.definition import AgentDelegateAction, DelegateTool

LONG = 60
ONE_QUESTION = {"writer": [bash("touch one", risk="HIGH"), finish("Written.")]}


class Place:
    """A session with sub-agents, driven in a thread of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "project"
        self.directory.mkdir()
        self.where = Locations(directory / "c", directory / "d", directory / "s", directory / "r")
        self.script = directory / "script.toml"
        self.events: list[Event] = []
        self.id = new_id("parent")
        self.opened: OpenedSession | None = None
        self.thread: threading.Thread | None = None
        self.is_left = False

    def start(self, agents, /, *then, mode: str = "never", tools: dict | None = None, **limits: float) -> None:
        model = delegating(self.script, agents, *then)
        self.settings = Settings(model=model, mode=mode, tools=tools or {}, **limits)
        self.opened = start_session(self.where, self.settings, self.directory, self.id, **self.heard)
        self.opened.session.send("share the work")
        self.go_on()

    def leave(self) -> None:
        """End as an engine without a screen does, while a sub-agent's question is open."""
        self.is_left = True
        assert self.opened.delegates.leave()
        self.join()

    def kill(self) -> None:
        """Open the session again from the files that a kill would have left now."""
        files = {path: self.log(path.stem) for path in self.where.sessions.glob("*.session")}
        self.close()
        for path, events in files.items():
            delete_file(path)
            with Store.create(path) as store:
                store.append(*events)
        self.events = files[session_path(self.where, self.id)]
        self.reopen()

    def reopen(self) -> None:
        self.is_left = False
        self.opened.close()
        self.opened = open_session(self.where, self.settings, self.id, **self.heard)

    @property
    def heard(self):
        return {"on_event": self.events.append, "on_live": lambda event: None}

    def go_on(self) -> None:
        self.thread = threading.Thread(target=self.drive, daemon=True)
        self.thread.start()

    def drive(self) -> None:
        while self.opened.session.step() and not self.is_left:
            pass

    def join(self) -> None:
        self.thread.join(LONG)
        assert not self.thread.is_alive()

    def waiting(self) -> list[DelegateStep]:
        """Return the open questions of sub-agents, according to the parent's log."""
        open_: dict[str, DelegateStep] = {}
        for event in list(self.events):
            if isinstance(event, DelegateStep) and event.event.kind == "action_assessed" and event.event.needs_decision:
                open_[event.event.action_id] = event
            elif isinstance(event, DelegateStep) and event.event.kind in ("action_decided", "action_observed"):
                open_.pop(event.event.action_id, None)
        return list(open_.values())

    def decide(self, step: DelegateStep, verdict: str) -> None:
        print_ = step.event.fingerprint
        assert self.opened.delegates.command(
            step.event.action_id, lambda session, name: session.decide(name, verdict, fingerprint=print_)
        )

    def results(self) -> list[str]:
        """Return the results of the parent's calls, without `finish`."""
        seen = [event for event in self.log() if isinstance(event, ActionObserved)]
        return [event.observation["content"][0]["text"] for event in seen][:-1]

    def log(self, name: str = "") -> list[Event]:
        with Store.open(session_path(self.where, name or self.id), readonly=True) as store:
            return list(store.events())

    def children(self) -> list[str]:
        return [entry.id for entry in list_sessions(self.where) if entry.parent]

    def close(self) -> None:
        if self.opened is None:
            return
        self.opened.session.interrupt()
        if self.thread is not None:
            self.thread.join(LONG)
        self.opened.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


def question(place: Place, count: int = 1) -> Callable[[], bool]:
    return lambda: len(place.waiting()) == count


def test_final_message_of_a_sub_agent_is_the_result(place):
    place.start({"writer": [bash("echo one > one.txt", risk="MEDIUM"), finish("I wrote one.txt.\nNothing else.")]})
    place.join()
    assert place.results() == ["I wrote one.txt.\nNothing else."]
    assert (place.directory / "one.txt").read_text() == "one\n"
    assert place.opened.session.ended == "finished"
    assert faults_of(messages(place.log())) == []


def test_sub_agent_has_its_own_log_that_names_its_parent(place):
    place.start({"writer": [bash("echo one"), finish("Written.")]})
    place.join()
    (child,) = place.children()
    started = place.log(child)[0]
    assert isinstance(started, SessionStarted)
    assert (started.parent, started.mode) == (place.id, "never")
    assert "delegate" in place.log()[0].tools
    assert "delegate" not in started.tools
    assert place.log(child)[-1].kind == "run_ended"
    assert last_session(place.where).id == place.id


def test_parents_log_contains_the_steps_with_their_cost(place):
    place.start({"writer": [bash("echo one"), finish("Written.")]})
    place.join()
    (child,) = place.children()
    steps = [event for event in place.log() if isinstance(event, DelegateStep)]
    assert {(step.agent, step.session) for step in steps} == {("writer", child)}
    assert [step.event.tool for step in steps if step.event.kind == "action_proposed"] == ["execute_bash", "finish"]
    answers = [step.event for step in steps if step.event.kind == "model_responded"]
    costs = [event.cost for event in (*place.log(), *answers) if event.kind == "model_responded"]
    assert len(costs) == 4
    expected = None if None in costs else pytest.approx(sum(costs))
    assert find_session(place.where, place.id).cost == expected


def test_cost_of_sub_agents_counts_towards_the_limits_of_the_run():
    count = TokenCount()
    count.apply(UserMessage(text="go"))
    spent = ModelResponded(response_id="r", model="m", usage=Usage(input=100, output=20), cost=0.5)
    count.apply(delegate_step("a1", "writer", "child", spent))
    assert (count.spent, count.cost, count.unpriced) == (120, 0.5, "")
    count.apply(delegate_step("a1", "writer", "child", replace(spent, cost=None)))
    assert count.unpriced == "m"


def test_sub_agents_action_waits_for_the_user_and_runs_after_approval(place):
    place.start({"writer": [bash("echo one > one.txt", risk="HIGH"), finish("Written.")]}, mode="medium")
    wait_for(question(place), "the question")
    assert not (place.directory / "one.txt").exists()
    assert place.opened.delegates.waiting[0].agent == "writer"
    place.decide(place.waiting()[0], "approved")
    place.join()
    assert place.results() == ["Written."]
    assert (place.directory / "one.txt").exists()
    (child,) = place.children()
    kinds = [event.kind for event in place.log(child)]
    assert kinds.index("action_decided") < kinds.index("action_started")


def edit(file: Path) -> dict[str, Any]:
    arguments = {"command": "str_replace", "path": str(file), "old_str": "old", "new_str": "new"}
    return {"tool": "str_replace_editor", "arguments": arguments, "risk": "HIGH"}


@pytest.mark.parametrize("is_resumed", [False, True], ids=["running", "resumed"])
def test_sub_agents_question_is_asked_again_when_its_file_changes(place, is_resumed):
    file = place.directory / "notes.txt"
    file.write_text("old\n")
    place.start({"writer": [edit(file), finish("Written.")]}, mode="ask")
    wait_for(question(place), "the question")
    if is_resumed:
        place.kill()
        place.go_on()
        wait_for(lambda: place.opened.delegates.waiting, "the sub-agent to wait again")
    (before,) = place.waiting()
    file.write_text("mine, old\n")
    wait_for(lambda: [step.event.preview[0].before for step in place.waiting()] == ["mine, old\n"], "the new question")
    (again,) = place.waiting()
    assert again.event.fingerprint != before.event.fingerprint
    place.decide(again, "approved")
    place.join()
    assert file.read_text() == "mine, new\n"


def test_rejected_action_of_a_sub_agent_does_not_run(place):
    place.start({"writer": [bash("echo one > one.txt", risk="HIGH"), finish("Then not.")]}, mode="medium")
    wait_for(question(place), "the question")
    place.decide(place.waiting()[0], "rejected")
    place.join()
    assert place.results() == ["Then not."]
    assert not (place.directory / "one.txt").exists()


def test_refusal_to_a_sub_agent_makes_its_parent_ask_too(place):
    agents = {"writer": [bash("touch one.txt"), finish("I may not.")]}
    place.start(agents, bash("echo > one.txt"), rules=("deny $ touch *",))
    wait_for(lambda: place.opened.session.question is not None, "the question")
    assessed = place.opened.session.question.assessed
    assert assessed.rule == "the same was refused before in this run"
    assert not (place.directory / "one.txt").exists()


def test_sub_agents_of_one_response_run_in_parallel(place):
    meet = "touch {0}; for i in $(seq 600); do [ -e {1} ] && break; sleep 0.05; done; test -e {1}"
    place.start(
        {
            "left": [bash(meet.format("l", "r")), finish("left has met")],
            "right": [bash(meet.format("r", "l")), finish("right has met")],
        }
    )
    place.join()
    assert sorted(place.results()) == ["left has met", "right has met"]
    ran = [step.event for step in place.log() if isinstance(step, DelegateStep)]
    seen = [event.observation for event in ran if event.kind == "action_observed"]
    assert [result["exit_code"] for result in seen if "exit_code" in result] == [0, 0]
    sent = [message["content"] for message in messages(place.log()) if message["role"] == "tool"]
    assert sent[:2] == ["left has met", "right has met"]


def test_questions_of_two_sub_agents_are_decided_in_any_order(place):
    work = {name: [bash(f"touch {name}", risk="HIGH"), finish(name)] for name in ("left", "right")}
    place.start(work, mode="medium")
    wait_for(question(place, 2), "both questions")
    by_agent = {step.agent: step for step in place.waiting()}
    place.decide(by_agent["right"], "approved")
    wait_for(question(place, 1), "one to be left")
    place.decide(by_agent["left"], "rejected")
    place.join()
    assert sorted(place.results()) == ["left", "right"]
    assert [path.name for path in place.directory.iterdir()] == ["right"]


def test_mode_change_leaves_a_sub_agents_question_to_the_user(place):
    work = [bash("touch one", risk="HIGH"), bash("touch two", risk="HIGH"), finish("Written.")]
    place.start({"writer": work}, mode="medium")
    wait_for(question(place), "the question")
    place.opened.session.set(mode="never")
    place.opened.delegates.set_mode("never")
    time.sleep(0.5)  # long enough to notice what must not happen
    assert not (place.directory / "one").exists()
    place.decide(place.waiting()[0], "approved")
    place.join()
    assert (place.directory / "one").exists()
    assert (place.directory / "two").exists(), "what was proposed after the change runs by the new mode"


def test_plan_mode_applies_to_sub_agents(place):
    place.start({"writer": [bash("touch one"), finish("I only looked.")]}, mode="plan")
    place.join()
    (child,) = place.children()
    refused = next(event for event in place.log(child) if isinstance(event, ActionObserved))
    assert not refused.ran
    assert not (place.directory / "one").exists()
    assert place.results() == ["I only looked."]


def test_interrupt_ends_a_working_sub_agent(place):
    place.start({"writer": [bash("touch began; sleep 600"), finish("Never.")]})
    wait_for((place.directory / "began").exists, "the command to run")
    place.opened.session.interrupt()
    place.join()
    (child,) = place.children()
    assert place.opened.session.ended == "interrupted"
    assert (place.log(child)[-1].kind, place.log(child)[-1].reason) == ("run_ended", "interrupted")
    assert place.opened.delegates.waiting == []


def test_stopped_sub_agent_is_reported_as_stopped_although_its_command_ignores_that(place):
    place.start({"writer": [bash("trap '' INT; touch began; while :; do sleep 0.1; done"), finish("Never.")]})
    wait_for((place.directory / "began").exists, "the command to run")
    place.opened.session.interrupt()
    place.join()
    (observed,) = [event.observation for event in place.log() if isinstance(event, ActionObserved)]
    assert observed["content"][0]["text"] == "The sub-agent was stopped."


def test_interrupt_ends_a_waiting_sub_agent(place):
    place.start({"writer": [bash("touch one", risk="HIGH"), finish("Never.")]}, mode="medium")
    wait_for(question(place), "the question")
    place.opened.session.interrupt()
    place.join()
    (child,) = place.children()
    assert place.opened.session.ended == "interrupted"
    assert place.log(child)[-1].reason == "interrupted"
    assert place.waiting() == []


def calls(place) -> list[Event]:
    """Return the events of the parent's own calls."""
    kinds = ("action_started", "action_observed", "action_abandoned")
    return [event for event in place.log() if event.kind in kinds]


def test_question_nobody_can_answer_stays_open_and_is_asked_again(place):
    place.start(ONE_QUESTION, mode="medium")
    wait_for(question(place), "the question")
    place.leave()
    assert [event.kind for event in calls(place)] == ["action_started"]
    place.reopen()
    place.go_on()
    wait_for(lambda: place.opened.delegates.waiting, "the sub-agent to wait again")
    assert place.opened.delegates.waiting[0].agent == "writer"
    place.decide(place.waiting()[0], "approved")
    place.join()
    assert (place.directory / "one").exists()
    assert place.results() == ["Written."]
    assert place.opened.session.ended == "finished"
    (child,) = place.children()
    assert [event.kind for event in place.log(child)].count("action_started") == 2  # the command, and its end
    assert faults_of(messages(place.log())) == []


def test_outcome_of_its_own_sub_agent_is_the_result_of_a_resumed_call(place):
    place.start(ONE_QUESTION, mode="medium")
    wait_for(question(place), "the question")
    place.leave()
    place.opened.close()
    (child,) = place.children()
    alone = open_session(place.where, place.settings, child, on_event=lambda event: None, on_live=lambda event: None)
    try:
        asked = alone.session.question
        alone.session.decide(asked.proposed.action_id, "approved", fingerprint=asked.assessed.fingerprint)
        while alone.session.step():
            pass
    finally:
        alone.close()
    place.reopen()
    place.go_on()
    place.join()
    assert place.results() == ["Written."]
    steps = [event.event for event in place.log() if isinstance(event, DelegateStep)]
    # Each reported once, even steps made while the parent was gone.
    assert [step.seq for step in steps] == sorted({step.seq for step in steps})
    assert [step.kind for step in steps].count("action_observed") == 2
    assert place.waiting() == []


def test_sub_agents_question_is_asked_again_after_a_kill_and_the_call_continues(place):
    place.start(ONE_QUESTION, mode="medium")
    wait_for(question(place), "the question")
    place.kill()
    assert place.opened.session.phase == "acting"
    assert [event.kind for event in calls(place)] == ["action_started"]
    place.go_on()
    wait_for(lambda: place.opened.delegates.waiting, "the sub-agent to wait again")
    place.decide(place.waiting()[0], "rejected")
    place.join()
    assert place.results() == ["Written."]
    assert [event.kind for event in calls(place)][:2] == ["action_started", "action_observed"]
    assert not (place.directory / "one").exists()


def test_killed_session_asks_again_for_waiting_sub_agents_and_abandons_the_others(place):
    wait = "touch began; while [ ! -e go ]; do sleep 0.05; done"
    place.start(ONE_QUESTION | {"busy": [bash(wait), finish("Never.")]}, mode="high")
    wait_for(question(place), "the question")
    wait_for((place.directory / "began").exists, "the other to work")
    place.kill()
    abandoned = [event for event in place.log() if event.kind == "action_abandoned"]
    assert len(abandoned) == 1
    busy = next(event.session for event in place.log() if isinstance(event, DelegateStep) and event.agent == "busy")
    assert abandoned[0].known == f"its actions are in its own log, session {busy}"
    assert place.opened.session.phase == "acting"
    place.go_on()
    wait_for(lambda: place.opened.delegates.waiting, "the sub-agent to wait again")
    place.decide(place.waiting()[0], "approved")
    place.join()
    assert place.results() == ["Written."]
    assert place.opened.session.ended == "finished"
    assert faults_of(messages(place.log())) == []


def test_early_answer_waits_until_the_sub_agent_is_open_again(place):
    place.start(ONE_QUESTION, mode="medium")
    wait_for(question(place), "the question")
    place.kill()
    early = threading.Thread(target=place.decide, args=(place.waiting()[0], "approved"))
    early.start()
    place.go_on()
    early.join(LONG)
    place.join()
    assert place.results() == ["Written."]
    assert (place.directory / "one").exists()


def test_leaving_before_the_sub_agent_is_open_again_keeps_its_question(place):
    place.start(ONE_QUESTION, mode="medium")
    wait_for(question(place), "the question")
    place.kill()
    place.is_left = True
    assert place.opened.delegates.leave()
    place.go_on()
    place.join()
    assert [event.kind for event in calls(place)] == ["action_started"]
    place.reopen()
    place.go_on()
    wait_for(lambda: place.opened.delegates.waiting, "the sub-agent to wait again")
    place.decide(place.waiting()[0], "approved")
    place.join()
    assert place.results() == ["Written."]


def test_resumed_call_can_be_interrupted(place):
    place.start(ONE_QUESTION, mode="medium")
    wait_for(question(place), "the question")
    place.kill()
    place.go_on()
    wait_for(lambda: place.opened.delegates.waiting, "the sub-agent to wait again")
    place.opened.session.interrupt()
    place.join()
    assert place.opened.session.ended == "interrupted"
    assert place.opened.delegates.waiting == []


def test_session_killed_while_its_sub_agent_works_reports_an_unknown_outcome(place):
    place.start({"busy": [bash("touch began; while [ ! -e go ]; do sleep 0.05; done"), finish("Never.")]})
    wait_for((place.directory / "began").exists, "the sub-agent to work")
    place.kill()
    assert place.opened.session.phase == "idle"
    log = place.log()
    assert [event.kind for event in log][-2:] == ["action_abandoned", "run_ended"]
    assert [event.kind for event in log].count("action_started") == 1
    (child,) = place.children()
    assert log[-2].known == f"its actions are in its own log, session {child}"
    assert log[-2].known in messages(log)[-1]["content"]


def test_sub_agent_has_its_own_step_limit(place):
    place.start({"busy": [bash(f"echo {number}") for number in range(6)]}, tools={"delegate": {"max_steps": 2}})
    place.join()
    (text,) = place.results()
    assert text.startswith("The sub-agent did not finish: limit, paused after 2 model calls")
    assert place.opened.session.ended == "finished"


def test_sub_agent_gets_no_more_steps_than_its_parent_has_left(place):
    place.start({"busy": [bash(f"echo {number}") for number in range(6)]}, max_steps=3)
    place.join()
    (text,) = place.results()
    assert "limit, paused after 2 model calls (max_steps)" in text
    assert place.opened.session.ended == "finished"


def test_no_sub_agent_starts_once_the_parents_limit_is_reached(place):
    place.start({"late": [bash("touch late"), finish("Late.")]}, max_steps=1)
    place.join()
    first = next(event for event in place.log() if isinstance(event, ActionObserved))
    text = first.observation["content"][0]["text"]
    assert "could not be started: nothing is left for it, the run paused after 1 model call" in text
    assert place.children() == []
    assert place.opened.session.ended == "limit"
    assert not (place.directory / "late").exists()


def test_sub_agents_share_the_remaining_tokens_of_the_run(place):
    work = {name: [bash(f"touch {name}{number}") for number in range(6)] for name in ("left", "right")}
    place.start(work, token_limit=7_000)
    place.join()
    seen = [event.observation["content"][0]["text"] for event in place.log() if isinstance(event, ActionObserved)]
    assert len(seen) == 2
    assert all("its parent run paused after" in said and "(token_limit 7,000)" in said for said in seen)
    assert place.opened.session.ended == "limit"
    steps = [event.event for event in place.log() if isinstance(event, DelegateStep)]
    spent = [step.usage.input for step in steps if isinstance(step, ModelResponded)]
    assert sum(spent) < 12_000  # each of them may have begun one more call


def test_sub_agents_share_the_remaining_cost_of_the_run():
    paid = Limits(max_cost=0.5)
    count = TokenCount()
    count.apply(UserMessage(text="go"))
    count.apply(ModelResponded(response_id="r", model="m", cost=0.2))
    allowance = Budget(paid, State(), count)
    child = allowance.of(paid)
    assert child.reached(State(), TokenCount()) is None
    count.apply(delegate_step("a1", "other", "child", ModelResponded(response_id="r2", model="m", cost=0.4)))
    end = child.reached(State(), TokenCount())
    assert end.detail == "its parent run paused after $0.60 (max_cost $0.50). Send a message to continue"
    with pytest.raises(BudgetExhausted, match="nothing is left"):
        allowance.steps(5)


def test_sub_agent_cannot_start_sub_agents(place):
    place.start({"writer": [{"tool": "delegate", "arguments": {"agent": "a", "inputs": "b"}}, finish("Alone then.")]})
    place.join()
    (child,) = place.children()
    refused = next(event for event in place.log(child) if isinstance(event, ActionObserved))
    assert not refused.ran
    assert "delegate" in refused.observation["content"][0]["text"]
    assert place.results() == ["Alone then."]


def test_sub_agent_that_cannot_start_is_an_error_and_the_agent_continues(place):
    model = delegating(place.script, {"writer": [finish("Never.")]})
    place.opened = start_session(
        place.where, Settings(model=model, mode="never"), place.directory, place.id, **place.heard
    )
    place.script.write_text("not a script")  # it is read again in each session
    place.opened.session.send("share the work")
    place.go_on()
    place.join()
    (text,) = place.results()
    assert text.startswith("The sub-agent could not be started: the script")


def test_tools_outside_a_session_have_no_sub_agents():
    tool = DelegateTool()
    seen = tool(AgentDelegateAction(agent="a", inputs="b"))
    assert seen.is_error
    assert "Do the task yourself" in seen.content[0].text
