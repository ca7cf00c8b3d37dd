"""The session as it was at any event equals the session read from a file that ends with that event."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.sample_session import STEADY, Script
from tests.tui.test_history_loading import turn
from workbench.client.log_reader import read_history
from workbench.protocol import events as ev
from workbench.session.storage.store import Store, StoreError
from workbench.tui.widgets.timeline import TimelineRows
from workbench.view import moments as moments_module
from workbench.view.follower import adopt
from workbench.view.moments import Moments, end_of_row
from workbench.view.reducer import apply
from workbench.view.state import ActionItem, SessionState

_NOT_OF_THE_LOG = ("items", "actions", "running", "work", "waiting", "queued", "run_began", "cost", "cost_before")
_WINDOW = (
    "first_seq",
    "ended_in",
    "actions_before",
    "last_response",
    "thinks_since",
    "delegate_responses",
    "fallbacks",
    "tools",
)


def session_with_rewinds() -> list[ev.Event]:
    script = Script().start()
    for number in range(12):
        turn(script, number)
    script.add(ev.Rewound, target=len(script.events) - 40)
    for number in range(12, 18):
        turn(script, number)
    script.add(ev.Rewound, target=len(script.events) - 90, scope="conversation")
    script.user("after the rewinds").answer("yes")
    script.add(ev.RunEnded, reason="finished")
    turn(script, 20)
    return script.events


def write(path: Path, events: list[ev.Event]) -> Path:
    with Store.create(path) as store:
        store.append(*events)
    return path


@pytest.fixture(scope="module")
def events() -> list[ev.Event]:
    return session_with_rewinds()


@pytest.fixture(scope="module")
def path(events, tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("log") / "s.session", events)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(moments_module, "_LEAST", 30)
    monkeypatch.setattr(moments_module, "_BEHIND", 20)
    monkeypatch.setattr(moments_module, "_AHEAD", 20)
    monkeypatch.setattr(moments_module, "_INTERVAL", 9)


def cut_off(events: list[ev.Event], seq: int, directory: Path) -> SessionState:
    """Return the state that a screen shows of a session whose file ends with event `seq`."""
    state = SessionState()
    for event in read_history(Store.open(write(directory / f"{seq}.session", events[:seq]), readonly=True), 10_000):
        apply(state, event)
    return state


def comparable(state: SessionState) -> dict[str, object]:
    return {name: getattr(state, name) for name in state.__struct_fields__ if name not in (*_NOT_OF_THE_LOG, *_WINDOW)}


def lines(state: SessionState) -> list[tuple[object, ...]]:
    """Return what identifies each item, and its phase if it is an action."""
    return [(type(item), item.seq, getattr(item, "text", ""), getattr(item, "phase", "")) for item in state.items]


def test_every_event_shows_the_session_that_ended_with_it(events, path, small_parts, tmp_path):
    moments = Moments(path)
    for seq in sorted({*range(1, len(events), 7), *range(len(events) - 60, len(events) + 1)}):
        state, whole = moments.at(seq).state, cut_off(events, seq, tmp_path)
        assert comparable(state) == comparable(whole), seq
        assert state.cost == pytest.approx(whole.cost)
        assert lines(state) == lines(whole)[-len(state.items) :] or not state.items
        assert len(state.items) >= min(5, len(whole.items))


def test_an_event_undone_later_is_shown_as_it_was(events, path):
    rewound = next(event for event in events if isinstance(event, ev.Rewound))
    moments = Moments(path)
    before, after = moments.at(rewound.seq - 1).state, moments.at(rewound.seq).state
    undone = [item for item in before.items if item.seq > rewound.target]
    assert undone
    assert not {item.seq for item in undone} & {item.seq for item in after.items if isinstance(item, ActionItem)}


@STEADY
@given(st.lists(st.integers(1, 500), min_size=2, max_size=8))
def test_moving_between_events_reports_exactly_what_changed(path, jumps):
    moments, state = Moments(path), SessionState()
    for seq in jumps:
        before, target = list(state.items), moments.at(seq).state
        sequence = lines(target)
        changed = adopt(state, target)
        assert lines(state) == sequence
        if changed is not None:
            remaining = before[len(changed.gone) : len(before) - len(changed.removed)]
            assert all(
                one is other
                for one, other in zip([*changed.earlier, *remaining, *changed.added], state.items, strict=True)
            )
        assert all(state.actions[item.action_id] is item for item in state.items if isinstance(item, ActionItem))
        assert all(any(each is item for each in item.reads.items) for item in state.actions.values() if item.reads)


@STEADY
@given(st.lists(st.integers(1, 500), min_size=2, max_size=8))
def test_rows_of_the_timeline_follow_every_move(path, jumps):
    moments, state, rows = Moments(path), SessionState(), TimelineRows()
    for seq in [each for jump in jumps for each in (jump, jump - 1, jump + 2)]:
        rows.apply(state, adopt(state, moments.at(max(1, seq)).state))
        anew = TimelineRows()
        anew.apply(state, None)
        assert [id(item) for item in rows.items] == [id(item) for item in anew.items]
        assert [rows.position(item) for item in rows.items] == [*range(len(rows.items))]


def test_what_the_user_has_folded_stays_folded(path):
    moments, state = Moments(path), SessionState()
    adopt(state, moments.at(200).state)
    item = next(item for item in state.items if isinstance(item, ActionItem))
    item.folded = True
    adopt(state, moments.at(201).state)
    assert item.folded
    assert any(each is item for each in state.items)


def test_a_running_action_shows_how_long_it_ran_at_that_event(tmp_path):
    script = Script().start().user("go")
    action = script.begin("execute_bash", command="sleep 9")
    script.end(action, "done", seconds=9.0)
    moments = Moments(write(tmp_path / "s.session", script.events))
    item = moments.at(len(script.events) - 1).state.actions[action]
    assert (item.phase, item.frozen_at) == ("running", item.started)


def test_a_row_ends_with_the_event_before_the_next_row(path):
    state = Moments(path).at(300).state
    rows = [item for item in state.items if isinstance(item, ActionItem)]
    assert end_of_row(state, state.items[-1]) is None
    end = end_of_row(state, rows[0])
    assert end is not None
    assert end >= rows[0].seq


def test_the_users_messages_are_found_on_every_branch(events, path):
    messages = [event.seq for event in events if isinstance(event, ev.UserMessage | ev.UserCommand)]
    assert Moments(path).messages() == messages


def test_a_missing_file_is_a_clear_error(tmp_path):
    with pytest.raises(StoreError, match="there is no session file"):
        Moments(tmp_path / "gone.session").at(1)
