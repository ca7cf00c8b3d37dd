"""Actions of one response that only read run in parallel, four at most; all others keep their order."""

import threading
from contextlib import ExitStack

import pytest

from tests.session.fake_agent import calls, faults_of, says
from tests.session.test_recovery import full_disk, undecided_starts
from workbench.session.actions.run import runs_beside
from workbench.session.recovery import after_a_stop
from workbench.session.state import State
from workbench.tools.context import ToolContext
from workbench.tools.executor import ToolExecutor
from workbench.tools.registry import open_tools
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

LONG = 30


class MeetAction(Action):
    name: str = ""
    party: int = 1


class Meet(ToolExecutor[MeetAction, Observation]):
    """Returns when `party` calls are inside at once, or when it is interrupted."""

    side_by_side = True

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside = self.most = 0
        self.arrived: list[str] = []
        self.is_over = False
        self.deaf = ""

    def __call__(self, action: MeetAction) -> Observation:
        with self.changed:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.arrived.append(action.name)
            self.changed.notify_all()
            met = self.changed.wait_for(lambda: self.most >= action.party or self.is_free(action.name), LONG)
            self.inside -= 1
        return Observation.from_text(f"{action.name} met" if met else "nobody came", is_error=not met)

    def is_free(self, name: str) -> bool:
        return self.is_over and name != self.deaf

    def interrupt(self) -> None:
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.arrived) >= count, LONG)

    def let_go(self) -> None:
        self.deaf = ""
        self.interrupt()


def tool(executor: ToolExecutor, name: str, reads: bool = True) -> ToolDefinition:
    hints = ToolAnnotations(readOnlyHint=reads)
    return ToolDefinition(name=name, description="m", action_type=MeetAction, executor=executor, annotations=hints)


@pytest.fixture
def met(harness):
    """A harness with a tool `meet` that only reads, and one (`visit`) that does not."""
    rooms = []

    def make(*script, **more):
        d = harness(*script, **more)
        d.meet = Meet()
        rooms.append(d.meet)
        d.tools |= {"meet": tool(d.meet, "meet"), "visit": tool(d.meet, "visit", reads=False)}
        d.reopen()
        d.session.send("go")
        return d

    yield make
    for room in rooms:
        room.let_go()


def meeting(*names: str, party: int, tool: str = "meet"):
    return calls(*((tool, {"name": name, "party": party}) for name in names))


def kinds(d) -> list[str]:
    return [event.kind.removeprefix("action_") for event in d.log() if event.kind.startswith("action_")]


def test_four_reading_calls_run_at_the_same_time(met):
    d = met(meeting("a", "b", "c", "d", party=4), says("ok"))
    d.run()
    assert sorted(d.results()) == ["a met", "b met", "c met", "d met"]
    assert faults_of(d.agent.requests[-1]) == []
    assert undecided_starts(d.log()) == []


def test_results_are_recorded_as_they_arrive_and_match_their_calls(met):
    d = met(meeting("a", "b", "c", party=3), says("ok"))
    d.run()
    proposed = {event.action_id: event.arguments["name"] for event in d.log() if event.kind == "action_proposed"}
    observed = [event for event in d.log() if event.kind == "action_observed"]
    assert all(event.observation["content"][0]["text"].startswith(proposed[event.action_id]) for event in observed)
    assert kinds(d)[-6:] == ["started"] * 3 + ["observed"] * 3


def test_at_most_four_calls_run_at_once(met):
    d = met(meeting(*"abcdefghij", party=4), says("ok"))
    d.run()
    assert len(d.results()) == 10
    assert d.meet.most == 4


def test_writing_call_runs_alone_and_in_its_turn(met):
    d = met(calls(("meet", {"name": "a"}), ("visit", {"name": "b"}), ("meet", {"name": "c"}), ("meet", {"name": "d"})))
    d.run()
    assert d.meet.arrived[:2] == ["a", "b"]
    names = {event.action_id: event.arguments["name"] for event in d.log() if event.kind == "action_proposed"}
    order = [(event.kind[7:], names[event.action_id]) for event in d.log() if event.kind in _RUN]
    assert order[:4] == [("started", "a"), ("observed", "a"), ("started", "b"), ("observed", "b")]


