"""A run of a thousand steps with condensing on: memory and the cost of a step stay flat, and the log is whole."""

import gc
import statistics
from itertools import pairwise

import pytest

from tests.session import long_run
from tests.session.fake_agent import faults_of
from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    HistoryCondensed,
    ModelResponded,
    RunEnded,
    VersionTaken,
)
from workbench.session.turn.message_history import messages

STEPS = 1_000


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The run with its log; memory is traced over its last third."""
    directory, kinds = tmp_path_factory.mktemp("long"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OHW_SCRIPT_PACE", "0")
        gc.collect()
        gc.freeze()  # objects left by other tests are not visited at each look at the memory
        try:
            with long_run.session(directory, STEPS, kinds) as made:
                run = long_run.drive(made, kinds, trace_from=650)
                log = list(made.events())
        finally:
            gc.unfreeze()
    return run, log


def test_run_made_a_thousand_steps_and_was_condensed_repeatedly(ran):
    run, log = ran
    assert len(run.step_times) == STEPS
    # The version at the end of the run is recorded by another thread, maybe after it.
    end = next(event for event in reversed(log) if not isinstance(event, VersionTaken))
    assert isinstance(end, RunEnded)
    assert (end.reason, "max_steps" in end.detail) == ("limit", True)
    summaries = [event for event in log if isinstance(event, HistoryCondensed)]
    assert len(summaries) > 2 * STEPS / long_run.WINDOW
    assert {event.reason for event in summaries} == {"events"}
    assert all(event.summary.startswith("GOAL") for event in summaries)


def test_log_contains_every_step_verbatim(ran):
    _, log = ran
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    answers = [event for event in log if isinstance(event, ModelResponded)]
    proposed = [event for event in log if isinstance(event, ActionProposed)]
    observed = [event for event in log if isinstance(event, ActionObserved)]
    assert len(answers) == len(proposed) == len(observed) == STEPS
    assert len({event.action_id for event in proposed}) == STEPS
    assert [event.action_id for event in observed] == [event.action_id for event in proposed]
    assert {len(answer.tool_calls[0].arguments) for answer in answers} == {len(answers[0].tool_calls[0].arguments)}


def test_messages_at_the_end_of_a_long_log_are_short_and_valid(ran):
    _, log = ran
    at_the_end = messages(log)
    assert len(at_the_end) <= long_run.WINDOW + 4
    assert faults_of(at_the_end) == []
    assert "go through it all" in at_the_end[0]["content"]


def test_memory_kept_per_step_is_far_smaller_than_its_texts(ran):
    run, _ = ran
    looks = run.kept[1:]
    assert looks[-1][0] - looks[0][0] > 200
    assert len(looks) > 4
    left = [(after - before) / (step - last) for (last, before), (step, after) in pairwise(looks)]
    assert statistics.median(left) < 2_000  # whatever a thread of another test loads meanwhile comes in one lump


def test_step_costs_the_same_after_hundreds_of_others(ran):
    run, _ = ran
    assert run.cost(450, 650) <= 2 * run.cost(50, 250)
