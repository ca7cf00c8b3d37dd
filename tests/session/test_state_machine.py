"""Random commands, steps and kills: the guarantees of the session hold in every order."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.session.fake_agent import Harness, calls, faults_of, says
from tests.session.test_recovery import undecided_starts
from workbench.llm.model import ModelError
from workbench.session.session import CommandError

KINDS = ("low", "high", "look", "peek", "peek", "write", "bad", "unknown", "finish")
RISKS = {"low": "LOW", "high": "HIGH"}


class SessionMachine(RuleBasedStateMachine):
    @initialize(mode=st.sampled_from(["medium", "ask", "high", "never", "plan"]))
    def start(self, mode):
        self.root = Path(tempfile.mkdtemp(prefix="ohw-machine-"))
        self.lives = 0
        self.count = 0
        self.approved: set[str] = set()
        self.mode_at: str = mode
        self.harness = Harness(self.directory(), mode=mode, max_steps=4)
        self.requests_checked = 0

    def directory(self) -> Path:
        directory = self.root / str(self.lives)
        directory.mkdir(exist_ok=True)
        return directory

    def teardown(self):
        if hasattr(self, "harness"):
            self.harness.close()
            shutil.rmtree(self.root)

    def call(self, kind: str) -> tuple:
        self.count += 1
        text = f"n{self.count}"
        match kind:
            case "low" | "high":
                return ("note", {"text": text}, RISKS[kind])
            case "look" | "peek" | "finish":
                return (kind, {})
            case "write":
                return ("write", {"path": str(self.root / "shared.txt"), "text": text}, "MEDIUM")
            case "bad":
                return ("note", "{broken")
        return ("no_such_tool", {})

    @rule(kinds=st.lists(st.sampled_from(KINDS), max_size=6), text=st.sampled_from(["", "words"]))
    def the_model_will_answer(self, kinds, text):
        self.harness.agent.script.append(calls(*(self.call(kind) for kind in kinds), text=text))

    @rule(fault=st.sampled_from(["error", "broken", "cut"]))
    def the_model_will_fail(self, fault):
        if fault == "error":
            self.harness.agent.script.append(ModelError("the server is down; start it"))
        elif fault == "broken":
            self.harness.agent.script.append(says("half", incomplete=True))
        else:
            self.harness.agent.script.append(calls(self.call("high"), finish_reason="length"))

    @rule()
    def the_user_sends(self):
        self.harness.session.send("go on")

    @rule(which=st.integers(0, 5))
    def the_user_takes_a_message_back(self, which):
        waiting = self.harness.session._log.state.unread
        if waiting:
            with contextlib.suppress(CommandError):
                self.harness.session.messages.withdraw(waiting[which % len(waiting)])

    @rule(steps=st.integers(1, 6))
    def the_engine_steps(self, steps):
        for _ in range(steps):
            if not self.harness.session.step():
                return

    @precondition(lambda self: self.harness.session.question is not None)
    @rule(
        verdict=st.sampled_from(["approved", "rejected"]),
        stale=st.booleans(),
        at=st.integers(0, 5),
        stop=st.booleans(),
    )
    def the_user_decides(self, verdict, stale, at, stop):
        """Decide any of the open questions, in any order."""
        waiting = self.harness.waiting()
        question = waiting[at % len(waiting)]
        print_ = "stale" if stale else question.assessed.fingerprint
        try:
            self.harness.session.decide(question.proposed.action_id, verdict, fingerprint=print_, stop=stop)
            assert not stop or self.harness.session.phase == "idle"
        except CommandError:
            assert stale
            assert verdict == "approved"

    @rule()
    def the_user_interrupts(self):
        self.harness.session.interrupt()
        assert self.harness.session.phase == "idle"

    @rule(mode=st.sampled_from(["medium", "ask", "high", "never", "plan"]))
    def the_mode_changes(self, mode):
        self.harness.session.set(mode=mode)

    @rule()
    def somebody_else_writes_the_file(self):
        self.count += 1
        (self.root / "shared.txt").write_text(f"by hand {self.count}")

    @rule()
    def the_engine_is_killed(self):
        """Open a copy of the files as they were before the old session was closed, as after a kill."""
        old = self.harness
        self.lives += 1
        directory = self.directory()
        for file in old.directory.iterdir():
            if file.is_file() and not file.name.endswith("-shm"):
                shutil.copy(file, directory)
        script = old.agent.script
        old.close()
        self.harness = Harness(directory, max_steps=4)
        self.harness.agent.script = script
        self.requests_checked = 0

    @invariant()
    def nothing_starts_undecided(self):
        if hasattr(self, "harness"):
            assert undecided_starts(self.harness.log()) == []

    @invariant()
    def what_once_waited_is_decided_by_the_user_alone(self):
        if hasattr(self, "harness"):
            waited: set[str] = set()
            for event in self.harness.log():
                if event.kind == "action_assessed" and event.needs_decision:
                    waited.add(event.action_id)
                if event.kind == "action_decided" and event.action_id in waited:
                    assert event.by == "person"

    @invariant()
    def nothing_runs_twice(self):
        if hasattr(self, "harness"):
            notes = self.harness.notes
            assert len(notes) == len(set(notes))
            started = [event.action_id for event in self.harness.log() if event.kind == "action_started"]
            assert len(started) == len(set(started))

    @invariant()
    def every_result_is_said_once(self):
        if hasattr(self, "harness"):
            ended = [e.action_id for e in self.harness.log() if e.kind in ("action_observed", "action_abandoned")]
            assert len(ended) == len(set(ended))

    @invariant()
    def actions_of_one_answer_start_in_its_order(self):
        if hasattr(self, "harness"):
            log = self.harness.log()
            places = {e.action_id: (e.response_id, e.position) for e in log if e.kind == "action_proposed"}
            last = ("", 0)
            for event in log:
                if event.kind == "action_started":
                    place = places[event.action_id]
                    assert place[0] != last[0] or place[1] > last[1]
                    last = place

    @invariant()
    def requests_are_valid(self):
        if hasattr(self, "harness"):
            requests = self.harness.agent.requests
            for request in requests[self.requests_checked :]:
                assert faults_of(request) == []
            self.requests_checked = len(requests)

    @invariant()
    def the_state_is_what_the_log_says(self):
        if hasattr(self, "harness"):
            last = self.harness.log()[-1]
            if last.kind == "run_ended":
                assert self.harness.session.phase == "idle"
            if last.kind == "user_message":
                assert self.harness.session.phase != "idle"


SessionMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSessionMachine = SessionMachine.TestCase