_RUN = ("action_started", "action_observed")


def test_tools_not_declared_parallel_run_one_after_the_other(met):
    d = met(calls(("look", {}), ("meet", {"name": "a"}), ("look", {})), says("ok"))
    d.run()
    starts = [place for place, kind in enumerate(kinds(d)) if kind == "started"]
    assert len(starts) == 3
    assert all(kinds(d)[place + 1] == "observed" for place in starts)


def test_invalid_call_gets_its_error_and_the_others_run(met):
    d = met(calls(("meet", {"name": "a"}), ("meet", {"nme": "x"}), ("meet", {"name": "b"})), says("ok"))
    d.run()
    results = d.results()
    assert [text for text in results if "met" in text and "not run" not in text] == ["a met", "b met"]
    assert sum("`nme` is not a parameter" in text for text in results) == 1


def test_end_of_the_run_skips_later_calls(met):
    d = met(calls(("meet", {"name": "a"}), ("finish", {"message": "done"}), ("meet", {"name": "b"})))
    d.run()
    assert d.meet.arrived == ["a"]
    assert d.results()[1:] == ["done", "This call was not run: finish before it ended the run."]
    assert d.session.ended == "finished"


def interrupted(d, count: int) -> None:
    runner = threading.Thread(target=d.run, daemon=True)
    runner.start()
    d.meet.wait_for(count)
    d.session.interrupt()
    runner.join(LONG)
    assert not runner.is_alive()


def test_interrupt_ends_all_parallel_calls(met):
    d = met(meeting("a", "b", "c", "d", "e", party=9), says("on"))
    interrupted(d, 4)
    assert (d.session.phase, d.session.ended) == ("idle", "interrupted")
    assert sorted(d.results()[:4]) == ["a met", "b met", "c met", "d met"]
    assert "not run" in d.results()[4]
    d.session.send("go on")
    d.run()
    assert faults_of(d.agent.requests[-1]) == []


def test_call_that_ignores_an_interrupt_is_abandoned_and_others_keep_their_results(met):
    d = met(meeting("a", "b", "c", party=9), meeting("d", party=1), says("ok"))
    d.meet.deaf = "b"
    interrupted(d, 3)
    assert sorted(d.results()) == ["a met", "c met"]
    (left,) = (event for event in d.log() if event.kind == "action_abandoned")
    assert "did not stop" in left.reason
    d.session.send("go on")
    d.run()
    assert d.results()[-1] == "d met", "its thread has been replaced"
    assert faults_of(d.agent.requests[-1]) == []


def test_no_parallel_call_runs_again_after_a_kill(met):
    d = met(meeting("a", "b", "c", party=3), says("ok"))
    d.run()
    ledger = State()
    for event in d.log():
        ledger.apply(event)
        if event.kind == "action_observed":
            break
    events = after_a_stop(ledger)
    assert [event.kind for event in events] == ["action_abandoned", "action_abandoned", "run_ended"]


def test_full_disk_loses_no_result(met):
    d = met(meeting("a", "b", "c", party=3), says("ok"))
    with ExitStack() as disk:

        def fill(event):
            if event.kind == "action_started" and d.kinds().count("action_started") == 3:
                d.hook = lambda event: None
                disk.enter_context(full_disk(d.path))

        d.hook = fill
        d.run()
        assert "not saved" in d.session.unsaved
        assert d.results() == []
    d.run()
    assert sorted(d.results()) == ["a met", "b met", "c met"]
    assert sorted(d.meet.arrived) == ["a", "b", "c"]
    assert d.session.unsaved == ""


def test_searches_run_in_parallel_and_stateful_tools_do_not(tmp_path):
    tools = open_tools(ToolContext(str(tmp_path)))
    try:
        beside = {name for name, tool in tools.items() if runs_beside(tool)}
    finally:
        for tool in tools.values():
            tool.close()
    assert beside >= {"glob", "grep"}
    assert beside.isdisjoint({"execute_bash", "str_replace_editor", "task_tracker", "ask_human", "finish"})
