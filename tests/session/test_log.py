"""The log does not pass the steps of an action (assessed, decided, started) to reducers, which ignore them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    Event,
    ModelResponded,
    UserMessage,
)
from workbench.session.limits import TokenCount
from workbench.session.log import STEPS, Log
from workbench.session.loop_watch import Failures, LoopWatch
from workbench.session.mentions import PendingResources
from workbench.session.storage.store import Store
from workbench.session.turn.context_window import ContextWindow, ModelContext, PartCount

BEGUN: tuple[Event, ...] = (
    UserMessage(seq=1, text="go", mentions=("docs:guide",)),
    ModelResponded(seq=2, response_id="r", model="m", text="so", cost=0.1),
    ActionProposed(
        seq=3, action_id="a", response_id="r", call_id="c", tool="execute_bash", arguments={"command": "ls"}
    ),
)
STEP_EVENTS: tuple[Event, ...] = (
    ActionAssessed(seq=4, action_id="a", risk="LOW", needs_decision=False),
    ActionDecided(seq=5, action_id="a", verdict="approved", by="person", note="well", edited={"command": "ls -l"}),
    ActionStarted(seq=6, action_id="a"),
)


@pytest.mark.parametrize("step", STEP_EVENTS, ids=lambda step: step.kind)
@pytest.mark.parametrize(
    "reducer", [TokenCount, LoopWatch, Failures, ContextWindow, PendingResources, lambda: PartCount(1_000)]
)
def test_reducers_ignore_step_events(reducer, step):
    state = reducer()
    for event in BEGUN:
        state.apply(event)
    before = deepcopy(state)
    state.apply(step)
    assert state == before
    assert {each.kind for each in STEP_EVENTS} == STEPS | {"action_decided"}


def test_steps_reach_the_state_and_the_messages(tmp_path: Path):
    with Store.create(tmp_path / "s.ohw") as store:
        context = ModelContext(1_000)
        journal = Log(store, reducers=[context])
        journal.commit(*BEGUN, *STEP_EVENTS)
        action = journal.state.next_action
        assert action is not None
        assert action.started
        assert journal.last_seq == len(BEGUN) + len(STEP_EVENTS)
        journal.commit(ActionObserved(action_id="a", observation={"content": [{"type": "text", "text": "ok"}]}))
        assert "The user's note: well" in str(context.history.request()[-1]["content"])
